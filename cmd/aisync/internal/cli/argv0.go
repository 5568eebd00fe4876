package cli

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/quick"
)

// ExpandLink puts the command that argv0 stands for before args: called as
// agent-roster, the program runs aisync roster. Any other name changes nothing.
func ExpandLink(argv0 string, args []string) []string {
	return append(slices.Clip(quick.Links[argv0]), args...)
}

// LinksOf returns the names of the links to commands of root, sorted.
func LinksOf(root *cobra.Command) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(quick.Links)), func(name string) bool { return child(root, quick.Links[name][0]) == nil })
}
