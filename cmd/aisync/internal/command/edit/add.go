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
	cmd := cli.GroupCommand("add", "put a runtime, bundle, model, service or MCP server into a spec", `Writes one thing into the spec of the project or the host, where its likes stand,
and leaves every other byte as it is: comments, order, line breaks. The spec that
would come of it is checked before anything is written. What is there already
stays; what is there and says something else is an error.`,
		"  $ aisync add runtime codex\n  $ aisync add bundle rulesets//python --source ../rulesets\n  $ aisync add mcp notes -- python3 tools/notes_mcp.py\n  $ aisync add model qwen3-8b --quant auto --dry-run")
	for _, sub := range []func(*cli.App) *cobra.Command{addRuntimeCommand, addBundleCommand, addModelCommand, addServiceCommand, addMCPCommand} {
		cmd.AddCommand(sub(a))
	}
	return cmd
}

func addRuntimeCommand(a *cli.App) *cobra.Command {
	var f EditFlags
	var via, version, program string
	cmd := &cobra.Command{
		Use:   "runtime ID...",
		Short: "let a host or a project have an agent program",
		Long: `Adds runtimes by their ids (aisync runtimes ls). A project lists them; a host may
also say how the program gets onto the machine.`,
		Example:     "  $ aisync add runtime codex gemini\n  $ aisync add runtime codex --scope host --via npm --version 0.169.0",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if version != "" && via == "" {
				return cli.Usagef("--version needs --via: the installer that has it")
			}
			given := via != "" || program != ""
			if given && len(args) > 1 {
				return cli.Usagef("--via and --cli are about one runtime; name one")
			}
			return changeSpec(cmd.Context(), a, KindOf("runtime"), f, func(e *Editing) error {
				if given && e.Scope == stack.ScopeProject {
					return cli.Usagef("--via and --cli are about a machine, and a project's spec says nothing of one; add --scope host")
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
				return nil
			})
		},
		ValidArgsFunction: completeCatalog(a, func(e *Editing) []string { return catalog.RuntimeIDs(e.index.Runtimes()) }, "runtime"),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&via, "via", "", "install it by `INSTALLER` where it is missing: npm, pacman, …")
	cmd.Flags().StringVar(&version, "version", "", "install `VERSION` (default: what aisync.lock pins)")
	cmd.Flags().StringVar(&program, "cli", "", "the `RUNTIME` that drives a generic one")
	return cmd
}

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

func addModelCommand(a *cli.App) *cobra.Command {
	var f EditFlags
	var quant, fit string
	var context int
	cmd := &cobra.Command{
		Use:   "model ID",
		Short: "let the host have a model",
		Long: `Adds a model of the catalog, or of your own entries, to the host's spec. Without
--quant it is "auto" where the model has more than one quantization: the best that
fits this machine, decided once and pinned.`,
		Example:     "  $ aisync add model qwen3-coder-30b --context 32768",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeSpec(cmd.Context(), a, KindOf("model"), f, func(e *Editing) error {
				m, ok := e.index.Model(args[0])
				if !ok {
					return nearest.Unknown("model", args[0], catalog.ModelIDs(e.index.Models()))
				}
				var quants []string
				for _, q := range m.Quants {
					quants = append(quants, q.Name)
				}
				if quant != "" && quant != "auto" && !slices.Contains(quants, quant) {
					return nearest.Unknown("quantization", quant, append(quants, "auto"))
				}
				q := quant
				if q == "" && len(quants) > 1 {
					q = "auto"
				}
				value := edit.Struct(edit.Text("quant", q), edit.Number("context", context), edit.Text("fit", fit))
				return e.Put("model "+m.ID, quant != "" || context != 0 || fit != "", value, "models", m.ID)
			})
		},
		ValidArgsFunction: completeCatalog(a, func(e *Editing) []string { return catalog.ModelIDs(e.index.Models()) }, "model"),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&quant, "quant", "", "`NAME` of a quantization, or auto")
	cmd.Flags().IntVar(&context, "context", 0, "plan its memory for `TOKENS`")
	cmd.Flags().StringVar(&fit, "fit", "", "`ignore`: no warning if it does not fit")
	return cmd
}

// completeCatalog completes to what the catalog has of a kind.
func completeCatalog(a *cli.App, names func(*Editing) []string, name string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		e := &Editing{App: a}
		if e.Open(context.WithoutCancel(cmd.Context()), KindOf(name)) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.DeleteFunc(names(e), func(id string) bool { return slices.Contains(args, id) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// assignment takes NAME=VALUE apart.
func assignment(flag, s string) (name, value string, err error) {
	for i, r := range s {
		if r == '=' && i > 0 {
			return s[:i], s[i+1:], nil
		}
	}
	return "", "", cli.Usagef("--%s %q: want NAME=VALUE", flag, termtext.Safe(s))
}
