package cleanup

import (
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
