package reconcile

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"aisync.dev/aisync/reconcile/state"
)

// History returns what earlier applies did, the newest first.
func (s *Store) History() ([]Entry, error) {
	return s.entries(s.readEntry)
}

// Heads is History without the changes, of which there may be thousands in each
// entry: Resources counts them.
func (s *Store) Heads() ([]Entry, error) {
	return s.entries(func(name string) (Entry, error) {
		var e Entry
		if n, ok := state.ReadHead(s.r, s.dir.Applies().Join(name), "changes", &e); ok && e.FormatVersion == JournalVersion {
			e.Resources = n
			return e, nil
		}
		e, err := s.readEntry(name)
		e.Changes = nil
		return e, err
	})
}

// TakenBack reports whether an apply was taken back.
func (s *Store) TakenBack(id string) bool {
	heads, err := s.Heads()
	return err == nil && slices.ContainsFunc(heads, func(e Entry) bool { return e.ID == id && e.RolledBack != "" })
}

// entries reads each file of the history, the newest first.
func (s *Store) entries(read func(name string) (Entry, error)) ([]Entry, error) {
	names, err := s.r.ReadDir(s.dir.Applies())
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

// readEntry reads one file of the history.
func (s *Store) readEntry(name string) (e Entry, err error) {
	if _, err := state.ReadVersioned(s.r, s.dir.Applies().Join(name), JournalVersion, nil, &e); err != nil {
		return e, fmt.Errorf("read history: %w", err)
	}
	e.Resources = len(e.Changes)
	return e, nil
}
