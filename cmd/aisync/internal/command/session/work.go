package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/process"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/schema"
)

// piece is a claimed piece of work.
type piece struct {
	Kind  string `json:"kind"`            // task: of the queue; claim: of a task of a run
	Name  string `json:"name"`            // of a task of the queue: its file's, without .yaml
	Path  string `json:"path"`            // its file, or the run's folder, below the project
	By    string `json:"by,omitempty"`    // the claimant, if known
	Since string `json:"since,omitempty"` // of a claim
	Until string `json:"until,omitempty"` // of a claim: when its lease is over
	note  string // of by, since and until, for people
}

// inHand lists functions that read the claimed work in a project's root. Beside an
// error each returns what it could read.
var inHand = []func(root string) ([]piece, error){runningTasks, heldClaims}

// runningTasks returns the tasks in tasks/queue/QUEUE/running.
func runningTasks(root string) ([]piece, error) {
	queues, err := os.ReadDir(filepath.Join(root, "tasks", "queue"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []piece
	errs := []error{err}
	for _, q := range queues {
		folder := filepath.Join("tasks", "queue", q.Name(), "running")
		files, err := os.ReadDir(filepath.Join(root, folder))
		if !q.IsDir() || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		errs = append(errs, err)
		for _, f := range files {
			name, by := task.ClaimOf(f.Name())
			ext := filepath.Ext(name)
			if !f.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml"}, ext) {
				continue
			}
			one := piece{Kind: "task", Name: strings.TrimSuffix(name, ext), Path: filepath.Join(folder, f.Name())}
			if by != (task.Claimant{}) {
				one.By = by.String()
				one.note = "by " + one.By
				if by.Life(task.Here().Host, process.System()) == task.Gone {
					one.note += ", which is gone"
				}
			}
			out = append(out, one)
		}
	}
	return out, errors.Join(errs...)
}

// heldClaims returns the held claims of runs. A claim whose lease is over counts as
// held until a supervisor or a person frees its task.
func heldClaims(root string) ([]piece, error) {
	store, err := runs.Open(root, runs.Options{Check: schema.CheckRun})
	if errors.Is(err, runs.ErrNoStore) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids, _, err := store.Runs()
	var out []piece
	errs := []error{err}
	for _, id := range ids {
		r, err := store.Run(id)
		if err == nil {
			var s *runs.State
			if s, err = r.State(); err == nil {
				out = append(out, claimsOf(s, id, r.Now())...)
			}
			r.Close()
		}
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

func claimsOf(s *runs.State, id string, now clock.Moment) []piece {
	var out []piece
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if !t.Held() {
			continue
		}
		by := t.Claim.Worker
		if w := s.Worker(by); w != nil {
			by = cmp.Or(w.AgentID, by)
		}
		left := (t.Claim.Lease - now.Since(t.Claim.Renewed)).Round(time.Second)
		lease := "lease for another " + left.String()
		if left < 0 {
			lease = "lease over for " + (-left).String()
		}
		out = append(out, piece{
			Kind: "claim", Name: t.ID, Path: filepath.Join(runs.Dir, "runs", id), By: by,
			Since: t.Claim.Acquired.Stamp(), Until: now.Time().Add(left).Format(time.RFC3339),
			note: fmt.Sprintf("by %s for %s, %s", by, now.Since(t.Claim.Acquired).Round(time.Second), lease),
		})
	}
	return out
}
