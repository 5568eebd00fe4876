package ledger

import (
	"fmt"
	"os"

	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/internal/unixpath"
)

// Find returns the ledger of the folder start: the nearest .pi-ensemble upwards.
// At the top of a linked git work tree it looks in the repository's main work tree
// next, at the same place below its top and upwards.
func Find(start string) (*Ledger, error) {
	root, err := unixpath.Abs(start)
	if err != nil {
		return nil, fmt.Errorf("root %s: %w", start, err)
	}
	for dir := root; ; dir = unixpath.Dir(dir) {
		if has(dir) {
			return at(dir), nil
		}
		if main := project.MainTree(dir); main != "" {
			if l := inMain(main, dir, root); l != nil {
				return l, nil
			}
		}
		if dir == unixpath.Dir(dir) {
			return nil, ErrNoLedger
		}
	}
}

func has(dir string) bool {
	info, err := os.Stat(unixpath.Join(dir, Dir))
	return err == nil && info.IsDir()
}

// inMain returns the ledger of a main work tree for a folder start of the linked
// work tree top; nil if there is none.
func inMain(main, top, start string) *Ledger {
	below, err := unixpath.Rel(top, start)
	if err != nil {
		return nil
	}
	for {
		if dir := unixpath.Join(main, below); has(dir) {
			l := at(dir)
			l.tree = unixpath.Join(top, below)
			return l
		}
		if below == "." {
			return nil
		}
		below = unixpath.Dir(below)
	}
}

// Base returns the folder to which paths of claims are joined: the root, or in a
// linked work tree the same place in it, whose files are others.
func (l *Ledger) Base() string {
	if l.tree != "" {
		return l.tree
	}
	return l.Root
}
