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
	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/netjail"
)

// agentLimit is how long a program may take to answer one prompt. What it sends
// before that prompt is long, 10,000 tokens and more, which take a processor
// minutes where nothing helps it.
const agentLimit = 10 * time.Minute

// agentPrompt asks for something that needs no tool.
const agentPrompt = "Reply with the one word: ready. Use no tool."

// AgentChecks send one prompt through each program that talks to a service of
// the host, as a person would with its own command line.
func AgentChecks(p *Env) []Check {
	if p.spec == nil || p.spec.Host == nil || p.places.Root != "" {
		return nil
	}
	known := catalog.With(p.spec.Catalog)
	host := start.Host{Spec: p.spec.Host, Runtimes: known.Runtimes(), Models: known.Models()}
	var out []Check
	for _, l := range host.Launches() {
		program := p.whereIs(l.Driver.Command)
		if program == "" || !l.Service.Enabled || len(l.Driver.Launch.Headless) == 0 {
			continue // runtime-ID and service-NAME say so
		}
		doc := l.Driver.Command + " itself brings an answer from " + l.Service.Name
		out = append(out, Check{Name: "agent-" + l.ID, Doc: doc, Limit: agentLimit + endpointLimit, Prompt: func(ctx context.Context) ([]Finding, time.Duration) {
			begin := time.Now()
			found := p.agent(ctx, l, program)
			return found, time.Since(begin)
		}})
	}
	return out
}

// agent runs one program. It may go nowhere but to its service, and stands in
// an empty folder, which is gone afterwards.
func (p *Env) agent(ctx context.Context, l start.Launch, program string) []Finding {
	v := p.server(l.Service)
	if !endpoint.Loopback(v.endpoint.URL) && p.offline {
		return []Finding{skip("not asked: endpoint-%s says why", l.Service.Name)}
	}
	if _, err := v.names(); err != nil {
		return []Finding{skip("not asked: endpoint-%s says why", l.Service.Name)}
	}
	dir, err := os.MkdirTemp("", "aisync-doctor-")
	if err != nil {
		return []Finding{fail("", "%v", err)}
	}
	defer os.RemoveAll(dir)
	if l.Config != "" {
		l.Point(p.places.Physical(p.places.Home.Join(strings.TrimPrefix(l.Config, "~/"))))
	}
	set := maps.Clone(l.Environment)
	maps.Copy(set, l.Driver.Launch.Environment)
	maps.Copy(set, l.Driver.Launch.Offline)
	env := p.cleanEnv(*l.Driver, program, dir)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	argv := slices.Concat([]string{program}, l.Driver.Launch.Args, l.Args)
	for _, a := range l.Driver.Launch.Headless {
		argv = append(argv, strings.ReplaceAll(a, "{prompt}", agentPrompt))
	}
	ctx, cancel := context.WithTimeout(ctx, agentLimit)
	defer cancel()
	var asked, served atomic.Bool // a request with a body went out; after that, an answer of success came back
	jail := netjail.Program{
		Argv: argv, Env: env, Dir: dir, Must: p.mustJail(), To: addressOf(v.endpoint.URL),
		Sent: func(b []byte) { asked.Store(asked.Load() || bytes.HasPrefix(b, []byte("POST "))) },
		Got: func(b []byte) {
			served.Store(served.Load() || asked.Load() && bytes.HasPrefix(b, []byte("HTTP/1.1 200")))
		},
	}
	text, jailed, err := jail.Run(ctx)
	text = strings.TrimSpace(colours().ReplaceAllString(text, ""))
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
		return []Finding{fail(by, "%s never got an answer from %s; it says: %s", command, v.endpoint.URL, lastLine(text))}
	case text == "":
		return []Finding{fail(by, "%s printed nothing", command)}
	}
	return nil
}

// mustJail is why a program may not run with a network; "" where it may.
func (p *Env) mustJail() string {
	if p.offline {
		return "--offline was asked for"
	}
	return ""
}

// addressOf is the host and port of a URL.
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
