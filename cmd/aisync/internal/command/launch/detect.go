package launch

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/quick"
)

// DetectCommand builds the command detect.
func DetectCommand(a *cli.App) *cobra.Command {
	var compat, role bool
	var field string
	cmd := &cobra.Command{
		Use:   "detect",
		Short: "print which agent program runs this command, and the evidence",
		Long: `Prints the runtime that runs this command, the evidence for it, and its entry in
the catalog: hooks, session id, how an agent gets its first work, when it counts
as stalled. An explicit variable wins (GT_RUNTIME, AI_RUNTIME), then variables
that the runtime sets, then the parent processes, then files. Valid values of
GT_STALL_THRESHOLD, GT_NUDGE_INTERVAL (seconds) and GT_GUPP_STRATEGY override
the catalog. It never fails: an undetected runtime is "unknown" with exit code
0.

--role prints the role of the calling agent instead, from what its hooks know of
it: primary (it leads), agent (it works beside the primary), helper, worker (of a
task). A person, or a script of theirs, has the role none. Exit code 0 for an
agent, 1 for none, 2 if it cannot be told. With --json, seat is the agent's name
in the ledger.`,
		Example:     "  $ aisync detect --field runtime\n  unknown",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if field != "" && !slices.Contains(quick.Fields(), field) {
				return cli.Usagef("--field %q: want one of %s", field, strings.Join(quick.Fields(), ", "))
			}
			if role && (compat || field != "") {
				return cli.Usagef("--role takes neither --compat nor --field: the HAL knows no role of the caller")
			}
			c := a.Call()
			c.Compat, c.Field, c.Role = compat, field, role
			code, err := c.Detect()
			if err == nil && code != 0 {
				return cli.Exit(code)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&compat, "compat", false, "use the order and the table of the runtime HAL")
	cmd.Flags().BoolVar(&role, "role", false, "print the role of the calling agent: primary, agent, helper, worker, none")
	cmd.Flags().StringVar(&field, "field", "", "print only `FIELD`: "+strings.Join(quick.Fields(), ", "))
	return cmd
}
