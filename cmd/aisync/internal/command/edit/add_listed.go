package edit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// asListed takes from w the skills that its marketplace lists and the plugin lacks,
// with a note. A plugin without anything is an error that names another.
func (e *Editing) asListed(ctx context.Context, w *wanted, sources *bundle.Sources) error {
	name, _, _ := strings.Cut(w.from, "@")
	tree, err := sources.Open(ctx, spec.Source{Name: w.name, URL: w.url, Dir: e.dir()})
	if err != nil {
		return err
	}
	if len(tree.Holds()) == 0 && !tree.HasOthers() {
		err := fmt.Errorf("plugin %s of %s has %s", termtext.Safe(name), termtext.Safe(w.market), tree.Contents())
		if len(w.others) == 0 {
			return err
		}
		return advice.Command(fmt.Errorf("%w; %s also has: %s", err, termtext.Safe(w.market), strings.Join(w.others, ", ")),
			"aisync add plugin "+shellquote.Terminal(w.others[0]+"@"+w.market))
	}
	if w.pick == nil {
		return nil
	}
	lacking, err := tree.Lacks(w.pick.Skills)
	if err != nil || len(lacking) == 0 {
		return err
	}
	taken := "the rest is taken"
	w.pick.Skills = slices.DeleteFunc(slices.Clone(w.pick.Skills), func(s string) bool { return slices.Contains(lacking, s) })
	if len(w.pick.Skills) == 0 {
		w.pick, taken = nil, "all that it has is taken"
	}
	e.Notes = append(e.Notes, fmt.Sprintf("warning: the marketplace lists %s of plugin %s, which the plugin does not have; %s", strings.Join(lacking, ", "), name, taken))
	return nil
}
