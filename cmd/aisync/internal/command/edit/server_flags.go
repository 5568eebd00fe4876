package edit

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/schema/spec"
)

// serverFlags are the flags of a server beside its command, its environment and
// its headers.
type serverFlags struct {
	url, kind, cwd      string
	start, call         float64 // seconds
	disabled            bool
	allow, deny         []string
	clientID            string
	scopes, onlyRuntime []string
}

func (f *serverFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.url, "url", "", "`URL` of a remote server")
	fl.StringVar(&f.kind, "type", "", "how it is spoken to: stdio, http, or sse for servers that know only that (default: by command or url)")
	fl.StringVar(&f.cwd, "cwd", "", "`FOLDER` in which a local server starts (default: the project's)")
	fl.Float64Var(&f.call, "timeout", 0, "`SECONDS` that a call of a tool may take")
	fl.Float64Var(&f.start, "start-timeout", 0, "`SECONDS` that its start may take")
	fl.BoolVar(&f.disabled, "disabled", false, "keep it in the spec, and start it nowhere")
	fl.StringArrayVar(&f.allow, "allow-tool", nil, "`TOOL` that may be used, and no other; may be repeated")
	fl.StringArrayVar(&f.deny, "deny-tool", nil, "`TOOL` that must not be used; may be repeated")
	fl.StringVar(&f.clientID, "oauth-client-id", "", "`ID` registered with the OAuth server of a remote server")
	fl.StringArrayVar(&f.scopes, "oauth-scope", nil, "`SCOPE` to ask the OAuth server for; may be repeated")
	fl.StringArrayVar(&f.onlyRuntime, "runtime", nil, "`RUNTIME` that gets it, and no other; may be repeated")
}

// server is the server without its environment and headers.
func (f *serverFlags) server(command string, args []string) (spec.MCPServer, error) {
	if f.kind != "" && !slices.Contains([]string{"stdio", "http", "sse"}, f.kind) {
		return spec.MCPServer{}, cli.Usagef("--type: unknown type %q; want stdio, http or sse", f.kind)
	}
	if local := command != ""; f.kind != "" && local != (f.kind == "stdio") && (local || f.url != "") {
		return spec.MCPServer{}, cli.Usagef("--type: a local server, with a command after --, is stdio; one with --url is http or sse")
	}
	for name, v := range map[string]float64{"timeout": f.call, "start-timeout": f.start} {
		if v < 0 || v > 86400 {
			return spec.MCPServer{}, cli.Usagef("--%s: want a number of seconds up to 86400", name)
		}
	}
	duration := func(seconds float64) time.Duration {
		return time.Duration(seconds*1000+0.5) * time.Millisecond
	}
	return spec.MCPServer{
		Command: command, Args: args, URL: f.url, SSE: f.kind == "sse", Cwd: f.cwd, Start: duration(f.start), Call: duration(f.call),
		Disabled: f.disabled, Allow: f.allow, Deny: f.deny, ClientID: f.clientID, Scopes: f.scopes, Runtimes: f.onlyRuntime,
	}, nil
}

// words returns what was typed.
func (f *serverFlags) words() []string {
	return slices.Concat(f.allow, f.deny, f.scopes, []string{f.cwd, f.clientID, strings.Join(f.scopes, " ")})
}
