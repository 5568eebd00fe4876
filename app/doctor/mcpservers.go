package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/app/doctor/mcptools"
	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/internal/netjail"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/schema/reference"
	"aisync.dev/aisync/schema/spec"
)

// serverLimit is how long a server may take to name its tools where neither the
// spec nor the person says it: npx and uvx fetch the package first.
const serverLimit = time.Minute

// MCPServer is an MCP server of the specs, which is started or asked only after
// a yes.
type MCPServer struct {
	Name string // of its check
	Line string // the command that is run, or the address that is asked

	server  spec.MCPServer
	waiting string // why a yes is not enough; "": it is
}

// MCPServers returns the enabled servers of the specs, the project's first.
func (e *Env) MCPServers() []MCPServer {
	if e.places.Root != "" || e.specErr != nil {
		return nil // what lies below a root is not run
	}
	var out []MCPServer
	add := func(list []spec.MCPServer, waiting string) {
		for _, s := range list {
			if s.Disabled {
				continue
			}
			m := MCPServer{Name: s.Name, Line: s.URL, server: s, waiting: waiting}
			if s.Command != "" {
				m.Line = shellquote.Join(append([]string{s.Command}, s.Args...))
			}
			if slices.ContainsFunc(out, func(o MCPServer) bool { return o.Name == s.Name }) {
				m.Name += "-host"
			}
			out = append(out, m)
		}
	}
	if p := e.spec.Project; p != nil {
		waiting := ""
		if v, plan, err := e.plan(); err != nil {
			waiting = "the check of drift says why"
		} else if _, undecided := v.Effects(plan); len(undecided) > 0 {
			waiting = effects.Waiting(len(undecided)) + " for your yes: aisync apply"
		}
		add(p.MCP, waiting)
	}
	if h := e.spec.Host; h != nil {
		add(packages.Servers(e.places.Home, h.MCP), "")
	}
	return out
}

// StartServers is the person's yes: the checks start and ask the servers of list.
func (e *Env) StartServers(list []MCPServer) { e.start = list }

// mcpChecks returns a check for each server.
func (e *Env) mcpChecks() []Check {
	var out []Check
	for _, m := range e.MCPServers() {
		c := mcpFamily.check(m.Name, termtext.Clip(m.Line, 80))
		c.Limit = -1 // askServer has its own
		c.Run = func(ctx context.Context, e *Env) Outcome { return found(e.askServer(ctx, m)) }
		out = append(out, c)
	}
	return out
}

// askServer asks m for its tools, if that is allowed.
func (e *Env) askServer(ctx context.Context, m MCPServer) Finding {
	s := m.server
	switch allowed := slices.ContainsFunc(e.start, func(o MCPServer) bool { return o.Name == m.Name && o.Line == m.Line }); {
	case m.waiting != "":
		return skip("not started: %s", m.waiting)
	case !allowed:
		return Finding{"skip", "not started: that takes your yes", "aisync doctor --deep --start-servers"}
	case e.offline && s.Install == nil && !(s.URL != "" && endpoint.Loopback(s.URL)):
		return skip("not started: it may need the network, and --offline was asked for")
	case s.SSE:
		return skip("not asked: it speaks the older protocol, sse")
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Start, e.options.Timeout, serverLimit))
	defer cancel()
	ask := e.askLocal
	if s.URL != "" {
		ask = e.askRemote
	}
	tools, err := ask(ctx, s)
	var unset *unsetError
	switch {
	case errors.As(err, &unset):
		return skip("not started: %v", err)
	case errors.Is(err, netjail.ErrNone):
		return skip("not started: --offline was asked for, and this system cannot keep it from the network")
	case errors.Is(err, mcptools.ErrLogin):
		return skip("not asked: %v, which the programs do by themselves", err)
	case err != nil && s.Install != nil && errors.Is(err, fs.ErrNotExist):
		return cmp.Or(e.notInstalled(s), fail("run it yourself: "+m.Line, "%v", err))
	case err != nil:
		return fail("run it yourself: "+m.Line, "%v", err)
	case len(tools) == 0:
		return Finding{"warn", "it names no tool", ""}
	}
	for i := range tools {
		tools[i] = termtext.Safe(tools[i])
	}
	return Finding{"ok", quantity.Count(len(tools), "tool") + ": " + termtext.Clip(strings.Join(tools, ", "), 2000), ""}
}

