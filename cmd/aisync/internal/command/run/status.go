package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/process"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

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
	Time     float64  `json:"timeout_seconds_left,omitempty"` // below 0: it is over
	Reason   string   `json:"reason,omitempty"`
}

type workerRow struct {
	ID        string         `json:"id"`
	State     runs.Retention `json:"state"`
	Task      string         `json:"task,omitempty"`
	Adapter   string         `json:"adapter"`
	Substrate string         `json:"substrate"`
	Sandbox   bool           `json:"sandbox,omitempty"` // it has the rights of a sandbox, not the person's
	Heartbeat string         `json:"last_heartbeat_at,omitempty"`
	Silent    float64        `json:"silent_seconds,omitempty"` // longer than the heartbeat timeout
	Why       string         `json:"why,omitempty"`
}

func runStatusCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status [RUN]",
		Short: "print the progress of a run: tasks, workers and problems",
		Long: `Shows the tasks of a run with their claims, and the workers with their states.
It lists expired leases, silent workers and expired logs, but changes nothing.
It exits 1 if the events are damaged.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return onState(a, oneRun(args), func(r *runs.Run, s *runs.State) error {
				d, err := statusOf(a, r, s)
				if err != nil {
					return err
				}
				if a.Flags.JSON {
					return a.WriteJSON(d)
				}
				printRunStatus(a, d)
				return nil
			})
		},
	}
}

func statusOf(a *cli.App, r *runs.Run, s *runs.State) (runStatusDoc, error) {
	now := r.Now()
	d := runStatusDoc{FormatVersion: cli.ViewVersion, Run: r.ID, Goal: s.Contract.Goal, Status: s.Contract.Status, Reason: s.Reason,
		AsOf: s.AsOf, Updated: s.Updated.Stamp(), Counts: s.Counts(), Tasks: []taskRow{}, Workers: []workerRow{},
		Legacy: cli.OrEmpty(runs.Legacy(r.Workspace(), a.RunHome())), Warnings: []string{}}
	for i := range s.Tasks {
		d.Tasks = append(d.Tasks, statusOfTask(s, &s.Tasks[i], now))
	}
	for i := range s.Workers {
		w := &s.Workers[i]
		row := workerRow{ID: w.ID, State: w.Retention, Task: w.Task, Adapter: w.Adapter, Substrate: w.Substrate, Heartbeat: w.Heartbeat.Stamp()}
		row.Sandbox = w.Substrate != runs.External && worker.InSandbox(supervise.Folder(r, w.ID), w.Owner)
		if n := len(w.Moves); n > 0 {
			row.Why = w.Moves[n-1].Reason
		}
		if trouble := troubleOf(r, s, w); trouble != nil {
			row.Silent = trouble.Silent.Seconds()
			d.Warnings = append(d.Warnings, fmt.Sprintf("worker %s: %s; %s", w.ID, trouble.What, trouble.Fix))
		}
		d.Workers = append(d.Workers, row)
	}
	for _, t := range s.Overdue(now) {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the lease of task %s is over, and worker %s may still run; to free the task: aisync run claim --expire", t.ID, t.Claim.Worker))
	}
	for _, t := range s.Blocked() {
		d.Warnings = append(d.Warnings, fmt.Sprintf("task %s can never be done: a task that it waits for has failed for good", t.ID))
	}
	if s.Recovered > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the run was recovered (%d times): see .ilchul/migrations/recovery.log", s.Recovered))
	}
	for _, err := range r.Divergence(s) {
		d.Warnings = append(d.Warnings, err.Error())
	}
	var err error
	d.OldLogs, err = r.OldLogs(s)
	d.OldLogs = cli.OrEmpty(d.OldLogs)
	return d, err
}

// troubleOf returns what is wrong with a worker at work, nil if nothing is.
func troubleOf(r *runs.Run, s *runs.State, w *runs.Worker) *supervise.Trouble {
	if w.Substrate == runs.External {
		return nil
	}
	o, err := worker.Observe(process.System(), supervise.Folder(r, w.ID), w.Owner)
	if err != nil {
		return nil // run worker list and doctor report it
	}
	return supervise.TroubleOf(r, s, w, o)
}

func statusOfTask(s *runs.State, t *runs.Task, now clock.Moment) taskRow {
	row := taskRow{ID: t.ID, Status: t.Status, Worker: t.DoneBy, Attempts: t.Attempts, Waits: cli.OrEmpty(s.Waits(t)), Missing: []string{}, Reason: t.Reason}
	if t.Status != runs.TaskDone {
		row.Missing = cli.OrEmpty(s.Missing(t))
	}
	if t.Held() {
		left := t.Claim.Lease - now.Since(t.Claim.Renewed)
		row.Worker, row.Lease, row.Left = t.Claim.Worker, "holds", left.Round(time.Second).Seconds()
		if left < 0 {
			row.Lease = "over"
		}
		if t.TimeoutSeconds > 0 {
			row.Time = -t.Late(now).Round(time.Second).Seconds()
		}
	}
	return row
}

func printRunStatus(a *cli.App, d runStatusDoc) {
	a.Printf("%s  %s  %s\n", d.Run, d.Status, termtext.Safe(d.Goal))
	if d.Reason != "" {
		a.Printf("  %s\n", termtext.Safe(d.Reason))
	}
	a.Printf("\nTasks: %s\n", taskCounts(d.Counts))
	w := a.Table()
	for _, t := range d.Tasks {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", t.ID, t.Status, t.Worker, termtext.Safe(taskNote(t)))
	}
	w.Flush()
	if len(d.Workers) > 0 {
		a.Printf("\nWorkers:\n")
	}
	for _, k := range d.Workers {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", k.ID, k.State, termtext.Safe(k.Adapter)+" in "+whereOf(k.Substrate, k.Sandbox), termtext.Safe(k.Why))
	}
	w.Flush()
	for _, l := range d.OldLogs {
		a.Printf("\nexpired log: %s, %s, %s; to remove it: aisync run cleanup --safe\n", termtext.Safe(l.Path), quantity.Bytes(l.Size), session.Ago(l.Age))
	}
	sayLegacy(a, d.Legacy)
	if len(d.Tasks) > 0 && d.Counts[runs.TaskDone] == len(d.Tasks) && d.Status == runs.RunActive {
		a.Hint("All tasks are done, but the run is active. To end it: aisync run finish %s", d.Run)
	}
	for _, text := range d.Warnings {
		a.Say("warning: %s", termtext.Safe(text))
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
	switch {
	case t.Time < 0:
		notes = append(notes, "time over for "+(time.Duration(-t.Time)*time.Second).String())
	case t.Time > 0:
		notes = append(notes, "time for another "+(time.Duration(t.Time)*time.Second).String())
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

func taskCounts(n map[string]int) string {
	var parts []string
	for _, status := range []string{runs.TaskDone, runs.TaskHeld, runs.TaskPending, runs.TaskLost} {
		if n[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[status], status))
		}
	}
	return strings.Join(parts, ", ")
}
