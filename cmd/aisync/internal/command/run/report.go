package run

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/report"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

func runReportCommand(a *cli.App) *cobra.Command {
	var html string
	var verify bool
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "report on a run: tasks, timeline, workers, evidence",
		Long: `Reads and checks all events of a run, and shows its tasks in the order of the
graph, who worked on each and when, the workers by state, and the evidence. The
default is the active run.

--html writes the report as a self-contained page without scripts, with the task
graph as a picture. --verify digests the evidence again and exits 1 if a file is
changed or missing.`,
		Example:     "  $ aisync run report\n  $ aisync run report --html report.html\n  $ aisync run report --json r-20261121-074744-3fa9",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return onRun(a, oneRun(args), func(r *runs.Run) error {
				doc, err := report.Collect(r, verify)
				if err != nil {
					return err
				}
				switch {
				case a.Flags.JSON:
					err = a.WriteJSON(doc)
				case html == "-":
					err = doc.HTML(a.Out)
				case html != "":
					err = writeReport(a, html, doc)
				default:
					reportText(a, doc)
				}
				if err != nil {
					return err
				}
				return checkUnchanged(doc.Evidence)
			})
		},
	}
	cmd.Flags().StringVar(&html, "html", "", "write an HTML page to `FILE` (- is stdout)")
	cmd.Flags().BoolVar(&verify, "verify", false, "digest the evidence again and compare")
	return cmd
}

// writeReport writes the page to the file that --html names.
func writeReport(a *cli.App, name string, doc *report.Report) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = doc.HTML(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		a.Printf("wrote %s\n", termtext.Safe(name))
	}
	return err
}

func reportText(a *cli.App, doc *report.Report) {
	p := a.Paint()
	a.Printf("%s  %s\n", p.Bold(termtext.Safe(doc.Run)), termtext.Safe(doc.Goal))
	a.Printf("%s", doc.Status)
	if doc.Reason != "" {
		a.Printf(": %s", termtext.Safe(doc.Reason))
	}
	a.Printf("; %s to %s UTC (%s), %s\n", when(doc.From), when(doc.To), report.Span(doc.To.Sub(doc.From)), quantity.Count(int(doc.Events), "event"))

	heading := func(name string, counts []string) {
		a.Printf("\n%s  %s\n", p.Bold(name), strings.Join(counts, ", "))
	}
	var counts []string
	for _, c := range doc.Counts() {
		counts = append(counts, fmt.Sprintf("%d %s", c.Tasks, c.Status))
	}
	heading("Tasks", counts)
	t := a.Table()
	for _, task := range doc.Tasks {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", termtext.Safe(task.ID), task.Status, termtext.Safe(task.Worker), termtext.Safe(taskNotes(task)))
	}
	t.Flush()
	reportTimeline(a, doc)

	counts = nil
	for _, s := range doc.States {
		if s.Workers > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", s.Workers, s.State))
		}
	}
	heading("Workers", counts)
	t = a.Table()
	for _, w := range doc.Workers {
		fmt.Fprintf(t, "  %s\t%s\t%s\tsince %s\t%s\n", termtext.Safe(w.ID), w.State, termtext.Safe(w.Adapter), when(w.Since), termtext.Safe(workerNotes(w)))
	}
	t.Flush()

	heading("Evidence", []string{quantity.Count(len(doc.Evidence), "piece")})
	t = a.Table()
	for _, e := range doc.Evidence {
		what := strings.TrimSpace(e.Name + " " + e.Command + " " + e.Ref)
		if e.ExitCode != nil {
			what += fmt.Sprintf(" (exit %d)", *e.ExitCode)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", termtext.Safe(e.Task), e.Kind, termtext.Safe(what), e.Now)
	}
	t.Flush()
}

// taskNotes returns the remarks on a task.
func taskNotes(t report.Task) string {
	var notes []string
	if t.Seconds > 0 {
		notes = append(notes, report.Span(time.Duration(t.Seconds*float64(time.Second))))
	}
	if t.Attempts > 1 {
		notes = append(notes, fmt.Sprintf("attempt %d", t.Attempts))
	}
	if len(t.DependsOn) > 0 {
		notes = append(notes, "after "+strings.Join(t.DependsOn, ", "))
	}
	if t.Reason != "" {
		notes = append(notes, t.Reason)
	}
	if len(t.Missing) > 0 && t.Attempts > 0 {
		notes = append(notes, "evidence missing: "+strings.Join(t.Missing, ", "))
	}
	return strings.Join(notes, "; ")
}

// workerNotes returns the remarks on a worker.
func workerNotes(w report.Worker) string {
	var notes []string
	if w.Worktree != "" {
		notes = append(notes, "in "+w.Worktree)
	}
	if w.Branch != "" {
		notes = append(notes, "branch "+w.Branch)
	}
	if w.Why != "" {
		notes = append(notes, w.Why)
	}
	return strings.Join(notes, "; ")
}

const (
	timelineWidth = 48 // characters
	timelineTasks = 40 // the most recent ones
)

// reportTimeline draws a line for each task with the times of its attempts.
func reportTimeline(a *cli.App, doc *report.Report) {
	if len(doc.Attempts) == 0 {
		return
	}
	marks := map[string]rune{"completed": '=', "failed": 'x', "released": '-', "expired": '?', "open": '>'}
	whole := max(doc.To.Sub(doc.From), time.Millisecond)
	column := func(at time.Time) int {
		return min(max(int(int64(timelineWidth)*int64(at.Sub(doc.From))/int64(whole)), 0), timelineWidth-1)
	}
	lines := map[string][]rune{}
	var order []string
	for _, at := range doc.Attempts {
		line := lines[at.Task]
		if line == nil {
			line = []rune(strings.Repeat(".", timelineWidth))
			lines[at.Task] = line
			order = append(order, at.Task)
		}
		for x := column(at.From); x <= column(at.To); x++ {
			line[x] = marks[at.Ended]
		}
	}
	p := a.Paint()
	a.Printf("\n%s  = completed, x failed, - released, ? expired, > goes on\n", p.Bold("Timeline"))
	if n := len(order) - timelineTasks; n > 0 {
		a.Printf("  %s before these\n", quantity.Count(n, "task"))
		order = order[n:]
	}
	t := a.Table()
	for _, task := range order {
		fmt.Fprintf(t, "  %s\t%s\n", termtext.Safe(task), string(lines[task]))
	}
	t.Flush()
}

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }
