package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"aisync.dev/aisync/agents/process"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/report"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/schema"
)

// checkRuns reports runs of the project whose events cannot be read, and workers
// that are not in the recorded state. It closes nothing. It names the folders of
// the predecessor, and does not open them.
func checkRuns(_ context.Context, e *Env) Outcome {
	home := e.places.Physical(e.places.Home)
	here := cmp.Or(e.places.Project, e.machine.Cwd)
	workspace, err := runs.Find(here, home)
	if errors.Is(err, runs.ErrNoStore) {
		return found(checkLegacyRuns(here, home)...)
	}
	if err != nil {
		return found(fail("", "%v", err))
	}
	out := checkLegacyRuns(workspace, home)
	store, err := runs.Open(workspace, runs.Options{Home: home, Check: schema.CheckRun})
	if err != nil {
		return found(append(out, fail("", "%v", err))...)
	}
	for _, err := range store.CheckFiles() {
		out = append(out, fail("mend the file, or move it away and run: aisync run init", "%v", err))
	}
	if _, warnings := report.Active(store); len(warnings) > 0 {
		out = append(out, warn("aisync run list; the next aisync run start points to another", "%s", warnings[0]))
	}
	ids, _, err := store.Runs()
	if err != nil {
		return found(append(out, fail("", "%v", err))...)
	}
	kept := map[runs.Retention]int{}
	for _, id := range ids {
		out = append(out, checkRun(store, id, kept)...)
	}
	if text := retentionText(kept); text != "" {
		if kept[sandboxed] > 0 {
			text += fmt.Sprintf("; %d of them in a sandbox", kept[sandboxed])
		}
		out = append(out, Finding{Level: "ok", What: "workers: " + text})
	}
	return found(out...)
}

// sandboxed counts, among the states of workers, those that have the rights of a
// sandbox, not the person's.
const sandboxed runs.Retention = "in a sandbox"

// checkLegacyRuns reports folders of the predecessor.
func checkLegacyRuns(workspace, home string) []Finding {
	var out []Finding
	for _, f := range runs.Legacy(workspace, home) {
		out = append(out, warn("nothing has to be done: keep it or remove it", "%s is a %s of the predecessor: aisync keeps it and never uses it", f.Path, f.What))
	}
	return out
}

// checkRun reports what is wrong with one run, and counts its workers in kept.
func checkRun(store *runs.Store, id string, kept map[runs.Retention]int) []Finding {
	r, err := store.Run(id)
	if err != nil {
		return []Finding{fail("", "run %s: %v", id, err)}
	}
	defer r.Close()
	s, err := r.State()
	if err != nil {
		return []Finding{fail("aisync run recover "+id+" --dry-run", "run %s: %v", id, err)}
	}
	var out []Finding
	for _, t := range s.Overdue(r.Now()) {
		over := (r.Now().Since(t.Claim.Renewed) - t.Claim.Lease).Round(time.Second)
		fix := "aisync run claim --expire --run " + id
		if w := s.Worker(t.Claim.Worker); w != nil && w.Substrate == runs.External {
			fix += "; to end it: aisync run finish " + id + " --as cancelled --reason WHY"
		}
		out = append(out, warn(fix, "run %s: worker %s holds task %s, and its lease expired %s ago", id, t.Claim.Worker, t.ID, over))
	}
	for i := range s.Workers {
		w := &s.Workers[i]
		kept[w.Retention]++
		if w.Substrate != runs.External && worker.InSandbox(supervise.Folder(r, w.ID), w.Owner) {
			kept[sandboxed]++
		}
		out = append(out, checkWorker(r, s, w)...)
	}
	if old, err := r.OldLogs(s); err == nil && len(old) > 0 {
		out = append(out, Finding{Level: "ok", What: fmt.Sprintf("run %s: %s past their days", id, quantity.Count(len(old), "log")), Fix: "aisync run cleanup --safe " + id})
	}
	return out
}

// checkWorker reports a worker whose process is not in the state that the run
// records. The process of an external worker cannot be seen.
func checkWorker(r *runs.Run, s *runs.State, w *runs.Worker) []Finding {
	who, at := fmt.Sprintf("run %s: worker %s (%s)", r.ID, w.ID, w.Retention), " --run "+r.ID
	clean := "aisync run cleanup --safe --dry-run " + r.ID
	letGo := "aisync run worker let-go " + w.ID + at
	if w.Retention == runs.StaleRegistry {
		why := ""
		if n := len(w.Moves); n > 0 {
			why = ": " + w.Moves[n-1].Reason
		}
		if o, err := worker.Observe(process.System(), supervise.Folder(r, w.ID), w.Owner); w.Substrate != runs.External && err == nil && o.Keeper == worker.Here && !o.Gone() {
			return []Finding{warn("look at its log; to end it: aisync run stop "+w.ID+at, "%s is not in the recorded state%s; %s", who, why, o)}
		}
		return []Finding{warn("look at its log and process, then: aisync run worker confirm "+w.ID+at+" --reason WHAT", "%s is not in the recorded state%s", who, why)}
	}
	if w.Substrate == runs.External {
		if w.Retention == runs.Active && s.Over() {
			return []Finding{warn(letGo, "%s: the run is %s; the program that started the worker has to end it", who, s.Contract.Status)}
		}
		return nil
	}
	o, err := worker.Observe(process.System(), supervise.Folder(r, w.ID), w.Owner)
	if err != nil {
		return []Finding{warn("look at the file; nothing is closed by a guess", "%s: %v", who, err)}
	}
	if trouble := supervise.TroubleOf(r, s, w, o); trouble != nil {
		return []Finding{warn(trouble.Fix, "%s: %s", who, trouble.What)}
	}
	lives := !o.Gone()
	if o.Job != nil && o.Job.Agent && o.Keeper == worker.Gone && w.Retention != runs.Closed {
		if left := worker.Leftovers(process.System(), w.Owner)[w.Owner]; len(left) > 0 {
			fix := clean
			if w.Retention == runs.Active || w.Retention == runs.CompletedRetained {
				fix = letGo + ", then: " + clean
			}
			return []Finding{warn(fix, "%s: its agent has ended and left running: %s", who, worker.Names(left))}
		}
	}
	switch {
	case w.Retention == runs.Active && s.Over() && lives:
		return []Finding{warn(letGo+", then: "+clean, "%s is a leak: %s, and the run is %s", who, o, s.Contract.Status)}
	case w.Retention == runs.Active && s.Over():
		return []Finding{warn(letGo, "%s: %s, and the run is %s", who, o, s.Contract.Status)}
	case w.Retention == runs.Active && o.State == worker.Lost:
		return []Finding{warn("aisync run supervise "+r.ID, "%s: %s", who, o)}
	case w.Retention == runs.SafeToClose && lives:
		return []Finding{warn(clean, "%s: %s, and the run needs it no more", who, o)}
	case w.Retention == runs.CleanupReleased:
		return []Finding{warn(clean, "%s: a cleanup released it and did not see it end: %s", who, o)}
	case w.Retention == runs.Closed && lives:
		return []Finding{warn("look at the process; aisync does not end workers that are closed", "%s: %s", who, o)}
	}
	return nil
}

// retentionText returns how many workers are in each state, in the order of a
// worker's life.
func retentionText(kept map[runs.Retention]int) string {
	var parts []string
	for _, r := range []runs.Retention{runs.Active, runs.CompletedRetained, runs.SafeToClose, runs.StaleRegistry, runs.CleanupReleased, runs.Closed} {
		if n := kept[r]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r))
		}
	}
	return strings.Join(parts, ", ")
}
