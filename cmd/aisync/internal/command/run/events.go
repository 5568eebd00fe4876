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

// eventFilter selects the events that run events prints.
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
		Short: "check and print the events of a run",
		Long: `Reads the events of a run from the first, verifies the chain of checksums and
that each event was possible, and prints them; with --json one per line. At a
damaged line it stops with the line and the reason, and exits 1. It writes
nothing.`,
		Example:     "  $ aisync run events --last 20\n  $ aisync run events --type task-completed --json",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if f.last < 0 || f.from < 0 {
				return cli.Usagef("--last and --from: want a number, 0 or more")
			}
			return onRun(a, oneRun(args), func(r *runs.Run) error { return printEvents(a, r, f) })
		},
	}
	cmd.Flags().StringSliceVar(&f.types, "type", nil, "print only events of `TYPE`; may be repeated")
	cmd.Flags().StringVar(&f.task, "task", "", "print only events of `TASK`")
	cmd.Flags().StringVar(&f.worker, "worker", "", "print only events of `WORKER`")
	cmd.Flags().Int64Var(&f.from, "from", 0, "print events from `NUMBER` on")
	cmd.Flags().IntVar(&f.last, "last", 0, "print the last `N` events; 0: all")
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
			if kept = append(kept, e); len(kept) > 2*f.last { // keep up to twice as many, to move them less often
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
		Short: "repair the events of a run, and keep a copy of what is cut off",
		Long: `A damaged line of events.jsonl stops a run: aisync reads no line after it and
appends none. recover moves everything from that line on to recovered/, notes
that in .ilchul/migrations/recovery.log, and appends an event about it. It
deletes nothing and ends no worker.

It cuts off an incomplete last line without asking, because its write was never
acknowledged. Cutting off complete lines needs --yes: a task whose completion is
among them is open again and may be done twice. Without --yes it shows what they
contain.`,
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
	cmd.Flags().BoolVar(&yes, "yes", false, "cut off complete lines too")
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "show what it would do, and change nothing")
	return cmd
}

func recoverRun(a *cli.App, r *runs.Run, yes, dry bool) error {
	found, err := r.Damaged()
	if errors.Is(err, runs.ErrSound) {
		return printRecovery(a, runs.Recovery{Run: r.ID, Lost: []string{}}, "sound", "the events of run %s are intact: nothing to recover", r.ID)
	}
	if err != nil {
		return err
	}
	if dry || !found.Torn && !yes {
		if err := printRecovery(a, found, "found", "%s:%d: %s\nwould move %s in %s to %s", termtext.Safe(found.File), found.Line, termtext.Safe(found.Why), quantity.Bytes(found.Bytes), quantity.Count(int(found.Lines), "whole line"), found.Kept); err != nil {
			return err
		}
		sayLost(a, found)
		if dry {
			return nil
		}
		return advice.Command(errors.New("this would cut off complete lines and forget what they record; nothing was changed"), "aisync run recover "+r.ID+" --yes")
	}
	done, err := r.Recover()
	if err != nil {
		return err
	}
	if err := printRecovery(a, done, "recovered", "repaired run %s at line %d; the lines cut off are in %s", r.ID, done.Line, done.Kept); err != nil {
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
		a.Printf("  lost: %s\n", termtext.Safe(text))
	}
}

func printRecovery(a *cli.App, rec runs.Recovery, result, format string, args ...any) error {
	return printResult(a, struct {
		FormatVersion string `json:"format_version"`
		Result        string `json:"result"` // "sound", "found", "recovered"
		runs.Recovery
	}{cli.ViewVersion, result, rec}, format, args...)
}
