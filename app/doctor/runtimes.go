package doctor

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// runtimeChecks returns the check of each runtime that the host wants.
func (e *Env) runtimeChecks() []Check {
	if e.spec.Host == nil {
		return nil
	}
	known := catalog.With(e.spec.Catalog)
	host := start.Host{Spec: e.spec.Host, Runtimes: known.Runtimes(), Has: func(program string) bool { return e.findProgram(program) != "" }}
	var out []Check
	for _, use := range e.spec.Host.Runtimes {
		rt := *host.ProgramOf(use)
		if rt.Command == "" {
			continue
		}
		c := runtimeFamily.check(use.ID, rt.Command)
		if e.options.Deep {
			c.Doc += ", and " + runtimeFamily.Deep
			c.Limit = validatorLimit * time.Duration(1+len(rt.Validators))
		}
		c.Run = func(ctx context.Context, e *Env) Outcome { return found(e.checkRuntime(ctx, use, rt)...) }
		out = append(out, c)
	}
	return out
}

// checkRuntime reports what is wrong with the program of a runtime.
func (e *Env) checkRuntime(ctx context.Context, use spec.RuntimeUse, rt spec.Runtime) []Finding {
	program := e.findProgram(rt.Command)
	if program == "" {
		if use.Install != nil {
			return []Finding{fail("aisync apply", "%s: %s is not installed, and the spec installs it with %s", use.Install.Pos, rt.Command, use.Install.Via)}
		}
		return []Finding{warn("install "+rt.Command+", or take "+use.ID+" out of runtimes", "%s: %s is not in PATH, and the spec does not install it", use.Pos, rt.Command)}
	}
	out := append(e.movedFolders(use), e.checkVersion(use, rt)...)
	if words := use.Loosening(&rt); len(words) > 0 {
		out = append(out, warn("take it out of args and env if you do not want that", "%s: every launch of %s has %s: it may do more without asking you", use.Pos, use.ID, strings.Join(words, ", ")))
	}
	plain, secrets, err := start.Variables(&use, e.machine.Secret)
	if err != nil {
		return append(out, fail("", "%s is not launched: %v", use.ID, err))
	}
	if e.options.Deep && e.places.Root == "" {
		maps.Copy(plain, secrets)
		out = append(out, e.runValidators(ctx, rt, program, plain)...)
	}
	return out
}

// movedFolders reports variables by which a program looks elsewhere than aisync
// writes.
func (e *Env) movedFolders(use spec.RuntimeUse) (out []Finding) {
	v, _, err := e.plan()
	if err != nil {
		return nil // the check of drift says why
	}
	for _, f := range v.MovedFolders() {
		if f.Runtime == use.ID {
			out = append(out, fail(f.Fix(), "%s: %s", use.Pos, f.Reason()))
		}
	}
	return out
}

// findProgram returns where command is: in PATH, or where npm installs for aisync;
// "" where it is not installed.
func (e *Env) findProgram(command string) string {
	if e.facts.Programs[command] != "" {
		return e.facts.Programs[command]
	}
	if e.loadErr != nil {
		return ""
	}
	for _, dir := range []string{packages.NpmPrefix + "/bin", ".local/bin"} {
		at := e.places.Home.Join(dir, command)
		if _, err := e.reader.Lstat(at); err == nil {
			return e.places.Physical(at)
		}
	}
	return ""
}

// checkVersion compares the installed version with the one of the spec or the lock.
func (e *Env) checkVersion(use spec.RuntimeUse, rt spec.Runtime) []Finding {
	if use.Install == nil {
		return nil
	}
	name := rt.Packages[use.Install.Via]
	_, plan, err := e.plan()
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
		return []Finding{warn("", "the version of %s is unknown: %s", rt.Command, c.Before.Reason)}
	case reconcile.Create:
		return []Finding{warn(fix, "%s is there, but %s did not install it, as the spec asks", rt.Command, use.Install.Via)}
	}
	found := strings.TrimPrefix(string(c.Before.Token), "=")
	return []Finding{fail(fix, "%s: %s is version %s, not the one that the spec asks for", use.Install.Pos, rt.Command, found)}
}
