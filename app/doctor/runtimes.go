package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/netjail"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// RuntimeChecks are one check for each runtime that the host wants.
func RuntimeChecks(p *Env, deep bool) []Check {
	if p.spec == nil || p.spec.Host == nil {
		return nil // the check of the spec says why
	}
	known := catalog.With(p.spec.Catalog)
	var out []Check
	for _, use := range p.spec.Host.Runtimes {
		rt, ok := known.Runtime(use.ID)
		if use.CLI != "" {
			rt, ok = known.Runtime(use.CLI)
		}
		if !ok || rt.Command == "" {
			continue
		}
		doc := rt.Command + " is there, of the version that was asked for"
		limit := time.Duration(0)
		if deep {
			doc += ", and its own checks find nothing"
			limit = validatorLimit * time.Duration(1+len(rt.Validators))
		}
		out = append(out, Check{Name: "runtime-" + use.ID, Doc: doc, Limit: limit, Run: func(ctx context.Context, p *Env) []Finding {
			return p.runtime(ctx, use, rt, deep)
		}})
	}
	return out
}

// runtime looks at one program.
func (p *Env) runtime(ctx context.Context, use spec.RuntimeUse, rt spec.Runtime, deep bool) []Finding {
	program := p.whereIs(rt.Command)
	if program == "" {
		if use.Install != nil {
			return []Finding{fail("aisync apply", "%s: %s is not installed, and the spec installs it with %s", use.Install.Pos, rt.Command, use.Install.Via)}
		}
		return []Finding{warn("install "+rt.Command+", or take "+use.ID+" out of runtimes", "%s: %s is not in PATH, and the spec does not install it", use.Pos, rt.Command)}
	}
	out := p.version(use, rt)
	if deep && p.places.Root == "" {
		out = append(out, p.validate(ctx, rt, program)...)
	}
	return out
}

// whereIs finds a program in PATH, or where npm installs for aisync; "" where
// it is not there.
func (p *Env) whereIs(command string) string {
	if p.facts != nil && p.facts.Programs[command] != "" {
		return p.facts.Programs[command]
	}
	if p.disk == nil {
		return ""
	}
	for _, dir := range []string{packages.NpmPrefix + "/bin", ".local/bin"} {
		at := p.places.Home.Join(dir, command)
		if _, err := p.disk.Lstat(at); err == nil {
			return p.places.Physical(at)
		}
	}
	return ""
}

// version compares what the package manager has with what the spec or the lock
// says.
func (p *Env) version(use spec.RuntimeUse, rt spec.Runtime) []Finding {
	if use.Install == nil {
		return nil
	}
	name := rt.Packages[use.Install.Via]
	_, plan, err := p.planned()
	if err != nil || name == "" {
		return nil // the checks of spec and trust say why
	}
	a := packages.Address(use.Install.Via, name)
	i := slices.IndexFunc(plan.Changes, func(c reconcile.Change) bool { return c.Target.Resource.Address == a })
	if i < 0 {
		return nil
	}
	c := plan.Changes[i]
	fix := "aisync apply --target " + shellquote.Terminal(string(a))
	switch c.Action {
	case reconcile.None, reconcile.Accept:
		return nil
	case reconcile.Unclear:
		return []Finding{warn("", "the version of %s cannot be told: %s", rt.Command, c.Before.Reason)}
	case reconcile.Create:
		return []Finding{warn(fix, "%s is there, and %s has not installed it, as the spec asks", rt.Command, use.Install.Via)}
	}
	found := strings.TrimPrefix(string(c.Before.Token), "=")
	return []Finding{fail(fix, "%s: %s is version %s, not the one that was asked for", use.Install.Pos, rt.Command, found)}
}

// validatorLimit is how long one of a program's own checks may take: the
// slowest that was measured, codex without a network, took 6 s on two cores.
const validatorLimit = 45 * time.Second

