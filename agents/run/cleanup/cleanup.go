// Package cleanup closes the handles of workers that are finished, not retained
// and proved to be aisync's, and removes logs past their retention. It
// never touches active or uncertain workers, .kapi,
// work trees, branches, evidence, events, ledgers or folders of runs. Call Look,
// then Do.
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

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
)

// Actions on one item.
const (
	Keep   = "keep"
	Close  = "close"  // end its handle, and check that it is gone
	Note   = "note"   // its handle is gone: record that
	Remove = "remove" // a log
)

// Item is one worker or log of a run, and the action on it.
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
	Retained bool // also release completed-retained workers that still live
}

// Look returns what Do would do with a run, and the reasons. It writes and
// closes nothing.
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
		// The wall clock, which dates the log, may have jumped.
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

// judge returns the action on one worker, and whether its handle is gone.
func (c Cleaner) judge(r *run.Run, st *run.State, w *run.Worker) (Item, bool) {
	item := Item{Run: r.ID, Worker: w.ID, State: w.Retention, Action: Keep}
	if w.Substrate == run.External {
		item.Why = "it was not started by aisync, which does not end it"
		return item, false
	}
	o, err := worker.Observe(c.Table, supervise.Folder(r, w.ID), w.Owner)
	if err != nil {
		item.Why = "its state is unknown: " + err.Error()
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
		item.Why = "its observed state contradicts its record; after checking it, run: aisync run worker confirm " + w.ID + " --run " + r.ID + " --reason WHAT-YOU-SAW"
		return item, gone
	case run.CompletedRetained:
		if !gone && !c.Retained {
			item.Why = "it is kept on purpose; to release it, run: aisync run worker let-go " + w.ID + " --run " + r.ID
			return item, gone
		}
	}
	if t := holds(st, w.ID); t != "" {
		item.Why = "it holds task " + t
		return item, gone
	}
	left := left(c.Table, o, w)
	switch err := supervise.Owned(c.Table, o, w); {
	case len(left) > 0:
		item.Action, item.Why = Close, "its handle is gone, and the agent left running: "+worker.Names(left)
	case gone:
		item.Action, item.Why = Note, "its handle is gone"
		if o.Held { // such as a server in the background, whose owner is unproved
			item.Why += "; a process that it started still runs, and is left alone"
		}
	case err != nil:
		item.Why = err.Error()
	default:
		item.Action, item.Why = Close, "its work is over, nothing keeps it, and aisync started it"
	}
	return item, gone
}

// left returns the processes that an agent left running when its keeper had gone,
// which have its marker. A command may start a server on purpose, so its
// processes stay.
func left(t process.Table, o worker.Observation, w *run.Worker) []worker.Leftover {
	if o.Job == nil || !o.Job.Agent || o.Keeper != worker.Gone {
		return nil
	}
	return worker.Leftovers(t, w.Owner)[w.Owner]
}

func holds(st *run.State, workerID string) string {
	for i := range st.Tasks {
		if t := &st.Tasks[i]; t.Held() && t.Claim.Worker == workerID {
			return t.ID
		}
	}
	return ""
}

// Do executes the items of one run that still apply: it examines each worker
// again. A failed item has its Error; ErrIncomplete reports that there is one.
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

// ErrIncomplete reports that an item was not cleaned up.
var ErrIncomplete = errors.New("not cleaned up")

// close releases a worker, ends its handle, and records that. After a crash in
// between, the worker is cleanup-released, and the next Do continues.
func (c Cleaner) close(ctx context.Context, r *run.Run, item *Item) error {
	st, err := r.State()
	if err != nil {
		return err
	}
	w := st.Worker(item.Worker)
	if w == nil {
		return fmt.Errorf("worker %s is no longer in the run", item.Worker)
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
	o, err := worker.Observe(c.Table, folder, w.Owner)
	if err != nil {
		return err
	}
	if len(left(c.Table, o, w)) > 0 {
		if err := worker.EndLeft(ctx, c.Table, w.Owner); err != nil {
			return err
		}
	}
	if err := worker.End(ctx, c.Table, folder, w.Owner); err != nil {
		return err
	}
	if o, err = worker.Observe(c.Table, folder, w.Owner); err != nil {
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

// ended returns when a worker's work was over: the time of its last event.
func ended(w *run.Worker) clock.Moment {
	if len(w.Moves) > 0 {
		return w.Moves[0].At // away from active
	}
	return w.Registered
}

// remove removes a log after recording it.
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
