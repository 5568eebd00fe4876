package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/docs"
)

// groups are the groups of commands in the help of the program, with the names of
// their commands. What stands in none is in the help of agents.
var groups = []struct{ title, names string }{
	{"Reconcile", "plan apply drift status doctor rollback adopt destroy converge"},
	{"Spec", "init import add remove validate lint lock outdated update context runtimes bundles"},
	{"Local models", "models services"},
	{"Agents at work", "launch agents task run mcp"},
	{"Housekeeping", "report fleet prune state show facts completion version"},
}

// agentsWork are the commands of aisync agents. Each also has its name alone.
var agentsWork = []string{"who", "roster", "detect", "session", "message", "ledger", "launch", "acp", "hook", "mcp"}

// agentsCommand is the command agents. SplitCommand leaves its name out before one of
// its commands, so that each is there once.
func agentsCommand(*cli.App) *cobra.Command {
	return &cobra.Command{
		Use:         "agents COMMAND",
		Short:       "what agents call while they work side by side in a project",
		Annotations: map[string]string{"effect": "writes"},
		Example:     "  $ aisync agents who\n  $ aisync agents ledger claim src/a.go",
		Args:        cobra.ArbitraryArgs,
		ValidArgs:   agentsWork,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
}

// describeAgents writes the list of agentsWork into the help of agents.
func describeAgents(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "agents" {
			c.Long = "Agents call these while they work; aisync agents COMMAND and aisync COMMAND are the same.\n\n" + list(root, agentsWork)
		}
	}
}

// list is a line for each named command of root.
func list(root *cobra.Command, names []string) string {
	var b strings.Builder
	for _, name := range names {
		i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
		fmt.Fprintf(&b, "  %-10s  %s\n", name, root.Commands()[i].Short)
	}
	return strings.TrimRight(b.String(), "\n")
}

// printHelp prints the help of the program, which fits a screen.
func printHelp(root *cobra.Command) {
	out := root.OutOrStdout()
	fmt.Fprintf(out, "%s\n\nUsage: aisync COMMAND [flags]\n\n", root.Long)
	for _, g := range groups {
		fmt.Fprintf(out, "%s\n%s\n", g.title, list(root, strings.Fields(g.names)))
	}
	fmt.Fprintf(out, "\nMore: aisync COMMAND --help; aisync help %s\n", strings.Join(docs.TopicNames(), "|"))
}
