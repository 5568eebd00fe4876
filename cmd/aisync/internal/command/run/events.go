package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// eventFilter is which events run events prints.
type eventFilter struct {
	types        []string
	task, worker string
	from         int64
	last         int
}

func runEventsCommand(a *cli.App) *cobra.Command {
	var f eventFilter
	cmd := &cobra.Command{
		Use:   "events [RUN]",
		Short: "print the events of a run, every line of them checked",
		Long: `Reads the events of a run from the first, checks the chain of their checksums and
that each was possible, and prints them; with --json a line each. Where one cannot be
believed it stops, says in which line and why, and exits 1. It writes nothing.`,
		Example:     "  $ aisync run events --last 20\n  $ aisync run events --type task-completed --json",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if f.last < 0 || f.from < 0 {
				return cli.Usagef("--last and --from want a number that is not negative")
			}
			return onRun(a, oneRun(args), func(r *runs.Run) error { return printEvents(a, r, f) })
		},
	}
	cmd.Flags().StringSliceVar(&f.types, "type", nil, "those of a `TYPE` only; may be given again")
	cmd.Flags().StringVar(&f.task, "task", "", "those of a `TASK` only")
	cmd.Flags().StringVar(&f.worker, "worker", "", "those of a `WORKER` only")
	cmd.Flags().Int64Var(&f.from, "from", 0, "those from `NUMBER` on")
	cmd.Flags().IntVar(&f.last, "last", 0, "the last `N` of them; 0 is all")
	return cmd
}

func (f eventFilter) takes(e runs.Event) bool {
	return e.Seq >= f.from && (len(f.types) == 0 || slices.Contains(f.types, e.Type)) && (f.task == "" || f.task == e.Task) && (f.worker == "" || f.worker == e.Worker)
}

func printEvents(a *cli.App, r *runs.Run, f eventFilter) error {
	var kept []runs.Event
	_, err := r.Replay(func(e runs.Event) error {
		switch {
		case !f.takes(e):
		case f.last == 0:
			return printEvent(a, e)
		default:
			e.Data = bytes.Clone(e.Data)
			if kept = append(kept, e); len(kept) > 2*f.last { // room for as many again before they are moved
				kept = append(kept[:0], kept[len(kept)-f.last:]...)
			}
		}
		return nil
	})
	for _, e := range kept[max(0, len(kept)-f.last):] {
		if err := printEvent(a, e); err != nil {
			return err
		}
	}
	return err
}

// eventRow is one line of run events --json.
type eventRow struct {
	Seq    int64           `json:"seq"`
	At     string          `json:"ts"`
	Type   string          `json:"type"`
	Task   string          `json:"taskId,omitempty"`
	Worker string          `json:"workerId,omitempty"`
	Lease  float64         `json:"leaseSeconds,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

func printEvent(a *cli.App, e runs.Event) error {
	if a.Flags.JSON {
		return a.WriteJSONLine(eventRow{e.Seq, e.At.Stamp(), e.Type, e.Task, e.Worker, e.Lease.Seconds(), e.Data})
	}
	line := fmt.Sprintf("%6d  %s  %-17s  %s", e.Seq, e.At.Stamp(), e.Type, strings.TrimSpace(e.Task+" "+e.Worker))
	if e.Lease != 0 {
		line += "  for " + e.Lease.String()
	}
	if len(e.Data) > 0 {
		line += "  " + termtext.Clip(string(e.Data), 161)
	}
	_, err := fmt.Fprintln(a.Out, termtext.Safe(line))
	return err
}

func runRecoverCommand(a *cli.App) *cobra.Command {
	var yes, dry bool
	cmd := &cobra.Command{
		Use:   "recover [RUN]",
		Short: "make the events of a run sound again, keeping what is cut off",
		Long: `A line of events.jsonl that cannot be believed stops everything: nothing behind it
is read, and nothing appended. recover keeps what stands from that line on beside the
events (recovered/), writes it down in .ilchul/migrations/recovery.log, and puts one
event in its place that says so. It deletes nothing and ends no worker.

The torn end of one write is cut off without a question: nobody was told that it was
written. Whole lines are another matter: a task whose completion stood there is open
again, and may be done twice. Then it shows what they seem to say, and wants --yes.`,
		Example:     "  $ aisync run recover --dry-run\n  $ aisync run recover --yes",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return onRun(a, oneRun(args), func(r *runs.Run) error { return recoverRun(a, r, yes, dry) })
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "cut off whole lines too")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what it would do")
	return cmd
}

func recoverRun(a *cli.App, r *runs.Run, yes, dry bool) error {
	found, err := r.Damaged()
	if errors.Is(err, runs.ErrSound) {
		return saidRecovery(a, runs.Recovery{Run: r.ID, Lost: []string{}}, "sound", "the events of run %s are sound: nothing to recover", r.ID)
	}
	if err != nil {
		return err
	}
	if dry || !found.Torn && !yes {
		if err := saidRecovery(a, found, "found", "%s:%d: %s\nfrom there on %s in %s go to %s", termtext.Safe(found.File), found.Line, termtext.Safe(found.Why), quantity.Bytes(found.Bytes), quantity.Count(int(found.Lines), "whole line"), found.Kept); err != nil {
			return err
		}
		sayLost(a, found)
		if dry {
			return nil
		}
		return advice.Command(errors.New("whole lines would be cut off, and what they say would not have happened; nothing was changed"), "aisync run recover "+r.ID+" --yes")
	}
	done, err := r.Recover()
	if err != nil {
		return err
	}
	if err := saidRecovery(a, done, "recovered", "run %s is sound again from line %d on; what stood there lies in %s", r.ID, done.Line, done.Kept); err != nil {
		return err
	}
	sayLost(a, done)
	return nil
}

func sayLost(a *cli.App, rec runs.Recovery) {
	if a.Flags.JSON {
		return
	}
	for _, text := range rec.Lost {
		a.Printf("  it seems to say: %s\n", termtext.Safe(text))
	}
}

func saidRecovery(a *cli.App, rec runs.Recovery, result, format string, args ...any) error {
	return runSaid(a, struct {
		FormatVersion string `json:"format_version"`
		Result        string `json:"result"` // "sound", "found", "recovered"
		runs.Recovery
	}{cli.ViewVersion, result, rec}, format, args...)
}
