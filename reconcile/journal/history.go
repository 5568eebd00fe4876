package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
)

// History returns what earlier applies did, the newest first.
func History(r fsys.Reader, d *state.Dir) ([]Entry, error) {
	return entries(r, d, func(name string) (Entry, error) { return ReadEntry(r, d, name) })
}

// Heads is History without the changes, of which there may be thousands in each
// entry: Resources counts them.
func Heads(r fsys.Reader, d *state.Dir) ([]Entry, error) {
	return entries(r, d, func(name string) (Entry, error) {
		var e Entry
		if n, ok := state.ReadHead(r, d.Applies().Join(name), "changes", &e); ok && e.FormatVersion == Version {
			e.Resources = n
			return e, nil
		}
		e, err := ReadEntry(r, d, name)
		e.Changes = nil
		return e, err
	})
}

// Write puts e into the history.
func Write(w fsys.FS, d *state.Dir, e Entry) error {
	if err := state.WriteVersioned(w, d.Applies().Join(e.ID+".json"), Version, e); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// entries reads each file of the history, the newest first.
func entries(r fsys.Reader, dir *state.Dir, read func(name string) (Entry, error)) ([]Entry, error) {
	names, err := r.ReadDir(dir.Applies())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var out []Entry
	for _, d := range slices.Backward(names) {
		if !strings.HasSuffix(d.Name(), ".json") || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		e, err := read(d.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// ReadEntry reads one file of the history; where it is not there, the entry has
// no ID.
func ReadEntry(r fsys.Reader, d *state.Dir, name string) (e Entry, err error) {
	if _, err := state.ReadVersioned(r, d.Applies().Join(name), Version, nil, &e); err != nil {
		return e, fmt.Errorf("read history: %w", err)
	}
	e.Resources = len(e.Changes)
	return e, nil
}
