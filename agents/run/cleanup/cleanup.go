// Package cleanup closes what a run has let go of: handles of workers that are
// terminal, not retained and proved to be ours, and logs past their days. It is
// the only thing that closes anything. It never touches workers that are at work
// or uncertain, .kapi, worktrees, branches, evidence, events, ledgers or folders
// of runs. Start reading at Look and Do.
package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/agents/run/worker"
)

// What is done with one thing.
const (
	Keep   = "keep"
	Close  = "close"  // end its handle, and see that it is gone
	Note   = "note"   // its handle is gone: write that down
	Remove = "remove" // a log
)

// Item is one worker or log of a run, and what is done with it.
type Item struct {
	Run    string        `json:"run"`
	Worker string        `json:"worker"`
	State  run.Retention `json:"state"`
	Action string        `json:"action"`
	Why    string        `json:"why"`
	Seen   string        `json:"seen,omitempty"`
	Log    string        `json:"log,omitempty"` // below the run's folder
	Bytes  int64         `json:"bytes,omitempty"`
	Done   bool          `json:"done,omitempty"`
	Error  string        `json:"error,omitempty"`
}

// Cleaner cleans up runs.
type Cleaner struct {
	Table    process.Table
	Retained bool // let go of completed-retained workers that still live, too
}

// Look says what Do would do with a run, and why not with the rest. It writes
// nothing and closes nothing.
func (c Cleaner) Look(r *run.Run) ([]Item, error) {
	cited := map[string]bool{}
	st, err := r.Replay(func(e run.Event) error { return cite(cited, e) })
	if err != nil {
		return nil, err
	}
	var items []Item
	gone := map[string]*run.Worker{} // by their logs
	for i := range st.Workers {
		w := &st.Workers[i]
		item, over := c.judge(r, st, w)
		if w.Retention != run.Closed {
			items = append(items, item)
		}
		if over {
			gone[w.Log] = w
		}
	}
	logs, err := r.OldLogs(st)
	for _, l := range logs {
		// The clock of the wall, by which a log is old, may have jumped.
		if w := gone[l.Name]; w != nil && !cited[l.Name] && r.Now().Since(ended(w)) > days(st) {
			items = append(items, Item{
				Run: r.ID, Worker: w.ID, State: w.Retention, Action: Remove, Log: l.Name, Bytes: l.Size,
				Why: fmt.Sprintf("logs are kept for %d days", st.Settings().RetainLogsDays),
			})
		}
	}
	return items, err
}

func days(st *run.State) time.Duration {
	return time.Duration(st.Settings().RetainLogsDays) * 24 * time.Hour
}

// judge says what becomes of one worker, and whether its handle is gone.
func (c Cleaner) judge(r *run.Run, st *run.State, w *run.Worker) (Item, bool) {
	item := Item{Run: r.ID, Worker: w.ID, State: w.Retention, Action: Keep}
	if w.Substrate == run.External {
		item.Why = "it was started by somebody else, who ends it"
		return item, false
	}
	o, err := worker.Observe(c.Table, supervise.Folder(r, w.ID), w.Owner)
	if err != nil {
		item.Why = "nothing is known of it: " + err.Error()
		return item, false
	}
	item.Seen = o.String()
	gone := o.Gone() && o.State != worker.Waiting && o.State != worker.Absent
	switch w.Retention {
	case run.Closed:
		return item, true
	case run.Active:
		item.Why = "it is at work, or expected to be"
		return item, gone
	case run.StaleRegistry:
		item.Why = "what is seen of it contradicts what is written; when you have looked: aisync run worker confirm " + w.ID + " --run " + r.ID + " --reason WHAT-YOU-SAW"
		return item, gone
	case run.CompletedRetained:
		if !gone && !c.Retained {
			item.Why = "it is kept on purpose; to let go of it: aisync run worker let-go " + w.ID + " --run " + r.ID
			return item, gone
		}
	}
	if t := holds(st, w.ID); t != "" {
		item.Why = "it holds task " + t
		return item, gone
	}
	switch err := owned(c.Table, o, w); {
	case gone:
		item.Action, item.Why = Note, "its handle is gone"
		if o.Held { // such as a server that went into the background: whose it is cannot be proved
			item.Why += "; something that it started still runs, and is left alone"
		}
	case err != nil:
		item.Why = err.Error()
	default:
		item.Action, item.Why = Close, "its work is over, nothing keeps it, and it is ours"
	}
	return item, gone
}

