package stack

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/userpaths"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// MovedFolder is a folder of the user's in which a program does not look, as a
// variable of the environment names another one.
type MovedFolder struct {
	Runtime string
	Move    spec.Move
	Value   string // of Move.Variable

	places []string // of the runtime's in user scope, "~/…"
}

// MovedFolders returns where the programs of the host's runtimes do not look for
// what aisync writes. The environment counts only for the machine and the user
// that aisync runs as; a variable that leads to the same folder moves nothing.
func (v *View) MovedFolders() []MovedFolder {
	if v.Places.Root != "" || v.User != "" || v.Spec.Host == nil {
		return nil
	}
	var out []MovedFolder
	for _, use := range v.Spec.Host.Runtimes {
		rt, ok := v.Catalog.Runtime(cmp.Or(use.CLI, use.ID))
		if !ok || rt.Loads == nil {
			continue
		}
		for _, m := range rt.Loads.Moves {
			f := MovedFolder{Runtime: use.ID, Move: m, Value: v.Env.Get(m.Variable)}
			if f.Value == "" {
				continue
			}
			own, _ := v.Catalog.Runtime(use.ID)
			f.places = append(userpaths.Of(rt.User), userpaths.Of(own.User)...)
			if f.moves(v.Places.Home) {
				out = append(out, f)
			}
		}
	}
	return out
}

// moves reports whether the variable leads to another folder than the default,
// in which the runtime has a place.
func (f MovedFolder) moves(home fsys.LogicalPath) bool {
	real := func(p string) string {
		if r, err := filepath.EvalSymlinks(p); err == nil {
			return r
		}
		return filepath.Clean(p)
	}
	was := path.Join(string(home), strings.TrimPrefix(f.Move.From, "~"))
	now := f.To(f.Move.From)
	if sameFile(was, now) || real(was) == real(now) {
		return false
	}
	return slices.ContainsFunc(f.places, func(p string) bool { return userpaths.Below(f.Move.From, p) })
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, other := os.Stat(b)
	return err == nil && other == nil && os.SameFile(x, y)
}

// To returns where the program looks for p, a path "~/…" below f.Move.From.
func (f MovedFolder) To(p string) string {
	to := cmp.Or(f.Move.To, "{value}")
	return path.Join(strings.ReplaceAll(to, "{value}", f.Value), strings.TrimPrefix(p, f.Move.From))
}

// Moves reports whether p, a path "~/…", is a place of the runtime's in f.
func (f MovedFolder) Moves(p string) bool {
	return userpaths.Below(f.Move.From, p) && slices.ContainsFunc(f.places, func(place string) bool { return userpaths.Below(place, p) })
}

// Fix is what a person can do about f.
func (f MovedFolder) Fix() string {
	return fmt.Sprintf("unset %s (env -u %s aisync apply), or make %s a link to %s", f.Move.Variable, f.Move.Variable, f.To(f.Move.From), f.Move.From)
}

// Reason says what f moves.
func (f MovedFolder) Reason() string {
	return fmt.Sprintf("%s is set to %s: %s looks in %s, and aisync writes to %s", f.Move.Variable, f.Value, f.Runtime, f.To(f.Move.From), f.Move.From)
}

// refuseMoved takes out of v.Declared what a program would not find where aisync
// writes it. What is there stays as it is.
func (v *View) refuseMoved() {
	for _, f := range v.MovedFolders() {
		var origin []reconcile.Position
		v.Declared.Declarations = slices.DeleteFunc(v.Declared.Declarations, func(d reconcile.Declaration) bool {
			if !f.Moves(d.Target.Name()) {
				return false
			}
			var from []reconcile.Position
			for _, l := range d.Leaves {
				from = append(from, l.Origin...)
			}
			if len(from) > 0 {
				from = from[:1]
			}
			origin = append(origin, from...)
			if slices.ContainsFunc(v.Declared.Unsupported, func(u reconcile.Unsupported) bool { return u.Address == d.Target }) {
				return true
			}
			v.Declared.Unsupported = append(v.Declared.Unsupported, reconcile.Unsupported{Address: d.Target, Reason: "not written: " + f.Runtime + " looks for it in " + f.To(d.Target.Name()) + ", as " + f.Move.Variable + " says", Origin: from})
			return true
		})
		if len(origin) > 0 {
			v.Declared.Notes = append(v.Declared.Notes, reconcile.Note{Warning: true, Text: f.Reason() + "; nothing is written there: " + f.Fix(), Origin: origin[:1]})
		}
	}
}