// validate runs a program's own checks, with an environment that holds nothing
// of the caller's but where things are, and without the network where the
// kernel allows that.
func (p *Env) validate(ctx context.Context, rt spec.Runtime, program string) []Finding {
	var out []Finding
	for _, v := range rt.Validators {
		command := strings.Join(append([]string{rt.Command}, v.Args...), " ")
		dir := p.places.Physical(p.places.Home)
		if v.InProject {
			dir = p.places.Project
		}
		if dir == "" || len(v.Needs) > 0 && !p.anyOf(v.Needs) {
			continue // there is nothing to check
		}
		if n := p.waiting(rt); v.InProject && n > 0 {
			out = append(out, warn("aisync apply", "%s is not run: %s for your yes, and it could start them", command, effects.Waiting(n)))
			continue
		}
		one, cancel := context.WithTimeout(ctx, validatorLimit)
		jail := netjail.Program{Argv: append([]string{program}, v.Args...), Env: p.cleanEnv(rt, program, dir), Dir: dir, Must: p.mustJail()}
		text, _, err := jail.Run(one)
		text = colours().ReplaceAllString(text, "")
		late := errors.Is(one.Err(), context.DeadlineExceeded)
		cancel()
		bad := badLine(v.Bad, text)
		switch {
		case errors.Is(err, netjail.ErrNone):
			out = append(out, warn("", "%s is not run: %v", command, err))
		case late:
			out = append(out, fail("run it yourself: "+command, "%s did not end within %s", command, validatorLimit))
		case bad != "":
			out = append(out, fail("run it yourself: "+command, "%s, which shows that %s, says: %s", command, v.Proves, bad))
		case err != nil:
			out = append(out, fail("run it yourself: "+command, "%s, which shows that %s: %v: %s", command, v.Proves, err, lastLine(text)))
		}
	}
	return out
}

// anyOf reports whether one of these is in the project.
func (p *Env) anyOf(names []string) bool {
	return p.places.Project != "" && slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(p.places.Project, name))
		return err == nil
	})
}

// waiting counts the effects that the project, as it lies, has on rt and that
// wait for an answer. Where that cannot be told, all of them do.
func (p *Env) waiting(rt spec.Runtime) int {
	if p.places.Project == "" {
		return 0
	}
	if p.store == nil {
		return 1
	}
	var host *spec.Host
	if p.spec != nil {
		host = p.spec.Host
	}
	list := effects.Of(effects.Project{Dir: p.places.Project, Carried: effects.Carried(p.machine.Env.List(), p.places.Project), Runtimes: []spec.Runtime{rt}}, reconcile.ReadEnv{}, nil)
	return len(effects.Undecided(list, reconcile.ProjectOwner(p.places.Project), p.store, stack.TrustedSources(host)))
}

// cleanEnv is all that a program needs to find its files: an agent that runs
// doctor would else hand its own session on.
func (p *Env) cleanEnv(rt spec.Runtime, program, dir string) []string {
	env := []string{"TERM=dumb", "NO_COLOR=1", "PWD=" + dir}
	for _, name := range []string{"HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", rt.HomeVar} {
		if v := p.machine.Env.Get(name); name != "" && v != "" {
			env = append(env, name+"="+v)
		}
	}
	path := filepath.Dir(program) + string(os.PathListSeparator) + p.machine.Env.Get("PATH")
	env = append(env, "PATH="+path)
	for name, value := range rt.Launch.Offline {
		env = append(env, name+"="+value)
	}
	return env
}

// colours are what programs print for a terminal, whatever NO_COLOR says.
var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]") })

// badLine is the line of text in which pattern is found, "" for none.
func badLine(pattern, text string) string {
	if pattern == "" {
		return ""
	}
	bad := regexp.MustCompile(pattern) // the schema has checked it
	for _, line := range strings.Split(text, "\n") {
		if bad.MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// checkTrust names what lies in the project and is not loaded. Nothing fails
// for that: the program asks when it is next started there.
func checkTrust(ctx context.Context, p *Env) []Finding {
	if why := p.unreadable(ctx); why != nil {
		return why
	}
	if p.spec.Project == nil {
		return nil
	}
	w, plan, err := p.planned()
	if err != nil {
		return []Finding{warn(cmp.Or(advice.Of(err), "aisync plan"), "it cannot be told what should be there: %v", err)}
	}
	var out []Finding
	if _, undecided := w.Effects(plan); len(undecided) > 0 {
		out = append(out, warn("aisync apply", "%s for your yes; aisync plan lists them", effects.Waiting(len(undecided))))
	}
	for _, r := range w.NotTrusted(plan) {
		out = append(out, warn(r.Do, "%s: %s", r.Runtime, stack.TrustText(r)))
	}
	return out
}

// DescribeRuntimeChecks are the lines with which --help stands for the checks
// of each runtime and each service.
func DescribeRuntimeChecks() string {
	var out strings.Builder
	for _, c := range [][2]string{
		{"runtime-ID", "the program of each runtime is there, of the version that was asked for;\n                       with --deep its own checks find nothing"},
		{"service-NAME", "each service runs, from this unit and these models, and comes back"},
		{"port-NAME", "its port is its own, and open to nobody else than the spec says"},
		{"endpoint-NAME", "it names its models"},
		{"prompt-NAME", "a prompt brings tokens; with --deep of each of its models"},
		{"agent-ID", "with --deep: the program of each runtime itself brings an answer from it"},
	} {
		fmt.Fprintf(&out, "  %-20s %s\n", c[0], c[1])
	}
	return out.String()
}
