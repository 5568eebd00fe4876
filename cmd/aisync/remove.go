package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/edit"
)

func removeCommand(a *app) *cobra.Command {
	cmd := groupCommand("remove", "take a runtime, bundle, model, service or MCP server out of a spec", `Takes one thing out of the spec of the project or the host, with the comment
above it, and leaves every other byte as it is. The spec that would come of it
is checked before anything is written; what was made from it goes at the next
apply.`, "  $ aisync remove runtime codex\n  $ aisync remove bundle rulesets//python\n  $ aisync remove mcp notes --dry-run")
	for _, k := range kinds {
		cmd.AddCommand(removeOne(a, k))
	}
	return cmd
}

// groupCommand is a command that only has others below it.
func groupCommand(name, short, long, example string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: long, Example: example, SuggestionsMinimumDistance: 2,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
}

func removeOne(a *app, k kind) *cobra.Command {
	var f editFlags
	what := k.name
	if k.name == "mcp" {
		what = "MCP server"
	}
	cmd := &cobra.Command{
		Use:         k.name + " NAME...",
		Short:       "take a " + what + " out of a spec",
		Annotations: map[string]string{"effect": "writes"},
		Args:        minArgs(1, "the name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edit(cmd.Context(), k, f, func(e *editing) error {
				for _, name := range args {
					if err := e.remove(k, name); err != nil {
						return err
					}
				}
				return nil
			})
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			e := &editing{app: a, flags: f}
			if e.open(cmd.Context(), k) != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return e.names(k), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.register(cmd)
	return cmd
}

// names are the things of that kind that the spec has.
func (e *editing) names(k kind) []string {
	var out []string
	for _, l := range k.listed(e.spec, e.scope) {
		out = append(out, l.name)
	}
	return out
}

// remove takes out the one that is called name; of a bundle the part behind //
// will do, if it is the only one.
func (e *editing) remove(k kind, name string) error {
	all := k.listed(e.spec, e.scope)
	is := func(l listed) bool { return l.name == name }
	if !slices.ContainsFunc(all, is) && k.name == "bundle" {
		is = func(l listed) bool { return strings.HasSuffix(l.name, "//"+name) }
	}
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return fmt.Errorf("the %s's spec has no %s %q%s", e.scope, k.name, termtext.Safe(name), nearest.Suggest(name, e.names(k)))
	}
	if j := slices.IndexFunc(all[i+1:], is); j >= 0 && all[i+1+j].name != all[i].name {
		return fmt.Errorf("%q is %s or %s; say which", termtext.Safe(name), all[i].name, all[i+1+j].name)
	}
	l := all[i]
	e.gone = append(e.gone, l)
	if l.in != nil {
		found, err := e.files.RemoveElement(l.name, l.in...)
		if err == nil && !found {
			err = byHand(l)
		}
		return err
	}
	return e.files.Remove(l.path...)
}

// byHand is the error for what is not written in plain sight, as by a
// comprehension.
func byHand(l listed) error {
	path := l.path
	if l.in != nil {
		path = l.in
	}
	return &edit.Handmade{Pos: l.pos, Path: path, Do: "take " + l.name + " out by hand"}
}
