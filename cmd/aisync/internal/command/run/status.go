package run

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/session"
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

func runStatusCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status [RUN]",
		Short: "how far a run is: its tasks, its workers, and what looks wrong",
		Long: `Shows the tasks of a run with who holds them, and the workers with the state that
they are kept in. A lease that is over is shown and not freed, a log that is past
its days is shown and not removed: it writes nothing, and closes nothing. It exits 1
if the events cannot be believed.`,
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
	d.OldLogs = cli.OrEmpty(d.OldLogs)
	return d, err
}

func statusOfTask(s *runs.State, t *runs.Task, now runs.Moment) taskRow {
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
	}
	return row
}

func printRunStatus(a *cli.App, d runStatusDoc) {
	a.Printf("%s  %s  %s\n", d.Run, d.Status, termtext.Safe(d.Goal))
	if d.Reason != "" {
		a.Printf("  %s\n", termtext.Safe(d.Reason))
	}
	a.Printf("\nTasks: %s\n", taskCounts(d.Counts))
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, t := range d.Tasks {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", t.ID, t.Status, t.Worker, termtext.Safe(taskNote(t)))
	}
	w.Flush()
	if len(d.Workers) > 0 {
		a.Printf("\nWorkers:\n")
	}
	for _, k := range d.Workers {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", k.ID, k.State, termtext.Safe(k.Adapter)+" in "+k.Substrate, termtext.Safe(k.Why))
	}
	w.Flush()
	for _, l := range d.OldLogs {
		a.Printf("\nold log: %s, %s, %s: aisync run cleanup --safe removes it\n", termtext.Safe(l.Path), quantity.Bytes(l.Size), session.Ago(l.Age))
	}
	sayLegacy(a, d.Legacy)
	if len(d.Tasks) > 0 && d.Counts[runs.TaskDone] == len(d.Tasks) && d.Status == runs.RunActive {
		a.Hint("All its tasks are done, and it goes on. To end it: aisync run finish %s", d.Run)
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
