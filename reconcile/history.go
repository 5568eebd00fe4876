package reconcile

import (
	"slices"

	"aisync.dev/aisync/reconcile/journal"
)

// History returns the earlier applies, the newest first.
func (s *Store) History() ([]Entry, error) { return journal.History(s.r, s.dir) }

// Heads is History without the changes, of which each entry may have thousands:
// Resources counts them.
func (s *Store) Heads() ([]Entry, error) { return journal.Heads(s.r, s.dir) }

// TakenBack reports whether an apply was undone.
func (s *Store) TakenBack(id string) bool {
	heads, err := s.Heads()
	return err == nil && slices.ContainsFunc(heads, func(e Entry) bool { return e.ID == id && e.RolledBack != "" })
}

// readEntry reads the entry of one apply.
func (s *Store) readEntry(id string) (Entry, error) { return journal.ReadEntry(s.r, s.dir, id+".json") }
