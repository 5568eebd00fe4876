package pin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/hostiletext"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Diff is the difference between the files of a bundle source and the
// previously pinned ones.
type Diff struct {
	Kind   string     `json:"kind"` // of the pin: KindBundle, KindBase
	Source string     `json:"source"`
	Files  []FileDiff `json:"files"`
	Note   string     `json:"note,omitempty"` // why the files cannot be compared
}

// FileDiff is a file that differs between two versions of a source.
type FileDiff struct {
	File   string `json:"file"`
	Action string `json:"action"` // "+", "-", "~", as in a plan
	Diff   string `json:"diff"`   // unified; after a line about a changed mode

	// Flagged is what in the new version attacks its reader, and was not in the old.
	Flagged []hostiletext.Finding `json:"flagged,omitempty"`
}

// compare records how the tree in the folder now differs from the one that old
// pins, which may never have been on this machine.
func (r *Resolver) compare(ctx context.Context, f *File, src spec.Source, old reconcile.Pin, now string) error {
	if old.Values["tree"] == "" {
		return nil
	}
	d := Diff{Kind: KindOf(src), Source: src.Name, Files: []FileDiff{}}
	before := r.Cache.tree(old.Values["tree"], old.Values["url"])
	_, err := os.Stat(before)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.Note = "the version pinned before is not on this machine, so its files cannot be compared"
	case err != nil:
		return err
	default:
		if src.Base {
			d.Files, err = CompareBase(before, now)
		} else {
			d.Files, err = Compare(ctx, before, now)
		}
		if err != nil {
			return fmt.Errorf("compare %s: %w", what(src), err)
		}
		if len(d.Files) == 0 {
			d.Note = "no file of the " + KindOf(src) + " differs"
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.diffs == nil {
		r.diffs = map[string]Diff{}
	}
	r.diffs[src.Name+"\n"+f.Path] = d
	return nil
}

// Compare returns how what the tree in the folder to could install differs from the
// one in from; "" is an empty tree.
func Compare(ctx context.Context, from, to string) ([]FileDiff, error) {
	var before []bundle.File
	var err error
	if from != "" {
		if before, err = treeFiles(ctx, from); err != nil {
			return nil, err
		}
	}
	after, err := treeFiles(ctx, to)
	if err != nil {
		return nil, err
	}
	return compareFiles(before, after)
}

// compareFiles compares files that are sorted.
func compareFiles(before, after []bundle.File) ([]FileDiff, error) {
	out := []FileDiff{}
	for len(before) > 0 || len(after) > 0 {
		var x, y *bundle.File
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Src < after[0].Src:
			x, before = &before[0], before[1:]
		case len(before) == 0 || after[0].Src < before[0].Src:
			y, after = &after[0], after[1:]
		default:
			x, y, before, after = &before[0], &after[0], before[1:], after[1:]
		}
		if x != nil && y != nil && x.Digest == y.Digest && x.Mode == y.Mode {
			continue
		}
		f, err := fileDiff(x, y)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func treeFiles(ctx context.Context, dir string) ([]bundle.File, error) {
	t, err := new(bundle.Sources).Open(ctx, spec.Source{URL: dir})
	if err != nil {
		return nil, err
	}
	files, err := t.Files() // sorted; what hooks need may be a part of a skill too
	return slices.CompactFunc(files, func(a, b bundle.File) bool { return a.Src == b.Src }), err
}

// fileDiff compares one file; x or y is nil if it does not exist.
func fileDiff(x, y *bundle.File) (FileDiff, error) {
	d := FileDiff{Action: string(reconcile.Update)}
	var old, new []byte
	var err error
	switch {
	case x == nil:
		d.Action, d.File = string(reconcile.Create), y.Src
	case y == nil:
		d.Action, d.File = string(reconcile.Delete), x.Src
	default:
		d.File = y.Src
	}
	if x != nil {
		if old, err = os.ReadFile(x.Path); err != nil {
			return d, err
		}
	}
	if y != nil {
		if new, err = os.ReadFile(y.Path); err != nil {
			return d, err
		}
	}
	if x != nil && y != nil && x.Mode != y.Mode {
		d.Diff = fmt.Sprintf("mode %04o → %04o\n", x.Mode, y.Mode)
	}
	d.Flagged = flagged(d.File, old, new)
	d.Diff += secret.MaskText(merge.Unified("a/"+d.File, "b/"+d.File, old, new))
	return d, nil
}

// flagged returns what is found in the new version of a file and not in the old.
func flagged(name string, old, new []byte) []hostiletext.Finding {
	found := hostiletext.Scan(name, new)
	if len(found) == 0 {
		return nil
	}
	before := hostiletext.Scan(name, old)
	found = slices.DeleteFunc(found, func(f hostiletext.Finding) bool {
		return slices.ContainsFunc(before, func(b hostiletext.Finding) bool { return b.Rule == f.Rule && b.Excerpt == f.Excerpt })
	})
	for i := range found {
		found[i].Excerpt = secret.MaskText(found[i].Excerpt)
	}
	return found
}
