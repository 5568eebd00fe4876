package edit

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/edit"
)

func addMCPCommand(a *cli.App) *cobra.Command {
	var f EditFlags
	var url string
	var env, header valueFlags
	cmd := &cobra.Command{
		Use:   "mcp NAME [-- COMMAND ARG...]",
		Short: "let the runtimes of a host or a project have an MCP server",
		Long: `Adds a server of the Model Context Protocol: a command behind --, or --url for a
remote one. A value that is nobody else's business is not written into the spec:
--env-from NAME=VARIABLE reads it from the environment where it is needed,
--env-file NAME=PATH from a file.`,
		Example:     "  $ aisync add mcp notes -- python3 tools/notes_mcp.py\n  $ aisync add mcp tracker --env-from TRACKER_TOKEN -- npx -y tracker-mcp\n  $ aisync add mcp docs --url https://example.org/mcp --header-from Authorization=DOCS_AUTH",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			command := ""
			var rest []string
			if len(args) > 1 {
				command, rest = args[1], args[2:]
			}
			envText, err := env.text("env", a)
			if err != nil {
				return err
			}
			headers, err := header.text("header", a)
			if err != nil {
				return err
			}
			return changeSpec(cmd.Context(), a, KindOf("mcp"), f, func(e *Editing) error {
				given := command != "" || url != ""
				if !given && len(e.Files.Find("mcp", args[0])) == 0 {
					return cli.Usagef("add mcp: say what it is: aisync add mcp %s -- COMMAND, or --url URL", shellquote.Terminal(args[0]))
				}
				if given {
					e.server = effects.Server{Name: args[0], URL: url, Words: slices.Concat(env.words(), header.words())}
					if command != "" {
						e.server.Command = append([]string{command}, rest...)
					}
				}
				value := edit.Struct(edit.Text("command", command), edit.Texts("args", rest), edit.Text("url", url),
					edit.Field{Name: "env", Value: envText}, edit.Field{Name: "headers", Value: headers})
				return e.Put("mcp "+args[0], given, value, "mcp", args[0])
			})
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&url, "url", "", "`URL` of a remote server")
	env.register(cmd, "env", "its environment")
	header.register(cmd, "header", "the headers of a remote server")
	return cmd
}

// valueFlags are the three ways to give a value its name.
type valueFlags struct{ plain, from, file []string }

func (v *valueFlags) register(cmd *cobra.Command, name, what string) {
	cmd.Flags().StringArrayVar(&v.plain, name, nil, "`NAME=VALUE` of "+what+"; may be repeated")
	cmd.Flags().StringArrayVar(&v.from, name+"-from", nil, "`NAME=VARIABLE` of "+what+": read from the environment where it is needed; may be repeated")
	cmd.Flags().StringArrayVar(&v.file, name+"-file", nil, "`NAME=PATH` of "+what+": read from a file where it is needed; may be repeated")
}

// words are the names and values that were given, and the variables they come from.
func (v *valueFlags) words() []string {
	var out []string
	for _, s := range slices.Concat(v.plain, v.from) {
		name, value, _ := strings.Cut(s, "=")
		out = append(out, name, value)
	}
	for _, s := range v.file {
		name, _, _ := strings.Cut(s, "=")
		out = append(out, name)
	}
	return out
}

// text is the struct of all of them, "" where there is none.
func (v *valueFlags) text(flag string, a *cli.App) (string, error) {
	var fields []edit.Field
	for _, s := range v.plain {
		name, value, err := assignment(flag, s)
		if err != nil {
			return "", err
		}
		if gather.LooksSecret(name) {
			a.Say("aisync: warning: the value of %s will stand in the spec; --%s-from %s=VARIABLE keeps it out", termtext.Safe(name), flag, termtext.Safe(name))
		}
		fields = append(fields, edit.Field{Name: name, Value: edit.String(value)})
	}
	for _, s := range v.from {
		if !strings.Contains(s, "=") {
			s += "=" + s
		}
		name, variable, err := assignment(flag+"-from", s)
		if err != nil {
			return "", err
		}
		fields = append(fields, edit.Field{Name: name, Value: edit.Struct(edit.Text("env", variable))})
	}
	for _, s := range v.file {
		name, file, err := assignment(flag+"-file", s)
		if err != nil {
			return "", err
		}
		fields = append(fields, edit.Field{Name: name, Value: edit.Struct(edit.Text("file", file))})
	}
	if len(fields) == 0 {
		return "", nil
	}
	for i, f := range fields {
		if slices.ContainsFunc(fields[:i], func(o edit.Field) bool { return o.Name == f.Name }) {
			return "", cli.Usagef("--%s: %s is given twice", flag, termtext.Safe(f.Name))
		}
	}
	return edit.Struct(fields...), nil
}
