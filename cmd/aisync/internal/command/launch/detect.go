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
	var compat bool
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
0.`,
		Example:     "  $ aisync detect --field runtime\n  unknown",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if field != "" && !slices.Contains(quick.Fields(), field) {
				return cli.Usagef("--field %q: want one of %s", field, strings.Join(quick.Fields(), ", "))
			}
			c := a.Call()
			c.Compat, c.Field = compat, field
			_, err := c.Detect()
			return err
		},
	}
	cmd.Flags().BoolVar(&compat, "compat", false, "use the order and the table of the runtime HAL")
	cmd.Flags().StringVar(&field, "field", "", "print only `FIELD`: "+strings.Join(quick.Fields(), ", "))
	return cmd
}
