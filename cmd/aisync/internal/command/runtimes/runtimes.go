// Package runtimes provides the command runtimes and its subcommands.
package runtimes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/catalog/variant"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// Command builds the command runtimes.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runtimes",
		Short: "list and describe the agent programs that aisync knows",
		Long: `A runtime is an agent program that a catalog describes: aisync's own, catalog:
runtimes of a host's spec, or runtimes/*.toml of a bundle source in a spec.
These commands read local specs and sources, and exit 0 whatever they report.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(runtimesLsCommand(a), runtimesShowCommand(a), runtimesMatrixCommand(a))
	return cmd
}

// lineup is the runtimes known in the working folder, with the spec and the facts.
type lineup struct {
	spec  *spec.Spec
	index catalog.Index
	facts facts.Facts
}

func listRuntimes(ctx context.Context, a *cli.App) (*lineup, error) {
	m, err := a.Target(stack.ScopeAll)
	if err != nil {
		return nil, err
	}
	o := schema.Options{NoHost: func(schema.Problem) {}}
	s, err := m.LoadSpec(ctx, o)
	if err != nil {
		return nil, err
	}
	f, err := m.WithPrograms(m.Facts, s.Catalog.Runtimes)()
	return &lineup{s, catalog.With(s.Catalog), f}, err
}

// runtimeIDs completes the known runtimes.
func runtimeIDs(a *cli.App, cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	a.Flags.Quiet = true
	k, err := listRuntimes(cmd.Context(), a)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return catalog.RuntimeIDs(k.index.Runtimes()), cobra.ShellCompDirectiveNoFileComp
}

// wanted returns which specs have the runtime id: "host", "project", both or none.
func (k *lineup) wanted(id string) []string {
	out := []string{}
	if h := k.spec.Host; h != nil && slices.ContainsFunc(h.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == id }) {
		out = append(out, "host")
	}
	if p := k.spec.Project; p != nil && slices.ContainsFunc(p.Runtimes, func(n spec.Named) bool { return n.Value == id }) {
		out = append(out, "project")
	}
	return out
}

// from returns the origin of an entry: "catalog", "spec" or "source NAME".
func (k *lineup) from(r spec.Runtime) string {
	switch {
	case r.Source != "":
		return "source " + r.Source
	case r.Pos != (spec.Position{}):
		return "spec"
	}
	return "catalog"
}

// runtimesDoc is runtimes ls --json; see docs/json.md.
type runtimesDoc struct {
	FormatVersion string       `json:"format_version"`
	Runtimes      []runtimeDoc `json:"runtimes"`
}

type runtimeDoc struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Command string   `json:"command,omitempty"`
	Program string   `json:"program,omitempty"` // its path
	Version string   `json:"version,omitempty"` // as its files tell it
	Wanted  []string `json:"wanted"`
	From    string   `json:"from"`
	Hooks   string   `json:"hooks"`
	MCP     bool     `json:"mcp"`
}

func (k *lineup) doc(r spec.Runtime) runtimeDoc {
	version := ""
	if at := k.facts.Programs[r.Command]; at != "" {
		version = hosts.ProgramVersion(at)
	}
	return runtimeDoc{
		ID: r.ID, Version: version, Name: cmp.Or(r.DisplayName, r.ID), Command: r.Command, Program: k.facts.Programs[r.Command],
		Wanted: k.wanted(r.ID), From: k.from(r), Hooks: r.Hooks, MCP: variant.At(r, version).MCPSupport,
	}
}

func runtimesLsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "list the runtimes, their programs, and the specs that want them",
		Long: `Lists all runtimes that a spec may name here: the path of an installed program,
whether host or project want it, and the catalog that describes it.`,
		Example:     "  $ aisync runtimes ls",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := listRuntimes(cmd.Context(), a)
			if err != nil {
				return err
			}
			doc := runtimesDoc{FormatVersion: cli.ViewVersion, Runtimes: []runtimeDoc{}}
			for _, r := range k.index.Runtimes() {
				doc.Runtimes = append(doc.Runtimes, k.doc(r))
			}
			if a.Flags.JSON {
				return a.WriteJSON(doc)
			}
			t := a.Table()
			fmt.Fprintln(t, "RUNTIME\tNAME\tWANTED BY\tFROM\tPROGRAM")
			for _, r := range doc.Runtimes {
				program := termtext.Safe(cmp.Or(r.Program, "-"))
				if r.Program == "" && r.Command != "" {
					program = termtext.Safe(r.Command) + " is not installed"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", termtext.Safe(r.ID), termtext.Safe(r.Name), cmp.Or(strings.Join(r.Wanted, ", "), "-"), termtext.Safe(r.From), program)
			}
			return t.Flush()
		},
	}
}
