package doctor

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/schema/spec"
)

// checkTools reports programs that the specs need and that are not in PATH.
func checkTools(_ context.Context, e *Env) Outcome {
	if e.specErr != nil || e.factsErr != nil {
		return Outcome{} // the check of the spec says why
	}
	has := func(program string) bool {
		return e.facts.Programs[program] != "" || slices.Contains(e.facts.Managers, program)
	}
	var out []Finding
	if e.needsGit() && !(stack.Runner{}).Has("git") { // git runs on this machine, not below --root
		out = append(out, fail("install git with your package manager", "git is not in PATH; sources by git:: and hooks of a git work tree need it"))
	}
	if e.spec.Host == nil {
		return found(out...)
	}
	missing := map[string][]string{}
	for _, r := range e.spec.Host.Runtimes {
		if r.Install != nil && len(r.Install.Ways) < 2 && !has(r.Install.Via) {
			missing[r.Install.Via] = append(missing[r.Install.Via], r.ID)
		}
	}
	for via, ids := range missing {
		out = append(out, fail("install "+via+", or take install out of the spec", "%s is not in PATH, and the spec installs %s with it", via, strings.Join(ids, ", ")))
	}
	return found(out...)
}

// needsGit reports whether the project or a source of the specs needs git.
func (e *Env) needsGit() bool {
	if e.places.Project != "" {
		if _, err := os.Stat(filepath.Join(e.places.Project, ".git")); err == nil {
			return true
		}
	}
	if e.spec.Host != nil && slices.ContainsFunc(e.spec.Host.Bundles, func(b spec.HostBundle) bool { return strings.HasPrefix(b.Source, "git::") }) {
		return true
	}
	return e.spec.Project != nil && slices.ContainsFunc(e.spec.Project.Sources, func(s spec.Source) bool { return strings.HasPrefix(s.URL, "git::") })
}
