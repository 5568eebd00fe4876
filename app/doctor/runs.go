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
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/agents/run/worker"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/schema"
)

// checkRuns looks at the runs of the project: whether their events can be
// believed, and whether the workers are what is written of them. It closes
// nothing, and a folder of the program before is named and not opened.
func checkRuns(_ context.Context, p *Env) []Finding {
	home := p.places.Physical(p.places.Home)
	here := cmp.Or(p.places.Project, p.machine.Cwd)
	workspace, err := runs.Find(here, home)
	if errors.Is(err, runs.ErrNoStore) {
		return legacyRuns(here, home)
	}
	if err != nil {
		return []Finding{fail("", "%v", err)}
	}
	out := legacyRuns(workspace, home)
	store, err := runs.Open(workspace, runs.Options{Home: home, Check: schema.CheckRun})
	if err != nil {
		return append(out, fail("", "%v", err))
	}
	for _, err := range store.CheckFiles() {
		out = append(out, fail("mend the file, or move it away and run: aisync run init", "%v", err))
	}
	if _, warnings := runs.ActiveRun(store); len(warnings) > 0 {
		out = append(out, warn("aisync run list; the next aisync run start points to another", "%s", warnings[0]))
	}
	ids, _, err := store.Runs()
	if err != nil {
		return append(out, fail("", "%v", err))
	}
	kept := map[runs.Retention]int{}
	for _, id := range ids {
		out = append(out, checkRun(store, id, kept)...)
	}
	if text := keptText(kept); text != "" {
		out = append(out, Finding{Level: "ok", What: "workers: " + text})
	}
	return out
}

// legacyRuns names folders of the program before.
func legacyRuns(workspace, home string) []Finding {
	var out []Finding
	for _, f := range runs.Legacy(workspace, home) {
		out = append(out, warn("nothing has to be done; what becomes of it is yours to say", "%s is a %s of the program before: it is kept as it is, and never used", f.Path, f.What))
	}
	return out
}

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
			fix += "; where nobody goes on with it, then: aisync run finish " + id + " --as cancelled --reason WHY"
		}
		out = append(out, warn(fix, "run %s: worker %s holds task %s, and its lease is over for %s", id, t.Claim.Worker, t.ID, over))
	}
	for i := range s.Workers {
		w := &s.Workers[i]
		kept[w.Retention]++
		out = append(out, checkWorker(r, s, w)...)
	}
	if old, err := r.OldLogs(s); err == nil && len(old) > 0 {
		out = append(out, Finding{Level: "ok", What: fmt.Sprintf("run %s: %s past their days", id, quantity.Count(len(old), "log")), Fix: "aisync run cleanup --safe " + id})
	}
	return out
}

// checkWorker says where what is to be seen of a worker is not what its state
// means. What somebody else has started cannot be looked at.
func checkWorker(r *runs.Run, s *runs.State, w *runs.Worker) []Finding {
	who, at := fmt.Sprintf("run %s: worker %s (%s)", r.ID, w.ID, w.Retention), " --run "+r.ID
	clean := "aisync run cleanup --safe --dry-run " + r.ID
	letGo := "aisync run worker let-go " + w.ID + at
	if w.Retention == runs.StaleRegistry {
		why := ""
		if n := len(w.Moves); n > 0 {
			why = ": " + w.Moves[n-1].Reason
		}
		return []Finding{warn("look at its log and process, then: aisync run worker confirm "+w.ID+at+" --reason WHAT", "%s is not what is written of it%s", who, why)}
	}
	if w.Substrate == runs.External {
		if w.Retention == runs.Active && s.Over() {
			return []Finding{warn(letGo, "%s: the run is %s; whoever started the worker ends it", who, s.Contract.Status)}
		}
		return nil
	}
	o, err := worker.Observe(process.System(), supervise.Folder(r, w.ID), w.Owner)
	if err != nil {
		return []Finding{warn("look at the file; nothing is closed by a guess", "%s: %v", who, err)}
	}
	lives := !o.Gone()
	switch {
	case w.Retention == runs.Active && s.Over() && lives:
		return []Finding{warn(letGo+", then: "+clean, "%s is a leak: %s, and the run is %s", who, o, s.Contract.Status)}
	case w.Retention == runs.Active && s.Over():
		return []Finding{warn(letGo, "%s: %s, and the run is %s", who, o, s.Contract.Status)}
	case w.Retention == runs.Active && o.State == worker.Lost:
		return []Finding{warn("aisync run supervise "+r.ID, "%s: %s", who, o)}
	case w.Retention == runs.SafeToClose && lives:
		return []Finding{warn(clean, "%s: %s, and nothing needs it any more", who, o)}
	case w.Retention == runs.CleanupReleased:
		return []Finding{warn(clean, "%s: a cleanup let go of it and did not see it end: %s", who, o)}
	case w.Retention == runs.Closed && lives:
		return []Finding{warn("look at the process; aisync ends nothing that is closed", "%s: %s", who, o)}
	}
	return nil
}

// keptText counts workers by their states, in the order of a worker's life.
func keptText(kept map[runs.Retention]int) string {
	var parts []string
	for _, r := range []runs.Retention{runs.Active, runs.CompletedRetained, runs.SafeToClose, runs.StaleRegistry, runs.CleanupReleased, runs.Closed} {
		if n := kept[r]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r))
		}
	}
	return strings.Join(parts, ", ")
}
