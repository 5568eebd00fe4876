package main

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/quick"
)

// versionText is what this binary calls itself, in every message and file.
func versionText() string {
	if quick.Version != "" {
		return quick.Version
	}
	if b, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(b.Main.Version, "v") {
		return b.Main.Version
	}
	return "devel"
}

func versionCommand(a *app) *cobra.Command {
	var onlyLinks bool
	cmd := &cobra.Command{
		Use:         "version",
		Short:       "print the version of aisync and what it was built with",
		Long:        "Prints the version of aisync, of the Go that built it, and the platform.\nIt reads nothing: no spec, no catalog, no state.\n\nWith --links it prints the names, a line each, under which a link to the program\nis a command of its own; make install makes them.",
		Example:     "  $ aisync version\n  aisync v0.1.0 go1.26.8 linux/amd64",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names := linksOf(cmd.Root())
			if a.g.json {
				return a.writeJSON(struct {
					FormatVersion string   `json:"format_version"`
					Version       string   `json:"version"`
					Go            string   `json:"go"`
					Platform      string   `json:"platform"`
					Links         []string `json:"links"`
				}{viewVersion, versionText(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, orEmpty(names)})
			}
			if onlyLinks {
				for _, name := range names {
					a.printf("%s\n", name)
				}
				return nil
			}
			_, err := a.call().PrintVersion()
			return err
		},
	}
	cmd.Flags().BoolVar(&onlyLinks, "links", false, "only the names of links to the program that are commands")
	return cmd
}
