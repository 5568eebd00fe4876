package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/session"
)

func runListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "list the runs of this workspace",
		Long: `Lists the runs, the active one marked with a star. One whose events cannot be
believed is listed as damaged. It writes nothing.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        noArgs,
		RunE:        func(*cobra.Command, []string) error { return a.listRuns() },
	}
}

// runRow is one run of run list --json.
type runRow struct {
	ID        string         `json:"run"`
	Active    bool           `json:"active"`
	Status    string         `json:"status"` // or "damaged"
	Goal      string         `json:"goal,omitempty"`
	CreatedAt string         `json:"created_at,omitempty"`
	Tasks     map[string]int `json:"tasks,omitempty"`
	Error     string         `json:"error,omitempty"`
}

func (a *app) listRuns() error {
	store, err := a.openRuns()
	if err != nil {
		return err
	}
	active, warnings := activeRun(store)
	ids, odd, err := store.Runs()
	if err != nil {
		return err
	}
	rows := []runRow{}
	for _, id := range ids {
		row := runRow{ID: id, Active: id == active, Status: "damaged"}
		r, err := store.Run(id)
		if err == nil {
			var s *runs.State
			if s, err = r.State(); err == nil {
				row.Status, row.Goal, row.CreatedAt, row.Tasks = s.Contract.Status, s.Contract.Goal, s.Contract.CreatedAt, s.Counts()
			}
			r.Close()
		}
		if err != nil {
			row.Error = err.Error()
		}
		rows = append(rows, row)
	}
	for _, name := range odd {
		warnings = append(warnings, fmt.Sprintf("%s/runs/%s is no run: it is left alone", store.Path, name))
	}
	if a.g.json {
		return a.writeJSON(struct {
			FormatVersion string   `json:"format_version"`
			Workspace     string   `json:"workspace"`
			Runs          []runRow `json:"runs"`
			Warnings      []string `json:"warnings"`
		}{viewVersion, store.Workspace, rows, orEmpty(warnings)})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		mark := " "
		if row.Active {
			mark = "*"
		}
		fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\n", mark, row.ID, row.Status, taskCounts(row.Tasks), safe(firstOf(row.Error, row.Goal)))
	}
	w.Flush()
	for _, text := range warnings {
		a.say("warning: %s", safe(text))
	}
	if len(rows) == 0 {
		a.say("no runs in %s", safe(store.Workspace))
	}
	return nil
}

// activeRun is what the pointer names, and what is wrong with it.
func activeRun(store *runs.Store) (string, []string) {
	id, err := store.Active()
	if err != nil {
		return "", []string{err.Error()}
	}
	if id == "" {
		return "", nil
	}
	r, err := store.Run(id)
	if errors.Is(err, runs.ErrNoRun) {
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

func taskCounts(n map[string]int) string {
	var parts []string
	for _, status := range []string{runs.TaskDone, runs.TaskHeld, runs.TaskPending, runs.TaskLost} {
		if n[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[status], status))
		}
	}
	return strings.Join(parts, ", ")
}

// runStatusDoc is run status --json; see docs/json.md.
type runStatusDoc struct {
	FormatVersion string         `json:"format_version"`
	Run           string         `json:"run"`
	Goal          string         `json:"goal"`
	Status        string         `json:"status"`
	Reason        string         `json:"reason,omitempty"`
	AsOf          runs.AsOf      `json:"as_of"`
	Updated       string         `json:"updated_at"`
	Counts        map[string]int `json:"tasks_by_status"`
	Tasks         []taskRow      `json:"tasks"`
	Workers       []workerRow    `json:"workers"`
	OldLogs       []runs.OldLog  `json:"old_logs"`
	Legacy        []runs.Found   `json:"legacy"`
	Warnings      []string       `json:"warnings"`
}

type taskRow struct {
	ID       string   `json:"id"`
	Status   string   `json:"status"`
	Worker   string   `json:"worker,omitempty"`
	Attempts int      `json:"attempts"`
	Waits    []string `json:"waits_for"`
	Missing  []string `json:"missing_evidence"`
	Lease    string   `json:"lease,omitempty"` // "holds", "over"
	Left     float64  `json:"lease_seconds_left,omitempty"`
	Reason   string   `json:"reason,omitempty"`
}

type workerRow struct {
	ID        string         `json:"id"`
	State     runs.Retention `json:"state"`
	Task      string         `json:"task,omitempty"`
	Adapter   string         `json:"adapter"`
	Substrate string         `json:"substrate"`
	Heartbeat string         `json:"last_heartbeat_at,omitempty"`
	Why       string         `json:"why,omitempty"`
}

func runStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status [RUN]",
		Short: "how far a run is: its tasks, its workers, and what looks wrong",
		Long: `Shows the tasks of a run with who holds them, and the workers with the state that
