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
		Short: "which agent program this runs in, how that is known, and what it can do",
		Long: `Tells the runtime that runs this command, with the evidence, and what the catalog
knows of it: hooks, session id, how an agent gets its first work, when it counts
as stalled. An explicit word wins (GT_RUNTIME, AI_RUNTIME), then what the runtime
itself sets, then the processes above, then files. GT_STALL_THRESHOLD,
GT_NUDGE_INTERVAL (seconds) and GT_GUPP_STRATEGY replace what is known, as far
as it is possible. It never fails: what cannot be told is "unknown", exit code 0.`,
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
	cmd.Flags().BoolVar(&compat, "compat", false, "follow the runtime HAL's own cascade and table")
	cmd.Flags().StringVar(&field, "field", "", "print one `FIELD` alone: "+strings.Join(quick.Fields(), ", "))
	return cmd
}
