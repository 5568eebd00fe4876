package bundle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/spec"
)

// Found is a bundle that a reference names, with its tree.
type Found struct {
	Tree *Tree
	Part *Part
}

// Find returns the bundle that ref names. A bare name means the only source
// that has it. The error gives the position of ref and the known names.
func (s *Sources) Find(ctx context.Context, kind Kind, ref spec.BundleRef, among []spec.Source) (Found, error) {
	t, err := s.holder(ctx, kind, ref, among)
	if err != nil {
		return Found{}, err
	}
	var p *Part
	switch {
	case ref.Name == ".":
		p, err = t.Top()
	case kind == Team:
		p, err = t.Team(ref.Name)
	default:
		p, err = t.Language(ref.Name)
	}
	if err != nil {
		return Found{}, at(ref.Pos, fmt.Errorf("bundle source %q: %w", t.Name, err))
	}
	return Found{t, p}, nil
}

// holder returns the tree that ref means.
func (s *Sources) holder(ctx context.Context, kind Kind, ref spec.BundleRef, among []spec.Source) (*Tree, error) {
	known := slices.ContainsFunc(among, func(src spec.Source) bool { return src.Name == Own })
	mine, isMine := ownHas(kind, ref.Source, ref.Name)
	if isMine && (len(among) == 0 || ref.Source == Own && !known) {
		return mine, mine.lacks(kind, ref)
	}
	if len(among) == 0 && ref.Source == "" {
		return nil, at(ref.Pos, fmt.Errorf("unknown %s %q%s; for others add a source, such as sources: {rulesets: \"../rulesets\"}", kind, ref.Name, nearest.Suggest(ref.Name, ownNames(kind))))
	}
	if len(among) == 0 {
		return nil, at(ref.Pos, fmt.Errorf("%s %q: no source; add one, such as sources: {rulesets: \"../rulesets\"}", kind, ref.Name))
	}
	if ref.Source != "" {
		names := make([]string, len(among))
		for i, src := range among {
			if names[i] = src.Name; src.Name != ref.Source {
				continue
			}
			t, err := s.Open(ctx, src)
			if err == nil {
				err = t.lacks(kind, ref)
			}
			return t, err
		}
		return nil, at(ref.Pos, fmt.Errorf("unknown source %q%s", ref.Source, nearest.Suggest(ref.Source, names)))
	}
	var holders []*Tree
	var all []string
	for _, src := range among {
		t, err := s.Open(ctx, src)
		if err != nil {
			return nil, err
		}
		if has(t, kind, ref.Name) {
			holders = append(holders, t)
		}
		all = append(all, namesOf(t, kind)...)
	}
	switch len(holders) {
	case 1:
		return holders[0], nil
	case 0:
		if isMine {
			return mine, nil
		}
		return nil, at(ref.Pos, fmt.Errorf("unknown %s %q%s", kind, ref.Name, nearest.Suggest(ref.Name, append(all, ownNames(kind)...))))
	}
	var places []string
	for _, t := range holders {
		places = append(places, fmt.Sprintf("%q", t.Name+"//"+ref.Name))
	}
	return nil, at(ref.Pos, fmt.Errorf("%s %q is in more than one source; say which: %s", kind, ref.Name, strings.Join(places, " or ")))
}

// lacks is the error of a tree without what ref names.
func (t *Tree) lacks(kind Kind, ref spec.BundleRef) error {
	if has(t, kind, ref.Name) {
		return nil
	}
	return at(ref.Pos, fmt.Errorf("unknown %s %q in source %q%s", kind, ref.Name, t.Name, nearest.Suggest(ref.Name, namesOf(t, kind))))
}

// ownNames are the names in aisync's own source.
func ownNames(kind Kind) []string {
	t, err := own()
	if err != nil {
		return nil
	}
	return namesOf(t, kind)
}

func has(t *Tree, kind Kind, name string) bool {
	return kind == Language && name == "." || slices.Contains(namesOf(t, kind), name)
}

func namesOf(t *Tree, kind Kind) []string {
	if kind == Team {
		return t.Teams()
	}
	return t.Languages()
}
