package edit

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/mcpserver"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

func addMCPCommand(a *cli.App) *cobra.Command {
	var f EditFlags
	var m serverFlags
	var env, header valueFlags
	var r registryFlags
	cmd := &cobra.Command{
		Use:   "mcp NAME [-- COMMAND ARG...]",
		Short: "add an MCP server to the runtimes of a host or a project",
		Long: `Adds a server of the Model Context Protocol: a command after --, --url for a
remote server, or one of a registry by its name there. Keep secrets out of the spec: --env-from NAME=VARIABLE reads the
value from the environment when it is needed, --env-file NAME=PATH from a file,
and ${VARIABLE} within a value stands for a variable, such as
--header 'Authorization=Bearer ${TOKEN}'. Every program gets the server in its own
form; aisync plan names what one has no place for. A value that is a secret is
not written: the spec names a variable instead.

A name with a slash, such as io.github.acme/notes or io.github.acme/notes@1.0.0,
is looked up in the MCP registry. The first package that npx, uvx, docker or dnx
can start counts, else the first remote server; --package chooses another. Its
exact version goes into the spec. --arg gives the arguments that the server asks
for: aisync show mcp NAME lists them. In a host's spec aisync installs a package of
npm at that version; elsewhere npx, uvx, docker or dnx fetches it at the first start.
What the registry said is kept for the time without a network.`,
		Example:     "  $ aisync add mcp notes -- python3 tools/notes_mcp.py\n  $ aisync add mcp tracker --env-from TRACKER_TOKEN -- npx -y tracker-mcp\n  $ aisync add mcp docs --url https://example.org/mcp --header-from Authorization=DOCS_AUTH\n  $ aisync add mcp io.github.acme/notes --arg dir=./notes --env-from NOTES_TOKEN\n  $ aisync add mcp slow --start-timeout 60 --deny-tool delete --runtime codex -- uvx slow-mcp",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			command := ""
			var rest []string
			if len(args) > 1 {
				command, rest = args[1], args[2:]
			}
			server, err := m.server(command, rest)
			if err != nil {
				return err
			}
			if err := refuseSecrets(args[0], rest, server.URL); err != nil {
				return err
			}
			if server.Env, err = env.list("env", a); err != nil {
				return err
			}
			if server.Headers, err = header.list("header", a); err != nil {
				return err
			}
			if mcpserver.IsSource(args[0]) {
				return r.add(cmd.Context(), a, args[0], server, f)
			}
			if err := r.none(cmd); err != nil {
				return err
			}
			return changeSpec(cmd.Context(), a, KindOf("mcp"), f, func(e *Editing) error {
				given := command != "" || server.URL != ""
				if !given && len(e.Files.Find("mcp", args[0])) == 0 {
					return cli.Usagef("add mcp: missing the command or the address: aisync add mcp %s -- COMMAND, or --url URL", shellquote.Terminal(args[0]))
				}
				if given {
					e.server = effects.Server{Name: args[0], URL: server.URL, Words: slices.Concat(env.words(), header.words(), m.words())}
					if command != "" {
						e.server.Command = append([]string{command}, rest...)
					}
				}
				return e.Put("mcp "+args[0], given, ServerText(server), "mcp", args[0])
			})
		},
	}
	f.register(cmd)
	m.register(cmd)
	env.register(cmd, "env", "its environment")
	header.register(cmd, "header", "the headers of a remote server")
	r.register(cmd)
	registerAll(cmd, a)
	return cmd
}

// valueFlags holds named values: as typed, from variables and from files.
type valueFlags struct{ plain, from, file []string }

func (v *valueFlags) register(cmd *cobra.Command, name, what string) {
	cmd.Flags().StringArrayVar(&v.plain, name, nil, "`NAME=VALUE` of "+what+"; may be repeated")
	cmd.Flags().StringArrayVar(&v.from, name+"-from", nil, "`NAME=VARIABLE` of "+what+": read from the environment when it is needed; may be repeated")
	cmd.Flags().StringArrayVar(&v.file, name+"-file", nil, "`NAME=PATH` of "+what+": read from a file when it is needed; may be repeated")
}

// words returns the names, values and variables that were typed.
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

// list returns the values in the form of a spec.
func (v *valueFlags) list(flag string, a *cli.App) ([]spec.EnvVar, error) {
	if err := v.keepOut(flag, a); err != nil {
		return nil, err
	}
	var out []spec.EnvVar
	for _, s := range v.plain {
		name, value, err := assignment(flag, s)
		if err != nil {
			return nil, err
		}
		out = append(out, spec.EnvVar{Name: name, Value: value})
	}
	for _, s := range v.from {
		if !strings.Contains(s, "=") {
			s += "=" + s
		}
		name, variable, err := assignment(flag+"-from", s)
		if err != nil {
			return nil, err
		}
		out = append(out, spec.EnvVar{Name: name, Secret: &spec.Secret{Env: variable}})
	}
	for _, s := range v.file {
		name, file, err := assignment(flag+"-file", s)
		if err != nil {
			return nil, err
		}
		out = append(out, spec.EnvVar{Name: name, Secret: &spec.Secret{File: file}})
	}
	for i, v := range out {
		if slices.ContainsFunc(out[:i], func(o spec.EnvVar) bool { return o.Name == v.Name }) {
			return nil, cli.Usagef("--%s: %s is given twice", flag, termtext.Safe(v.Name))
		}
	}
	return out, nil
}