they are kept in. A lease that is over is shown and not freed, a log that is past
its days is shown and not removed: it writes nothing, and closes nothing. It exits 1
if the events cannot be believed.`,
		Annotations:       map[string]string{"effect": "read-only"},
		Args:              maxArgs(1),
		ValidArgsFunction: a.runIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.onState(oneRun(args), func(r *runs.Run, s *runs.State) error {
				d, err := a.statusOf(r, s)
				if err != nil {
					return err
				}
				if a.g.json {
					return a.writeJSON(d)
				}
				a.printRunStatus(d)
				return nil
			})
		},
	}
}

func (a *app) statusOf(r *runs.Run, s *runs.State) (runStatusDoc, error) {
	now := r.Now()
	d := runStatusDoc{FormatVersion: viewVersion, Run: r.ID, Goal: s.Contract.Goal, Status: s.Contract.Status, Reason: s.Reason,
		AsOf: s.AsOf, Updated: s.Updated.Stamp(), Counts: s.Counts(), Tasks: []taskRow{}, Workers: []workerRow{},
		Legacy: orEmpty(runs.Legacy(r.Workspace(), a.runHome())), Warnings: []string{}}
	for i := range s.Tasks {
		d.Tasks = append(d.Tasks, statusOfTask(s, &s.Tasks[i], now))
	}
	for _, w := range s.Workers {
		row := workerRow{ID: w.ID, State: w.Retention, Task: w.Task, Adapter: w.Adapter, Substrate: w.Substrate, Heartbeat: w.Heartbeat.Stamp()}
		if n := len(w.Moves); n > 0 {
			row.Why = w.Moves[n-1].Reason
		}
		d.Workers = append(d.Workers, row)
	}
	for _, t := range s.Overdue(now) {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the lease of task %s is over, and worker %s may live: a supervisor frees it, or aisync run claim --expire", t.ID, t.Claim.Worker))
	}
	for _, t := range s.Blocked() {
		d.Warnings = append(d.Warnings, fmt.Sprintf("task %s can never be done: what it waits for has failed for good", t.ID))
	}
	if s.Recovered > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the run was recovered (%d times): see .ilchul/migrations/recovery.log", s.Recovered))
	}
	for _, err := range r.Divergence(s) {
		d.Warnings = append(d.Warnings, err.Error())
	}
	var err error
	d.OldLogs, err = r.OldLogs(s)
	d.OldLogs = orEmpty(d.OldLogs)
	return d, err
}

func statusOfTask(s *runs.State, t *runs.Task, now runs.Moment) taskRow {
	row := taskRow{ID: t.ID, Status: t.Status, Worker: t.DoneBy, Attempts: t.Attempts, Waits: orEmpty(s.Waits(t)), Missing: []string{}, Reason: t.Reason}
	if t.Status != runs.TaskDone {
		row.Missing = orEmpty(s.Missing(t))
	}
	if t.Held() {
		left := t.Claim.Lease - now.Since(t.Claim.Renewed)
		row.Worker, row.Lease, row.Left = t.Claim.Worker, "holds", left.Round(time.Second).Seconds()
		if left < 0 {
			row.Lease = "over"
		}
	}
	return row
}

func (a *app) printRunStatus(d runStatusDoc) {
	a.printf("%s  %s  %s\n", d.Run, d.Status, safe(d.Goal))
	if d.Reason != "" {
		a.printf("  %s\n", safe(d.Reason))
	}
	a.printf("\nTasks: %s\n", taskCounts(d.Counts))
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, t := range d.Tasks {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", t.ID, t.Status, t.Worker, safe(taskNote(t)))
	}
	w.Flush()
	if len(d.Workers) > 0 {
		a.printf("\nWorkers:\n")
	}
	for _, k := range d.Workers {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", k.ID, k.State, safe(k.Adapter)+" in "+k.Substrate, safe(k.Why))
	}
	w.Flush()
	for _, l := range d.OldLogs {
		a.printf("\nold log: %s, %s, %s: aisync run cleanup --safe removes it\n", safe(l.Path), bytesText(l.Size), session.Ago(l.Age))
	}
	a.sayLegacy(d.Legacy)
	if len(d.Tasks) > 0 && d.Counts[runs.TaskDone] == len(d.Tasks) && d.Status == runs.RunActive {
		a.hint("All its tasks are done, and it goes on. To end it: aisync run finish %s", d.Run)
	}
	for _, text := range d.Warnings {
		a.say("warning: %s", safe(text))
	}
}

func taskNote(t taskRow) string {
	var notes []string
	switch {
	case t.Lease == "over":
		notes = append(notes, "lease over for "+(time.Duration(-t.Left)*time.Second).String())
	case t.Lease != "":
		notes = append(notes, "lease for another "+(time.Duration(t.Left)*time.Second).String())
	}
	if len(t.Waits) > 0 {
		notes = append(notes, "waits for "+strings.Join(t.Waits, ", "))
	}
	if t.Lease != "" && len(t.Missing) > 0 {
		notes = append(notes, "needs evidence: "+strings.Join(t.Missing, ", "))
	}
	if t.Reason != "" {
		notes = append(notes, t.Reason)
	}
	return strings.Join(notes, "; ")
}

func runShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show [RUN]",
		Short: "all that is known of a run: contract, objective, choices and why, tasks, workers, claims",
		Long: `Shows what a run was started with and how it is now, and checks the files of
