package docs

import (
	"runtime"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// VersionCommand builds the command version.
func VersionCommand(a *cli.App) *cobra.Command {
	var onlyLinks bool
	cmd := &cobra.Command{
		Use:         "version",
		Short:       "print the version of aisync and what it was built with",
		Long:        "Prints the version of aisync, of the Go that built it, and the platform.\nIt reads nothing: no spec, no catalog, no state.\n\nWith --links it prints the names, a line each, under which a link to the program\nis a command of its own; make install makes them.",
		Example:     "  $ aisync version\n  aisync v0.1.0 go1.26.8 linux/amd64",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names := cli.LinksOf(cmd.Root())
			if a.Flags.JSON {
				return a.WriteJSON(struct {
					FormatVersion string   `json:"format_version"`
					Version       string   `json:"version"`
					Go            string   `json:"go"`
					Platform      string   `json:"platform"`
					Links         []string `json:"links"`
				}{cli.ViewVersion, cli.VersionText(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, cli.OrEmpty(names)})
			}
			if onlyLinks {
				for _, name := range names {
					a.Printf("%s\n", name)
				}
				return nil
			}
			_, err := a.Call().PrintVersion()
			return err
		},
	}
	cmd.Flags().BoolVar(&onlyLinks, "links", false, "only the names of links to the program that are commands")
	return cmd
}
