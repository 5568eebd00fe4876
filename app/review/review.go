// Package review compares two versions of a bundle source as a person decides about
// them: item by item, with what programs will do because of the newer one, and the
// text in it that attacks agents. It writes nothing and dials nothing. Call Of.
package review

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/items"
	"aisync.dev/aisync/reconcile"
)

// Version is what a spec takes of one version of a source.
type Version struct {
	Dir   string         // where it lies; "": not on this machine
	Parts []*bundle.Part // that the spec takes
}

// Review is what differs between two versions, as far as the spec takes it.
type Review struct {
	Items   []*Item        `json:"items"`
	Effects []Effect       `json:"effects"` // that the newer version has and the older has not
	Flagged []flagged.Text `json:"flagged"` // the same
	Others  int            `json:"others"`  // files that differ and that the spec does not take
}

// Item is an item that differs.
type Item struct {
	Kind   string         `json:"kind"`
	Name   string         `json:"name"`
	Action string         `json:"action"` // "+", "-", "~", as in a plan
	Does   string         `json:"does,omitempty"`
	Files  []pin.FileDiff `json:"files"`
}

// Of compares the versions before and after of the source called name.
func Of(ctx context.Context, name string, before, after Version) (Review, error) {
	files, err := pin.Compare(ctx, before.Dir, after.Dir)
	if err != nil {
		return Review{}, err
	}
	r := Review{Items: []*Item{}, Flagged: []flagged.Text{}}
	old, now := items.Of(before.Parts...), items.Of(after.Parts...)
	r.pair(old, now)
	taken := map[string]bool{} // by the spec, of either version
	for _, p := range slices.Concat(before.Parts, after.Parts) {
		for _, f := range p.Files() {
			taken[f.Src] = true
		}
	}
	for _, f := range files {
		i := r.holder(f.File, now, old)
		switch {
		case i != nil:
			i.Files = append(i.Files, f)
		case taken[f.File]:
			r.Items = append(r.Items, &Item{Kind: "file", Name: f.File, Action: f.Action, Files: []pin.FileDiff{f}})
		default:
			r.Others++
			continue
		}
		if len(f.Flagged) == 0 {
			continue
		}
		text, err := os.ReadFile(filepath.Join(after.Dir, filepath.FromSlash(f.File)))
		if err != nil {
			return Review{}, err
		}
		if t, ok := flagged.OfFile(name, f.File, text); ok {
			r.Flagged = append(r.Flagged, t)
		}
	}
	r.Items = slices.DeleteFunc(r.Items, func(i *Item) bool { return i.Action == string(reconcile.Update) && len(i.Files) == 0 })
	had := Effects(old)
	r.Effects = slices.DeleteFunc(Effects(now), func(e Effect) bool { return slices.Contains(had, e) })
	return r, nil
}

// pair adds the items of both versions.
func (r *Review) pair(old, now []*items.Item) {
	add := func(i *items.Item, action reconcile.Action) {
		r.Items = append(r.Items, &Item{Kind: i.Kind, Name: i.Name, Action: string(action), Does: i.Does, Files: []pin.FileDiff{}})
	}
	is := func(key string) func(*items.Item) bool { return func(i *items.Item) bool { return i.Key() == key } }
	for _, i := range old {
		if !slices.ContainsFunc(now, is(i.Key())) {
			add(i, reconcile.Delete)
		}
	}
	for _, i := range now {
		if slices.ContainsFunc(old, is(i.Key())) {
			add(i, reconcile.Update)
		} else {
			add(i, reconcile.Create)
		}
	}
	sort.SliceStable(r.Items, func(i, j int) bool {
		return slices.Index(items.Kinds, r.Items[i].Kind) < slices.Index(items.Kinds, r.Items[j].Kind)
	})
}

// holder returns the item of r to which a file belongs, in the newer version or else
// in the older; nil: none.
func (r *Review) holder(src string, versions ...[]*items.Item) *Item {
	for _, version := range versions {
		for _, i := range version {
			if !slices.ContainsFunc(i.Files, func(f bundle.File) bool { return f.Src == src }) {
				continue
			}
			for _, x := range r.Items {
				if x.Kind == i.Kind && x.Name == i.Name && x.Does == i.Does {
					return x
				}
			}
		}
	}
	return nil
}
