package cleanup

import (
	"fmt"
	"os"
	"slices"

	"aisync.dev/aisync/agents/run"
)

// Left is the work tree of a finished worker. Cleanup leaves it alone: its
// content may exist nowhere else.
type Left struct {
	Run    string `json:"run"`
	Worker string `json:"worker"`
	Dir    string `json:"dir"`
	Branch string `json:"branch"`
}

// Trees lists the existing work trees that aisync made for finished workers of a
// run, each once.
func Trees(r *run.Run) ([]Left, error) {
	st, err := r.State()
	if err != nil {
		return nil, err
	}
	var left []Left
	seen := map[string]bool{}
	for i := len(st.Workers) - 1; i >= 0; i-- { // the last worker that had it worked in it
		w := st.Workers[i]
		if w.Worktree == "" || w.Branch == "" || w.Substrate == run.External || seen[w.Worktree] {
			continue
		}
		seen[w.Worktree] = true
		if _, err := os.Lstat(w.Worktree); err == nil && w.Retention != run.Active {
			left = append(left, Left{r.ID, w.ID, w.Worktree, w.Branch})
		}
	}
	slices.Reverse(left)
	return left, nil
}

// Holder returns why a run still needs the work tree at dir, "" if it does not: its
// worker, and every worker that may begin where this one ended, must be over.
func Holder(r *run.Run, dir string) (string, error) {
	st, err := r.State()
	if err != nil {
		return "", err
	}
	if !st.Over() {
		return "run " + r.ID + " is not over; see: aisync run status " + r.ID, nil
	}
	for _, w := range st.Workers {
		if w.Worktree == dir && (w.Retention == run.Active || w.Retention == run.CompletedRetained || w.Retention == run.StaleRegistry) {
			return fmt.Sprintf("worker %s of run %s is %s; see: aisync run cleanup --safe --dry-run %s", w.ID, r.ID, w.Retention, r.ID), nil
		}
	}
	return "", nil
}
