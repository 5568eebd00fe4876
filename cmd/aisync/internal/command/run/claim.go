package run

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/identity"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

func runClaimCommand(a *cli.App) *cobra.Command {
	var worker string
	var lease time.Duration
	var expire bool
	cmd := &cobra.Command{
		Use:   "claim TASK --worker WORKER",
		Short: "take a task of a run, and get the token that everything about it needs",
		Long: `Gives a task that nobody holds to a registered worker, for a lease, and prints its
token. Whoever reports about the task gives that token (AISYNC_CLAIM, or --token); one
that is not the current one is refused, so that no task is done by two. A heartbeat
renews the lease: aisync run renew.

--expire frees the tasks whose leases are over, as a supervisor does, and prints them.
Their workers are not ended: they find their tokens refused.`,
		Example:           "  $ aisync run worker register me\n  $ aisync run claim parser --worker me\n  $ aisync run claim --expire",
		Annotations:       map[string]string{"effect": "writes"},
		Args:              cli.MaxArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	id := runFlag(cmd)
	cmd.Flags().StringVar(&worker, "worker", "", "the `WORKER` that takes it; else AISYNC_WORKER, else AI_AGENT_ID")
	cmd.Flags().DurationVar(&lease, "lease", 0, "for how long, such as `15m`; else the run's own")
	cmd.Flags().BoolVar(&expire, "expire", false, "free the tasks whose leases are over")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		worker := cmp.Or(worker, a.Env.Get(supervise.VarWorker), a.Env.Get(identity.VarID))
		switch {
		case expire && len(args) > 0:
			return cli.Usagef("--expire takes no task: it frees all whose leases are over")
		case expire:
			return onRun(a, *id, func(r *runs.Run) error { return expireClaims(a, r) })
		case len(args) == 0:
			return cli.ExactArgs(1, "a task")(cmd, args)
		case worker == "":
			return &cli.UsageError{Text: "run claim wants --worker: who takes the task", Advice: "aisync run worker register WORKER"}
		}
		return onRun(a, *id, func(r *runs.Run) error {
			token, err := r.Claim(args[0], worker, lease)
			if err != nil {
				return err
			}
			return runSaid(a, claimDoc{cli.ViewVersion, r.ID, args[0], worker, token}, "%s", token)
		})
	}
	return cmd
}

// claimDoc is what claim, renew and release print with --json.
type claimDoc struct {
	FormatVersion string `json:"format_version"`
	Run           string `json:"run"`
	Task          string `json:"task,omitempty"`
	Worker        string `json:"worker,omitempty"`
	Token         string `json:"token"`
}

func expireClaims(a *cli.App, r *runs.Run) error {
	freed, err := r.Expire()
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.WriteJSON(struct {
			FormatVersion string   `json:"format_version"`
			Run           string   `json:"run"`
			Freed         []string `json:"freed"`
		}{cli.ViewVersion, r.ID, cli.OrEmpty(freed)})
	}
	for _, task := range freed {
		a.Printf("%s\n", task)
	}
	if len(freed) == 0 {
		a.Say("no lease is over")
	}
	return nil
}

func runRenewCommand(a *cli.App) *cobra.Command {
	var lease time.Duration
	cmd := reporting(a, "renew", "renew a claim before its lease is over", `Renews the lease of the claim whose token is given: a heartbeat. It is refused once
the task was freed, and then the work on it has to stop.`,
		func(r *runs.Run, token string) error {
			if err := r.Renew(token, lease); err != nil {
				return err
			}
			return saidClaim(a, r, token, "renewed")
		})
	cmd.Flags().DurationVar(&lease, "lease", 0, "for how long, such as `15m`; else the run's own")
	return cmd
}

func runReleaseCommand(a *cli.App) *cobra.Command {
	var reason string
	cmd := reporting(a, "release", "give a task back undone", `Ends a claim without a result, so that another worker may take the task. It counts
as no failure.`,
		func(r *runs.Run, token string) error {
			if err := r.Release(token, reason); err != nil {
				return err
			}
			return saidClaim(a, r, token, "released")
		})
	cmd.Flags().StringVar(&reason, "reason", "given back", "`WHY`")
	return cmd
}

func saidClaim(a *cli.App, r *runs.Run, token, what string) error {
	return runSaid(a, claimDoc{FormatVersion: cli.ViewVersion, Run: r.ID, Token: token}, "%s", what)
}
