package report

import (
	"errors"
	"fmt"

	"aisync.dev/aisync/agents/run"
)

// Active returns what the pointer names, and what is wrong with it.
func Active(store *run.Store) (string, []string) {
	id, err := store.Active()
	if err != nil {
		return "", []string{err.Error()}
	}
	if id == "" {
		return "", nil
	}
	r, err := store.Run(id)
	if errors.Is(err, run.ErrNoRun) {
		return id, []string{fmt.Sprintf("active.json names run %s, and there is none", id)}
	}
	if err != nil {
		return id, []string{err.Error()}
	}
	defer r.Close()
	if s, err := r.State(); err == nil && s.Over() {
		return id, []string{fmt.Sprintf("active.json names run %s, which is %s", id, s.Contract.Status)}
	}
	return id, nil
}
