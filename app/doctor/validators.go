package doctor

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/netjail"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// validatorLimit is how long one of a program's own checks may take: the
// slowest that was measured, codex without a network, took 6 s on two cores.
const validatorLimit = 45 * time.Second

// runValidators runs a program's own checks, without the network where the kernel
// allows that, and with cleanEnv and the variables of its launches.
func (e *Env) runValidators(ctx context.Context, rt spec.Runtime, program string, variables map[string]string) []Finding {
	var out []Finding
	for _, v := range rt.Validators {
		command := strings.Join(append([]string{rt.Command}, v.Args...), " ")
		dir := e.places.Physical(e.places.Home)
		if v.InProject {
			dir = e.places.Project
		}
		if dir == "" || len(v.Needs) > 0 && !e.projectHasAny(v.Needs) {
			continue // there is nothing to check
		}
		if n := e.undecidedEffects(rt); v.InProject && n > 0 {
			out = append(out, warn("aisync apply", "%s was not run: %s for your yes, and it could start them", command, effects.Waiting(n)))
			continue
		}
		one, cancel := context.WithTimeout(ctx, validatorLimit)
		jail := netjail.Program{Argv: append([]string{program}, v.Args...), Env: append(e.cleanEnv(rt, program, dir), pairs(variables)...), Dir: dir, Must: e.isolationReason()}
		text, _, err := jail.Run(one)
		text = escapeCodes().ReplaceAllString(text, "")
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

// projectHasAny reports whether one of these is in the project.
func (e *Env) projectHasAny(names []string) bool {
	return e.places.Project != "" && slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(e.places.Project, name))
		return err == nil
	})
}

// undecidedEffects counts the effects of the project's files on rt that wait for
// the person's answer. Where no answers can be read it returns at least one.
func (e *Env) undecidedEffects(rt spec.Runtime) int {
	if e.places.Project == "" {
		return 0
	}
	if e.storeErr != nil {
		return 1
	}
	list := effects.Of(effects.Project{Dir: e.places.Project, Carried: effects.Carried(e.machine.Env.List(), e.places.Project), Runtimes: []spec.Runtime{rt}}, reconcile.ReadEnv{}, nil)
	return len(effects.Undecided(list, reconcile.ProjectOwner(e.places.Project), e.store, stack.TrustedSources(e.spec.Host)))
}

// cleanEnv returns the environment in which a program finds its files, and no more:
// the session of an agent that runs doctor is not passed on.
func (e *Env) cleanEnv(rt spec.Runtime, program, dir string) []string {
	env := []string{"TERM=dumb", "NO_COLOR=1", "PWD=" + dir}
	for _, name := range []string{"HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", rt.HomeVar} {
		if v := e.machine.Env.Get(name); name != "" && v != "" {
			env = append(env, name+"="+v)
		}
	}
	path := filepath.Dir(program) + string(os.PathListSeparator) + e.machine.Env.Get("PATH")
	env = append(env, "PATH="+path)
	for name, value := range rt.Launch.Offline {
		env = append(env, name+"="+value)
	}
	return env
}

// pairs returns variables as NAME=VALUE, sorted.
func pairs(variables map[string]string) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		out = append(out, name+"="+variables[name])
	}
	return out
}

// escapeCodes matches the colours that programs print in spite of NO_COLOR.
var escapeCodes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]") })

// badLine returns the first line of text that matches pattern, "" for none.
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

// lastLine returns the last line of text that is not empty.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