// askLocal starts s as an agent program does.
func (e *Env) askLocal(ctx context.Context, s spec.MCPServer) ([]string, error) {
	dir := e.serverFolder()
	fill := filler{e: e, dir: dir}
	words := fill.all(append([]string{s.Command}, s.Args...))
	env := append(e.serverEnv(), "PWD="+dir)
	for _, v := range s.Env {
		env = append(env, v.Name+"="+fill.variable(v))
	}
	if s.Cwd != "" {
		if dir = fill.text(s.Cwd); !strings.HasPrefix(dir, "/") {
			dir = e.serverFolder() + "/" + dir
		}
	}
	if fill.err != nil {
		return nil, fill.err
	}
	program := words[0]
	if !strings.Contains(program, "/") {
		if program = e.findInPath(program); program == "" {
			return nil, fmt.Errorf("%s is not in PATH", words[0])
		}
	} else if !strings.HasPrefix(program, "/") {
		program = dir + "/" + program
	}
	return mcptools.Local{Argv: append([]string{program}, words[1:]...), Env: env, Dir: dir, Version: e.machine.Version, Alone: e.offline}.Tools(ctx)
}

// askRemote asks s at its address.
func (e *Env) askRemote(ctx context.Context, s spec.MCPServer) ([]string, error) {
	fill := filler{e: e, dir: e.serverFolder()}
	at, headers := fill.text(s.URL), http.Header{}
	for _, v := range s.Headers {
		headers.Set(v.Name, fill.variable(v))
	}
	if fill.err != nil {
		return nil, fill.err
	}
	return mcptools.Remote{URL: at, Headers: headers, Client: endpoint.Client(e.offline), Version: e.machine.Version}.Tools(ctx)
}

// serverFolder is the folder in which servers start.
func (e *Env) serverFolder() string {
	return cmp.Or(e.places.Project, e.places.Physical(e.places.Home))
}

// serverEnv returns the environment of a server: what the protocol's own clients
// hand on (https://github.com/modelcontextprotocol/typescript-sdk,
// DEFAULT_INHERITED_ENV_VARS), and where its starter fetches packages from.
func (e *Env) serverEnv() []string {
	names := []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"}
	prefixes := []string{"XDG_", "npm_config_", "UV_", "DOCKER_", "NUGET_", "DOTNET_"}
	var out []string
	for _, pair := range e.machine.Env.List() {
		name, _, _ := strings.Cut(pair, "=")
		proxy := slices.Contains([]string{"http_proxy", "https_proxy", "no_proxy", "all_proxy"}, strings.ToLower(name))
		if proxy || slices.Contains(names, name) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			out = append(out, pair)
		}
	}
	return out
}

// unsetError reports a value that is not to be had here.
type unsetError struct{ why string }

func (u *unsetError) Error() string { return u.why }

// filler puts values in place of references. err is the first that is missing.
type filler struct {
	e   *Env
	dir string
	err error
}

func (f *filler) unset(format string, args ...any) string {
	if f.err == nil {
		f.err = &unsetError{fmt.Sprintf(format, args...)}
	}
	return ""
}

func (f *filler) env(name string) string {
	if v := f.e.machine.Env.Get(name); v != "" {
		return v
	}
	return f.unset("the variable %s is not set here", name)
}

func (f *filler) text(s string) string {
	var out strings.Builder
	for _, p := range reference.Split(s) {
		switch {
		case p.Variable == "":
			out.WriteString(p.Text)
		case p.Variable == reference.Workspace:
			out.WriteString(f.dir)
		case p.Default != "" && f.e.machine.Env.Get(p.Variable) == "":
			out.WriteString(p.Default)
		default:
			out.WriteString(f.env(p.Variable))
		}
	}
	return out.String()
}

func (f *filler) all(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = f.text(s)
	}
	return out
}

func (f *filler) variable(v spec.EnvVar) string {
	switch {
	case v.Secret == nil:
		return f.text(v.Value)
	case v.Secret.Env != "":
		return f.env(v.Secret.Env)
	}
	b, err := os.ReadFile(f.e.places.Expand(v.Secret.File))
	if err != nil {
		return f.unset("the secret of %s cannot be read: %v", v.Name, err)
	}
	return strings.TrimRight(string(b), "\r\n")
}
