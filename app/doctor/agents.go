package doctor

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/netjail"
)

// agentLimit is how long a program may take to answer one prompt. What it sends
// before that prompt is long, 10,000 tokens and more, which take a processor
// minutes where nothing helps it.
const agentLimit = 10 * time.Minute

// agentPrompt asks for something that needs no tool.
const agentPrompt = "Reply with the one word: ready. Use no tool."

// agentChecks returns a check for each program that talks to a service of the
// host. It sends one prompt through the program, as a person would.
func (e *Env) agentChecks() []Check {
	if e.spec.Host == nil || e.places.Root != "" {
		return nil
	}
	known := catalog.With(e.spec.Catalog)
	host := start.Host{Spec: e.spec.Host, Runtimes: known.Runtimes(), Models: known.Models(), Home: string(e.places.Home), State: string(e.places.State), Values: e.machine.Secret}
	var out []Check
	for _, l := range host.Launches() {
		program := e.findProgram(l.Driver.Command)
		if program == "" || !l.Service.Enabled || len(l.Driver.Launch.Headless) == 0 {
			continue // the checks of the runtime and of the service report it
		}
		c := agentFamily.check(l.ID, l.Driver.Command)
		c.Limit = agentLimit + endpointLimit
		c.Run = func(ctx context.Context, e *Env) Outcome {
			begin := time.Now()
			list := e.askAgent(ctx, l, program)
			return Outcome{Findings: list, Took: time.Since(begin)}
		}
		out = append(out, c)
	}
	return out
}

// askAgent runs one program, which can reach only its service, in an empty folder
// that is removed afterwards.
func (e *Env) askAgent(ctx context.Context, l start.Launch, program string) []Finding {
	srv := e.server(l.Service)
	unanswered := []Finding{skip("not asked: endpoint-%s says why", l.Service.Name)}
	if !e.mayReach(srv) {
		return unanswered
	}
	if _, err := srv.names(); err != nil {
		return unanswered
	}
	dir, err := os.MkdirTemp("", "aisync-doctor-")
	if err != nil {
		return []Finding{fail("", "%v", err)}
	}
	defer os.RemoveAll(dir)
	if l.Config != "" {
		l.Point(e.places.Physical(e.places.Home.Join(strings.TrimPrefix(l.Config, "~/"))))
	}
	set := maps.Clone(l.Environment)
	maps.Copy(set, l.Secrets)
	maps.Copy(set, l.Driver.Launch.Environment)
	maps.Copy(set, l.Driver.Launch.Offline)
	env := append(e.cleanEnv(*l.Driver, program, dir), pairs(set)...)
	argv := slices.Concat([]string{program}, l.Driver.Launch.Args, l.Args)
	for _, a := range l.Driver.Launch.Headless {
		argv = append(argv, strings.ReplaceAll(a, "{prompt}", agentPrompt))
	}
	ctx, cancel := context.WithTimeout(ctx, agentLimit)
	defer cancel()
	var asked, served atomic.Bool // a request with a body went out; after that, an answer of success came back
	jail := netjail.Program{
		Argv: argv, Env: env, Dir: dir, Must: e.isolationReason(), To: addressOf(srv.endpoint.URL),
		Sent: func(b []byte) { asked.Store(asked.Load() || bytes.HasPrefix(b, []byte("POST "))) },
		Got: func(b []byte) {
			served.Store(served.Load() || asked.Load() && bytes.HasPrefix(b, []byte("HTTP/1.1 200")))
		},
	}
	text, jailed, err := jail.Run(ctx)
	text = strings.TrimSpace(escapeCodes().ReplaceAllString(text, ""))
	command := l.Driver.Command + " " + strings.Join(l.Driver.Launch.Headless, " ")
	by := "run it yourself: " + command
	switch {
	case errors.Is(err, netjail.ErrNone):
		return []Finding{warn("", "%s is not run: %v", l.Driver.Command, err)}
	case ctx.Err() != nil:
		return []Finding{fail(by, "%s did not end within %s", command, agentLimit)}
	case err != nil:
		return []Finding{fail(by, "%s: %v: %s", command, err, lastLine(text))}
	case jailed && !served.Load(): // else only its exit code tells
		return []Finding{fail(by, "%s got no answer from %s; it says: %s", command, srv.endpoint.URL, lastLine(text))}
	case text == "":
		return []Finding{fail(by, "%s printed nothing", command)}
	}
	return nil
}

// isolationReason returns why a program must run without a network; "" where it
// need not.
func (e *Env) isolationReason() string {
	if e.offline {
		return "--offline was asked for"
	}
	return ""
}

// addressOf returns the host and port of a URL, "" where it is none.
func addressOf(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[u.Scheme == "https"]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
