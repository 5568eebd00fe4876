package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/edit"
)

// RemoveCommand builds the command remove.
func RemoveCommand(a *cli.App) *cobra.Command {
	cmd := cli.GroupCommand("remove", "take a runtime, bundle, model, service or MCP server out of a spec", `Takes one thing out of the spec of the project or the host, with the comment
above it, and leaves every other byte as it is. The spec that would come of it
is checked before anything is written; what was made from it goes at the next
apply.`, "  $ aisync remove runtime codex\n  $ aisync remove bundle rulesets//python\n  $ aisync remove mcp notes --dry-run")
	for _, k := range kinds {
		cmd.AddCommand(removeOne(a, k))
	}
	return cmd
}

func removeOne(a *cli.App, k Kind) *cobra.Command {
	var f EditFlags
	what := k.name
	if k.name == "mcp" {
		what = "MCP server"
	}
	cmd := &cobra.Command{
		Use:         k.name + " NAME...",
		Short:       "take a " + what + " out of a spec",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeSpec(cmd.Context(), a, k, f, func(e *Editing) error {
				for _, name := range args {
					if err := e.remove(k, name); err != nil {
						return err
					}
				}
				return nil
			})
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			e := &Editing{App: a, Flags: f}
			if e.Open(cmd.Context(), k) != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return e.Names(k), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.register(cmd)
	return cmd
}

// Names are the things of that kind that the spec has.
func (e *Editing) Names(k Kind) []string {
	var out []string
	for _, l := range k.listed(e.spec, e.Scope) {
		out = append(out, l.name)
	}
	return out
}

// remove takes out the one that is called name; of a bundle the part behind //
// will do, if it is the only one.
func (e *Editing) remove(k Kind, name string) error {
	all := k.listed(e.spec, e.Scope)
	is := func(l listed) bool { return l.name == name }
	if !slices.ContainsFunc(all, is) && k.name == "bundle" {
		is = func(l listed) bool { return strings.HasSuffix(l.name, "//"+name) }
	}
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return fmt.Errorf("the %s's spec has no %s %q%s", e.Scope, k.name, termtext.Safe(name), nearest.Suggest(name, e.Names(k)))
	}
	if j := slices.IndexFunc(all[i+1:], is); j >= 0 && all[i+1+j].name != all[i].name {
		return fmt.Errorf("%q is %s or %s; say which", termtext.Safe(name), all[i].name, all[i+1+j].name)
	}
	l := all[i]
	e.gone = append(e.gone, l)
	if l.in != nil {
		found, err := e.Files.RemoveElement(l.name, l.in...)
		if err == nil && !found {
			err = byHand(l)
		}
		return err
	}
	return e.Files.Remove(l.path...)
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
