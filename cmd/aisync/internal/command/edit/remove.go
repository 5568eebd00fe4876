package edit

import (
	"cmp"
	"context"
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
	cmd := cli.GroupCommand("remove", "remove a runtime, bundle, skill, model, server … from a spec", `Removes an entry, with the comment above it, from the spec of the project or the
host, and keeps every other byte. It checks the resulting spec before it writes.
The next apply removes what was made from the entry.`, "  $ aisync remove runtime codex\n  $ aisync remove bundle rulesets//python\n  $ aisync remove skill pdf\n  $ aisync remove plugin superpowers\n  $ aisync remove mcp notes --dry-run")
	cmd.Aliases = []string{"rm"}
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
		Short:       "remove " + article(what) + " from a spec",
		Long:        removing[k.name],
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeSpec(cmd.Context(), a, k, f, func(e *Editing) error {
				for _, name := range args {
					if err := e.remove(cmd.Context(), k, name); err != nil {
						return err
					}
				}
				return e.afterRemoval(cmd.Context(), k)
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
	registerAll(cmd, a)
	return cmd
}

// removing says more of the kinds that need it.
var removing = map[string]string{
	"skill": `Removes skills from those that the spec takes of a source, as aisync add skill
wrote them: NAME, or SOURCE//NAME where several sources have one. Of a source that it
takes as a whole or by a pattern, it names the other skills. With the last of
them the source goes too, with its bundles and its pin in aisync.lock. It says what
the next apply removes.`,
	"plugin": `Removes a plugin, as aisync add plugin wrote it: its source, the bundles of it, and
its pin in aisync.lock. NAME is its name in the spec, or PLUGIN@MARKETPLACE. It says
what the next apply removes.`,
}

// article puts a or an before what.
func article(what string) string {
	if strings.HasPrefix(what, "MCP") {
		return "an " + what
	}
	return "a " + what
}

// Names returns the names of the spec's entries of kind k.
func (e *Editing) Names(k Kind) []string {
	var out []string
	for _, l := range k.listed(e.spec, e.Scope) {
		out = append(out, l.name)
	}
	return out
}

// notThere begins the error of an entry that the spec of a scope does not have.
const notThere = "the %s's spec has no"

// remove removes the entry called name. For a bundle or a skill, the part after // is
// enough if it is unique.
func (e *Editing) remove(ctx context.Context, k Kind, name string) error {
	all := k.listed(e.spec, e.Scope)
	is := func(l listed) bool { return l.name == name || l.also != "" && l.also == name }
	if !slices.ContainsFunc(all, is) && (k.name == "bundle" || k.name == "skill") {
		is = func(l listed) bool { return strings.HasSuffix(l.name, "//"+name) }
	}
	i := slices.IndexFunc(all, is)
	if i < 0 && k.name == "skill" {
		if done, err := e.narrow(ctx, name); done || err != nil {
			return err
		}
		if err := e.byPattern(name); err != nil {
			return err
		}
	}
	if i < 0 {
		return fmt.Errorf(notThere+" %s %q%s", e.Scope, k.name, termtext.Safe(name), nearest.Suggest(name, e.Names(k)))
	}
	if j := slices.IndexFunc(all[i+1:], is); j >= 0 && all[i+1+j].name != all[i].name {
		return fmt.Errorf("%q may be %s or %s; name one of them", termtext.Safe(name), all[i].name, all[i+1+j].name)
	}
	l := all[i]
	e.gone = append(e.gone, l)
	if l.in != nil {
		found, err := e.Files.RemoveElement(cmp.Or(l.element, l.name), l.in...)
		if err == nil && !found {
			err = byHand(l)
		}
		if here := func(o listed) bool { return slices.Equal(o.in, l.in) }; err == nil && k.name == "bundle" && count(all, here) == count(e.gone, here) {
			err = e.Files.Remove(l.in...) // no empty list stays
		}
		return err
	}
	return e.Files.Remove(l.path...)
}

func count(list []listed, is func(listed) bool) (n int) {
	for _, l := range list {
		if is(l) {
			n++
		}
	}
	return n
}

// byHand returns the error for an entry that a comprehension or the like makes.
func byHand(l listed) error {
	path := l.path
	if l.in != nil {
		path = l.in
	}
	return &edit.Handmade{Pos: l.pos, Path: path, Do: "remove " + l.name + " by hand"}
}