others beside its events by their schemas. With --json it prints the run's documents
as they lie in its folder. It writes nothing.`,
		Annotations:       map[string]string{"effect": "read-only"},
		Args:              maxArgs(1),
		ValidArgsFunction: a.runIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.onState(oneRun(args), func(r *runs.Run, s *runs.State) error {
				warnings := []string{}
				for _, err := range slices.Concat(r.Divergence(s), r.CheckFiles(), r.Store().CheckFiles()) {
					warnings = append(warnings, err.Error())
				}
				if a.g.json {
					return a.showRunJSON(r, s, warnings)
				}
				a.showRun(r, s)
				for _, text := range warnings {
					a.say("warning: %s", safe(text))
				}
				return nil
			})
		},
	}
}

func (a *app) showRunJSON(r *runs.Run, s *runs.State, warnings []string) error {
	docs := map[string]json.RawMessage{}
	for _, name := range runs.Projections {
		text, err := s.Document(name)
		if err != nil {
			return err
		}
		docs[name] = text
	}
	return a.writeJSON(struct {
		FormatVersion string                     `json:"format_version"`
		Run           string                     `json:"run"`
		Path          string                     `json:"path"`
		Documents     map[string]json.RawMessage `json:"documents"`
		Warnings      []string                   `json:"warnings"`
	}{viewVersion, r.ID, r.Path, docs, warnings})
}

func (a *app) showRun(r *runs.Run, s *runs.State) {
	a.printf("%s  %s  %s\n  %s\n", r.ID, s.Contract.Status, safe(s.Contract.Goal), safe(r.Path))
	for _, text := range s.Contract.Acceptance {
		a.printf("  accepted when: %s\n", safe(text))
	}
	for _, want := range s.Contract.EvidenceRequired {
		a.printf("  needs evidence: %s\n", safe(want))
	}
	a.printf("  objective (advises only): %s\n\nChosen:\n", safe(s.Objective.Objective))
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, reason := range s.Policy.Reasons {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", safe(reason.Setting), safe(reason.Value), safe(reason.From))
	}
	w.Flush()
	a.printf("\nTasks:\n")
	now := r.Now()
	for i := range s.Tasks {
		t := &s.Tasks[i]
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", t.ID, t.Status, plural(t.Attempts, "attempt"), safe(firstOf(t.Title, t.Goal)), safe(taskNote(statusOfTask(s, t, now))))
	}
	w.Flush()
	if len(s.Workers) > 0 {
		a.printf("\nWorkers:\n")
	}
	for _, k := range s.Workers {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", k.ID, k.Retention, safe(k.Adapter)+" in "+k.Substrate, safe(k.Worktree))
		for _, m := range k.Moves {
			fmt.Fprintf(w, "    %s\t%s → %s\tby the %s\t%s\n", m.At.Stamp(), m.From, m.To, m.By, safe(m.Reason))
		}
	}
	w.Flush()
}
