package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

func runApproveCommand(a *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "approve RUN",
		Short: "approve a run that this machine did not start",
		Long: `Prints what a run executes (commands, agents, variables), asks, and records on
this machine, outside of the repository, that you approved it. run supervise
works only on approved runs. A run that run start recorded here is approved; one
that came with a clone is not.

An approval is of the run's id, goal, settings and tasks in this project. It
lasts while the run is worked on, and ends with any change of those.

Without a terminal the RUN is the answer.`,
		Example:     "  $ aisync run approve r-20261121-074744-3fa9",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the id of a run"),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return onState(a, args[0], func(r *runs.Run, st *runs.State) error {
				return approveRun(cmd.Context(), a, r, st, yes || !a.Terminal())
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// approveRun shows a run and asks, unless yes answers, and records its approval.
func approveRun(ctx context.Context, a *cli.App, r *runs.Run, st *runs.State, yes bool) error {
	if text := presented(r, st); yes {
		a.Say("%s", text)
	} else {
		fmt.Fprintf(a.Err, "%s\n", text) // with --quiet too: it is what is asked about
	}
	if err := a.Confirm(yes, "Approve this run?"); err != nil {
		return err
	}
	if err := recordApproval(ctx, a, "aisync run approve", r, st); err != nil {
		return err
	}
	return printResult(a, struct {
		FormatVersion string `json:"format_version"`
		Run           string `json:"run"`
	}{cli.ViewVersion, r.ID}, "run %s is approved", r.ID)
}

// recordApproval records that the person approved what st executes.
func recordApproval(ctx context.Context, a *cli.App, command string, r *runs.Run, st *runs.State) error {
	digest, err := start.RunDigest(st)
	if err != nil {
		return err
	}
	return a.Approve(ctx, command, r.Workspace(), []string{digest})
}

// unapproved is the error of a run that this machine did not approve.
type unapproved struct{ error }

func (u unapproved) Unwrap() error        { return u.error }
func (u unapproved) Is(target error) bool { return target == reconcile.ErrUndecided }

// checkApproved returns an error if this machine did not approve what st executes.
func checkApproved(a *cli.App, r *runs.Run, st *runs.State) error {
	digest, err := start.RunDigest(st)
	if err != nil {
		return err
	}
	approved, err := a.Approved(r.Workspace())
	if err != nil {
		return fmt.Errorf("read which runs are approved: %w", err)
	}
	if approved(digest) {
		return nil
	}
	return unapproved{advice.New(fmt.Errorf("run %s is not approved on this machine, which did not start it; it would execute %s", r.ID, executes(st)), "read it and approve it: aisync run approve "+shellquote.Terminal(r.ID))}
}

// approvedPlan is plan for what this machine approved: it fails where the tasks of
// the run are others than when the supervisor began.
func approvedPlan(a *cli.App, r *runs.Run, plan func(runs.Task, *runs.State) (supervise.Plan, error)) func(runs.Task, *runs.State) (supervise.Plan, error) {
	return func(t runs.Task, st *runs.State) (supervise.Plan, error) {
		if err := checkApproved(a, r, st); err != nil {
			return supervise.Plan{}, err
		}
		return plan(t, st)
	}
}

// executes names the first tasks of a run with what they start.
func executes(st *runs.State) string {
	const shown = 3
	var parts []string
	for i := range st.Tasks {
		if i == shown {
			parts = append(parts, fmt.Sprintf("and %d more", len(st.Tasks)-shown))
			break
		}
		parts = append(parts, st.Tasks[i].ID+": "+termtext.Clip(started(st, &st.Tasks[i]), 120))
	}
	return strings.Join(parts, "; ")
}

// started is what a worker of t starts.
func started(st *runs.State, t *runs.Task) string {
	adapter := runs.Runtime(cmp.Or(t.Adapter, st.Contract.Adapter))
	switch {
	case len(t.Command) > 0 && (t.Adapter == "" || adapter == start.Command):
		words := make([]string, len(t.Command))
		for i, w := range t.Command {
			words[i] = shellquote.Terminal(w)
		}
		return strings.Join(words, " ")
	case adapter == start.Manual:
		return "nothing, it is done by hand"
	case adapter == "":
		return "the default agent of this machine"
	}
	return "the agent " + adapter
}

// presented is all of a run that a person approves.
func presented(r *runs.Run, st *runs.State) string {
	var b strings.Builder
	row := func(name, text string) {
		text = strings.ReplaceAll(termtext.SafeLines(strings.TrimSpace(text)), "\n", "\n          ")
		fmt.Fprintf(&b, "%-9s %s\n", name, text)
	}
	row("run", r.ID+" ("+r.Path+"), "+st.Contract.Status)
	row("goal", st.Contract.Goal)
	for _, text := range st.Contract.Acceptance {
		row("accepts", text)
	}
	set := st.Settings()
	for i := range st.Tasks {
		t := &st.Tasks[i]
		row("task", t.ID+": "+started(st, t))
		if t.Goal != "" {
			row("", t.Goal)
		}
		for _, name := range slices.Sorted(maps.Keys(t.Env)) {
			row("", "with "+name+"="+t.Env[name])
		}
		if runs.InTree(t.RunTask, set) {
			row("", "in a git work tree below "+set.WorktreeRoot)
		}
	}
	row("limits", fmt.Sprintf("%d workers at once, %d attempts for a task", set.MaxWorkers, set.MaxAttempts))
	return b.String()
}
