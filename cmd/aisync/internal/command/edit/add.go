package edit

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/edit"
)

// AddCommand builds the command add.
func AddCommand(a *cli.App) *cobra.Command {
	cmd := cli.GroupCommand("add", "add a runtime, bundle, skill, model, server … to a spec", `Writes an entry into the spec of the project or the host, beside entries of its
kind, and keeps every other byte: comments, order, line breaks. It checks the
resulting spec before it writes. An entry that exists stays; one that exists
with other values is an error.`,
		"  $ aisync add runtime codex\n  $ aisync add bundle rulesets//python --source ../rulesets\n  $ aisync add skill anthropics/skills pdf docx\n  $ aisync add mcp notes -- python3 tools/notes_mcp.py\n  $ aisync add model qwen3-8b --quant auto --dry-run")
	for _, sub := range []func(*cli.App) *cobra.Command{addRuntimeCommand, addBundleCommand, addSkillCommand, addPluginCommand, addModelCommand, addServiceCommand, addMCPCommand} {
		cmd.AddCommand(sub(a))
	}
	return cmd
}

func addRuntimeCommand(a *cli.App) *cobra.Command {
	var f EditFlags
	var via, version, program string
	var move bool
	cmd := &cobra.Command{
		Use:   "runtime ID...",
		Short: "add an agent program to a host or a project",
		Long: `Adds runtimes by their ids (aisync runtimes ls). A host's entry may also say how
to install the program. Where a project keeps its notes in a file that an added
program does not read, such as CLAUDE.md, it offers to move them to AGENTS.md and
to leave a link.`,
		Example:     "  $ aisync add runtime codex gemini\n  $ aisync add runtime codex --scope host --via npm --version 0.169.0\n  $ aisync add runtime codex --move-notes",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if version != "" && via == "" {
				return cli.Usagef("--version needs --via INSTALLER")
			}
			given := via != "" || program != ""
			if given && len(args) > 1 {
				return cli.Usagef("--via and --cli apply to one runtime; name one")
			}
			return changeSpec(cmd.Context(), a, KindOf("runtime"), f, func(e *Editing) error {
				if given && e.Scope == stack.ScopeProject {
					return cli.Usagef("--via and --cli belong in a host's spec; add --scope host")
				}
				install := edit.Field{}
				if via != "" {
					install = edit.Field{Name: "install", Value: edit.Struct(edit.Text("via", via), edit.Text("version", version))}
				}
				for _, id := range args {
					if err := e.AddRuntime(id, given, edit.Struct(install, edit.Text("cli", program))); err != nil {
						return err
					}
				}
				m, err := e.notesMove(args, move)
				e.move = m
				return err
			})
		},
		ValidArgsFunction: completeCatalog(a, func(e *Editing) []string { return catalog.RuntimeIDs(e.index.Runtimes()) }, "runtime"),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&via, "via", "", "install a missing program with `INSTALLER`: npm, pacman, …")
	cmd.Flags().StringVar(&version, "version", "", "install `VERSION` (default: the version that aisync.lock pins)")
	cmd.Flags().BoolVar(&move, "move-notes", false, "move the project's notes to AGENTS.md, and leave a link")
	cmd.Flags().StringVar(&program, "cli", "", "drive a generic runtime with the program of `RUNTIME`")
	registerAll(cmd, a)
	return cmd
}

// AddRuntime adds the runtime id, for a host with value; see Put for given.
func (e *Editing) AddRuntime(id string, given bool, value string) error {
	if _, ok := e.index.Runtime(id); !ok {
		return nearest.Unknown("runtime", id, catalog.RuntimeIDs(e.index.Runtimes()))
	}
	if e.Scope == stack.ScopeHost {
		return e.Put("runtime "+id, given, value, "runtimes", id)
	}
	for _, r := range e.spec.Project.Runtimes {
		if r.Value == id {
			e.there("runtime "+id, r.Pos)
			return nil
		}
	}
	return e.Files.Append(edit.String(id), "runtimes")
}

// completeCatalog completes the names of a kind in the catalog.
func completeCatalog(a *cli.App, names func(*Editing) []string, name string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		e := &Editing{App: a}
		if e.Open(context.WithoutCancel(cmd.Context()), KindOf(name)) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.DeleteFunc(names(e), func(id string) bool { return slices.Contains(args, id) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// assignment splits NAME=VALUE.
func assignment(flag, s string) (name, value string, err error) {
	for i, r := range s {
		if r == '=' && i > 0 {
			return s[:i], s[i+1:], nil
		}
	}
	return "", "", cli.Usagef("--%s %q: want NAME=VALUE", flag, termtext.Safe(s))
}
