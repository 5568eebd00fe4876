package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

func runShowCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show [RUN]",
		Short: "print everything about a run: contract, objective, settings, tasks, workers, claims",
		Long: `Shows the settings and the present state of a run, and checks the files that
other programs keep beside its events against their schemas. With --json it
prints the documents in the run's folder. It writes nothing.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return onState(a, oneRun(args), func(r *runs.Run, s *runs.State) error {
				warnings := []string{}
				for _, err := range slices.Concat(r.Divergence(s), r.CheckFiles(), r.Store().CheckFiles()) {
					warnings = append(warnings, err.Error())
				}
				if a.Flags.JSON {
					return showRunJSON(a, r, s, warnings)
				}
				showRun(a, r, s)
				for _, text := range warnings {
					a.Say("warning: %s", termtext.Safe(text))
				}
				return nil
			})
		},
	}
}

func showRunJSON(a *cli.App, r *runs.Run, s *runs.State, warnings []string) error {
	docs := map[string]json.RawMessage{}
	for _, name := range runs.Projections {
		text, err := s.Document(name)
		if err != nil {
			return err
		}
		docs[name] = text
	}
	return a.WriteJSON(struct {
		FormatVersion string                     `json:"format_version"`
		Run           string                     `json:"run"`
		Path          string                     `json:"path"`
		Documents     map[string]json.RawMessage `json:"documents"`
		Warnings      []string                   `json:"warnings"`
	}{cli.ViewVersion, r.ID, r.Path, docs, warnings})
}

func showRun(a *cli.App, r *runs.Run, s *runs.State) {
	a.Printf("%s  %s  %s\n  %s\n", r.ID, s.Contract.Status, termtext.Safe(s.Contract.Goal), termtext.Safe(r.Path))
	for _, text := range s.Contract.Acceptance {
		a.Printf("  accepted when: %s\n", termtext.Safe(text))
	}
	for _, want := range s.Contract.EvidenceRequired {
		a.Printf("  needs evidence: %s\n", termtext.Safe(want))
	}
	a.Printf("  objective (advises only): %s\n\nChosen:\n", termtext.Safe(s.Objective.Objective))
	w := a.Table()
	for _, reason := range s.Policy.Reasons {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", termtext.Safe(reason.Setting), termtext.Safe(reason.Value), termtext.Safe(reason.From))
	}
	w.Flush()
	a.Printf("\nTasks:\n")
	now := r.Now()
	for i := range s.Tasks {
		t := &s.Tasks[i]
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", t.ID, t.Status, quantity.Count(t.Attempts, "attempt"), termtext.Safe(cmp.Or(t.Title, t.Goal)), termtext.Safe(taskNote(statusOfTask(s, t, now))))
	}
	w.Flush()
	if len(s.Workers) > 0 {
		a.Printf("\nWorkers:\n")
	}
	for _, k := range s.Workers {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", k.ID, k.Retention, termtext.Safe(k.Adapter)+" in "+k.Substrate, termtext.Safe(k.Worktree))
		for _, m := range k.Moves {
			fmt.Fprintf(w, "    %s\t%s → %s\tby the %s\t%s\n", m.At.Stamp(), m.From, m.To, m.By, termtext.Safe(m.Reason))
		}
	}
	w.Flush()
}