func holds(st *run.State, workerID string) string {
	for i := range st.Tasks {
		if t := &st.Tasks[i]; t.Held() && t.Claim.Worker == workerID {
			return t.ID
		}
	}
	return ""
}

// owned is worker.Owned, and that the events tell of the same process.
func owned(t process.Table, o worker.Observation, w *run.Worker) error {
	if err := worker.Owned(t, o, w.Owner); err != nil {
		return err
	}
	if k := o.Ticket.Keeper; w.Handle == nil || w.Handle.PID != k.PID || w.Handle.Start != k.Start {
		return fmt.Errorf("%w: the run's events tell of another process", worker.ErrNotOurs)
	}
	return nil
}

// Do does what the items of one run say, as far as it is still so: each worker is
// looked at again. What could not be done has its Error; ErrIncomplete says that
// there is such an item.
func (c Cleaner) Do(ctx context.Context, r *run.Run, items []Item) error {
	var failed []string
	for i := range items {
		item := &items[i]
		var err error
		switch item.Action {
		case Close, Note:
			err = c.close(ctx, r, item)
		case Remove:
			err = remove(r, item)
		default:
			continue
		}
		if item.Done = err == nil; err != nil {
			item.Error = err.Error()
			failed = append(failed, item.Worker)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%w: %s", ErrIncomplete, strings.Join(failed, ", "))
	}
	return nil
}

// ErrIncomplete says that not all that was to be cleaned up is.
var ErrIncomplete = errors.New("not cleaned up")

// close releases a worker, ends its handle, and writes down that it is gone.
// Killed in between, the worker is cleanup-released, and the next Do goes on.
func (c Cleaner) close(ctx context.Context, r *run.Run, item *Item) error {
	st, err := r.State()
	if err != nil {
		return err
	}
	w := st.Worker(item.Worker)
	if w == nil {
		return fmt.Errorf("worker %s is not in the run any more", item.Worker)
	}
	now, _ := c.judge(r, st, w)
	if now.Action != Close && now.Action != Note {
		return errors.New(now.Why)
	}
	if w.Retention != run.CleanupReleased {
		if err := r.Move(w.ID, run.Move{To: run.CleanupReleased, By: run.ByCleanup, Reason: now.Why}); err != nil {
			return err
		}
		item.State = run.CleanupReleased
	}
	folder := supervise.Folder(r, w.ID)
	if err := worker.End(ctx, c.Table, folder, w.Owner); err != nil {
		return err
	}
	o, err := worker.Observe(c.Table, folder, w.Owner)
	if err != nil {
		return err
	}
	if !o.Gone() {
		return worker.ErrStillHere
	}
	if err := r.Move(w.ID, run.Move{To: run.Closed, By: run.ByCleanup, Reason: "its handle is gone", Observed: o.String()}); err != nil {
		return err
	}
	item.State, item.Seen = run.Closed, o.String()
	return nil
}

// ended is when a worker's work was over: the last that was written of it.
func ended(w *run.Worker) run.Moment {
	if len(w.Moves) > 0 {
		return w.Moves[0].At // away from active
	}
	return w.Registered
}

// remove removes a log, once it is written down which.
func remove(r *run.Run, item *Item) error {
	if filepath.Dir(item.Log) != "logs" || filepath.Base(item.Log) != item.Worker+".log" {
		return fmt.Errorf("%s is not the log of worker %s", item.Log, item.Worker)
	}
	dir, err := os.OpenRoot(r.Path)
	if err != nil {
		return err
	}
	defer dir.Close()
	info, err := dir.Lstat(item.Log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s is not a regular file", item.Log))
	}
	if err := r.Note(run.RunNote, map[string]any{"removed": item.Log, "bytes": info.Size(), "why": item.Why}); err != nil {
		return err
	}
	return dir.Remove(item.Log)
}
