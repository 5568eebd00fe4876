package clone

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/versions"
	"aisync.dev/aisync/reconcile"
)

// lockName is the file of pins. aisync writes it, so its lines are merged by what they
// pin and not by where they stand.
const lockName = "aisync.lock"

// pins are the pins of a lock, by what they pin.
type pins map[string]reconcile.Pin

func pinsOf(text []byte) (pins, error) {
	out := pins{}
	if len(text) == 0 {
		return out, nil
	}
	l, err := reconcile.ParseLock(lockName, text)
	if err != nil {
		return nil, err
	}
	for _, p := range l.Pins() {
		out[p.Kind+"\x00"+p.Name+"\x00"+p.Host] = p
	}
	return out, nil
}

// Pins compares the locks of two folders.
func Pins(from, to string) ([]pin.Change, error) {
	var sides [2]pins
	for i, dir := range []string{from, to} {
		text, err := os.ReadFile(filepath.Join(dir, lockName))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		if sides[i], err = pinsOf(text); err != nil {
			return nil, err
		}
	}
	var list []pin.Change
	for _, k := range keysOf(sides[0], sides[1]) {
		if from, to := sides[0][k], sides[1][k]; !maps.Equal(from.Values, to.Values) {
			list = append(list, pin.Change{Old: from, New: to})
		}
	}
	return list, nil
}

// keysOf returns what any of sides pins, sorted.
func keysOf(sides ...pins) []string {
	var keys []string
	for _, s := range sides {
		for k := range s {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// mergeLocks merges two locks with a common ancestor. A pin that both sides moved to
// different values is in both, and has no text.
func mergeLocks(base, here, there []byte) (text []byte, both []Both, err error) {
	var sides [3]pins
	for i, t := range [][]byte{base, here, there} {
		if sides[i], err = pinsOf(t); err != nil {
			return nil, nil, err
		}
	}
	out := &reconcile.Lock{}
	for _, k := range keysOf(sides[:]...) {
		was, ours, theirs := sides[0][k], sides[1][k], sides[2][k]
		switch {
		case maps.Equal(ours.Values, theirs.Values), maps.Equal(theirs.Values, was.Values):
		case maps.Equal(ours.Values, was.Values):
			ours = theirs
		case ours.Kind == "catalog" || ours.Kind == "aisync": // of the aisync that wrote the lock: the newer one's
			if newer(theirs.Values, ours.Values) {
				ours = theirs
			}
		default:
			what := ours
			if what.Kind == "" {
				what = theirs
			}
			both = append(both, Both{File: lockName, Here: pinText(what, ours.Values), There: pinText(what, theirs.Values)})
		}
		if ours.Kind != "" {
			out.SetPin(ours)
		}
	}
	return out.Bytes(), both, nil
}

// newer reports whether a names a newer aisync than b. A catalog has no order.
func newer(a, b map[string]string) bool {
	return versions.Compare(a["version"], b["version"]) >= 0
}

func pinText(p reconcile.Pin, values map[string]string) string {
	return p.Kind + " " + p.Name + " at " + valueText(values)
}

// valueText is what a pin names, in a few characters.
func valueText(values map[string]string) string {
	for _, name := range []string{"commit", "version", "quant", "tree", "sha256", "digest"} {
		if v := values[name]; v != "" {
			v = strings.TrimPrefix(v, "sha256:")
			if len(v) >= 40 {
				v = v[:12]
			}
			return v
		}
	}
	if len(values) == 0 {
		return "none"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, name+" "+values[name])
	}
	return strings.Join(all, ", ")
}

// mergeLock resolves the conflict of the lock in the work tree, or lists the pins that
// both sides moved.
func (r *Result) mergeLock(ctx context.Context) error {
	var sides [3][]byte
	for i := range sides {
		text, err := r.run(ctx, "show", fmt.Sprintf(":%d:%s", i+1, lockName))
		if err != nil && i > 0 { // both sides may have added it
			return err
		}
		sides[i] = []byte(text)
	}
	text, both, err := mergeLocks(sides[0], sides[1], sides[2])
	if err != nil {
		return err
	}
	if r.Both = append(r.Both, both...); len(both) > 0 {
		return nil
	}
	if err := writeLock(r.Dir, text); err != nil {
		return err
	}
	_, err = r.run(ctx, "add", "--", lockName)
	return err
}

// editedLock merges a lock whose edits are not committed with that of the result.
func (r *Result) editedLock(ctx context.Context, tree *os.Root) error {
	here, err := os.ReadFile(filepath.Join(r.clone.Dir, lockName))
	if err != nil {
		return err
	}
	base := ""
	if r.carried {
		if base, err = r.run(ctx, "show", r.head+":"+lockName); err != nil {
			return err
		}
	}
	there, err := tree.ReadFile(lockName)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	text, both, err := mergeLocks([]byte(base), here, there)
	if err != nil {
		return err
	}
	if r.Both = append(r.Both, both...); len(both) > 0 {
		return nil
	}
	r.lock = text
	return writeLock(r.Dir, text)
}

// writeLock replaces the lock in dir. A link is replaced, and not followed.
func writeLock(dir string, text []byte) error {
	return atomicfile.Write(filepath.Join(dir, lockName), text, atomicfile.Options{Mode: 0o644})
}
