package cli

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/quick"
)

// ExpandLink makes a link's name the command that it stands for: called as
// agent-roster, the program is aisync roster. Its exit codes and texts are that
// command's. Any other name changes nothing.
func ExpandLink(argv0 string, args []string) []string {
	return append(slices.Clip(quick.Links[argv0]), args...)
}

// LinksOf are the links whose command root has, sorted.
func LinksOf(root *cobra.Command) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(quick.Links)), func(name string) bool { return child(root, quick.Links[name][0]) == nil })
}
