package run

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/identity"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

func runClaimCommand(a *cli.App) *cobra.Command {
	var worker string
	var lease time.Duration
	var expire bool
	cmd := &cobra.Command{
		Use:   "claim TASK --worker WORKER",
		Short: "claim a task of a run for a worker and print the claim's token",
		Long: `Gives an unclaimed task to a registered worker for the time of a lease, and
prints a token. Reports about the task need this token (AISYNC_CLAIM, or
--token). An older token is refused, so two workers never do the same task. A
heartbeat renews the lease: aisync run renew.

--expire frees the tasks whose leases are over, as a supervisor does, and prints
them. It does not end their workers: their tokens are refused.`,
		Example:           "  $ aisync run worker register me\n  $ aisync run claim parser --worker me\n  $ aisync run claim --expire",
		Annotations:       map[string]string{"effect": "writes"},
		Args:              cli.MaxArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	id := runFlag(cmd)
	cmd.Flags().StringVar(&worker, "worker", "", "claim for `WORKER` (default: AISYNC_WORKER, else AI_AGENT_ID)")
	cmd.Flags().DurationVar(&lease, "lease", 0, "hold it for `TIME`, such as 15m (default: the run's lease)")
	cmd.Flags().BoolVar(&expire, "expire", false, "free the tasks whose leases are over")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		worker := cmp.Or(worker, a.Env.Get(supervise.VarWorker), a.Env.Get(identity.VarID))
		switch {
		case expire && len(args) > 0:
			return cli.Usagef("--expire takes no task: it frees all tasks whose leases are over")
		case expire:
			return onRun(a, *id, func(r *runs.Run) error { return expireClaims(a, r) })
		case len(args) == 0:
			return cli.ExactArgs(1, "a task")(cmd, args)
		case worker == "":
			return &cli.UsageError{Text: "run claim: missing --worker", Advice: "aisync run worker register WORKER"}
		}
		return onRun(a, *id, func(r *runs.Run) error {
			token, err := r.Claim(args[0], worker, lease)
			if err != nil {
				return err
			}
			return printResult(a, claimDoc{cli.ViewVersion, r.ID, args[0], worker, token}, "%s", token)
		})
	}
	return cmd
}

// claimDoc is the JSON of run claim, renew and release.
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
		a.Say("no expired leases")
	}
	return nil
}

func runRenewCommand(a *cli.App) *cobra.Command {
	var lease time.Duration
	cmd := reporting(a, "renew", "renew a claim before its lease is over", `Renews the lease of a claim, as a heartbeat. An error means that the task was
freed: stop working on it.`,
		func(r *runs.Run, token string) error {
			if err := r.Renew(token, lease); err != nil {
				return err
			}
			return printClaim(a, r, token, "renewed")
		})
	cmd.Flags().DurationVar(&lease, "lease", 0, "hold it for `TIME`, such as 15m (default: the run's lease)")
	return cmd
}

func runReleaseCommand(a *cli.App) *cobra.Command {
	var reason string
	cmd := reporting(a, "release", "return a task unfinished", `Ends a claim without a result, so that another worker can take the task. It does
not count as a failure.`,
		func(r *runs.Run, token string) error {
			if err := r.Release(token, reason); err != nil {
				return err
			}
			return printClaim(a, r, token, "released")
		})
	cmd.Flags().StringVar(&reason, "reason", "given back", "record the reason `WHY`")
	return cmd
}

func printClaim(a *cli.App, r *runs.Run, token, what string) error {
	return printResult(a, claimDoc{FormatVersion: cli.ViewVersion, Run: r.ID, Token: token}, "%s", what)
}
