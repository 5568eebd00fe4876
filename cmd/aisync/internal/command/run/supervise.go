package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/process"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/agents/run/worker"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/termtext"
)

// KeepCommand is the word with which a supervisor calls this program to become
// the keeper of a worker. It is no command of the help.
const KeepCommand = "__keep"

// superviseDoc is run supervise --json; see docs/json.md.
type superviseDoc struct {
	FormatVersion string `json:"format_version"`
	Run           string `json:"run"`
	Status        string `json:"status"`
	Reason        string `json:"reason,omitempty"`
}

func runSuperviseCommand(a *cli.App) *cobra.Command {
	var socket string
	cmd := &cobra.Command{
		Use:   "supervise [RUN]",
		Short: "work a run's task graph until it is done or nothing can proceed",
		Long: `Starts a worker for each task that is ready, as many at once as the run may have,
by the task's adapter: a command, or a runtime such as claude with the task as its
instruction. It waits until each is ready, keeps the claims of those that live,
collects those that end, tries failed tasks again, and stops by itself.

A worker outlives its supervisor. Stop this at any time, or kill it: the same
command goes on from there, and nothing is done twice. Several may work on one
run at once. No supervisor ends a worker or deletes anything: see run cleanup.

A worker finds its task in AISYNC_RUN, AISYNC_TASK, AISYNC_WORKER and
AISYNC_CLAIM, and reports with aisync run worker. What runs in a process is done
when it ends with code 0; an agent in tmux when it says so.

Exits 0 where the run is completed, 3 where it goes on only when a person has
done something, and 1 where it has failed.`,
		Example: `  $ aisync run supervise                # the active run
  $ aisync run supervise r-20261121-074744-3fa9
  $ tmux attach -t aisync-RUN           # look at its agents at work`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSupervisor(cmd.Context(), a, oneRun(args), socket)
		},
	}
	cmd.Flags().StringVar(&socket, "tmux-socket", "", "workers in tmux live in the server with this `NAME` or path, as after tmux -L or -S")
	return cmd
}

func runSupervisor(ctx context.Context, a *cli.App, id, socket string) error {
	r, err := openRun(a, id)
	if err != nil {
		return err
	}
	defer r.Close()
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	plans := workers(ctx, a, r, program)
	s := supervise.Supervisor{
		Run: r, Table: process.System(), Plan: plans.Plan,
		Say: func(text string) { a.Say("%s", termtext.Safe(text)) },
		Starter: worker.Starter{
			Keeper: []string{program, KeepCommand}, Environ: workerEnviron(a, program), Passed: plans.Passed,
			Tmux: worker.Server{Socket: socket, Environ: a.Env.List()}, Session: "aisync-" + strings.ReplaceAll(r.ID, ".", "_"),
		},
	}
	out, err := s.Work(ctx)
	if err != nil {
		return err
	}
	if ctx.Err() != nil && out.Status == runs.RunActive {
		a.Say("its workers go on without a supervisor; to go on: aisync run supervise %s", r.ID)
		return context.Cause(ctx)
	}
	if a.Flags.JSON {
		if err := a.WriteJSON(superviseDoc{cli.ViewVersion, r.ID, out.Status, out.Reason}); err != nil {
			return err
		}
	} else {
		text := "run " + r.ID + " is " + out.Status
		if out.Reason != "" {
			text += ": " + out.Reason
		}
		a.Printf("%s\n", termtext.Safe(text))
	}
	switch out.Status {
	case runs.RunCompleted:
		return nil
	case runs.RunActive:
		return cli.Exit(cli.ExitPartial)
	}
	return cli.Exit(cli.ExitError)
}

// workerEnviron is the environment of workers: they call this program.
func workerEnviron(a *cli.App, program string) []string {
	path := a.Env.Get("PATH")
	if _, err := launch.LookPath("aisync", path); err == nil {
		return a.Env.List()
	}
	with := environ.Env{}
	for name, value := range a.Env {
		with[name] = value
	}
	with["PATH"] = strings.TrimPrefix(path+string(os.PathListSeparator)+filepath.Dir(program), string(os.PathListSeparator))
	return with.List()
}
