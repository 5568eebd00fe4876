package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// Checks are all checks, in the order they are shown.
func Checks() []Check {
	return []Check{
		{Name: "spec", Doc: "the specs of this host and project are right", Run: checkSpec},
		{Name: "schema", Doc: "the schema that editors read is the one of this aisync", Run: checkSchema},
		{Name: "folders", Doc: "home, state, cache, store and the specs' folders can be written", Run: checkFolders},
		{Name: "tools", Doc: "the programs that the specs need are there", Run: checkTools},
		{Name: "lock", Doc: "aisync.lock can be read", Run: checkLocks},
		{Name: "records", Doc: "records, history and kept files are readable and whole", Run: checkRecords},
		{Name: "leftovers", Doc: "no apply left a file behind half-way", Run: checkLeftovers},
		{Name: "managed-files", Doc: "what aisync made can be read and written", Run: checkManaged},
		{Name: "exchange", Doc: "the file systems can swap two files in one step", Run: checkExchange},
		{Name: "drift", Doc: "what the specs ask for is there, and as it was made", Run: checkDrift},
		{Name: "hooks", Doc: "hooks and MCP servers can be started", Run: checkHooks},
		{Name: "models", Doc: "the models are there, as they were verified, and are what the catalog says", Run: checkModels},
		{Name: "memory", Doc: "what the enabled services serve fits the memory", Run: checkMemory},
		{Name: "clock", Doc: "the clock has not gone back", Run: checkClock},
		{Name: "trust", Doc: "the programs load what was written for them", Run: checkTrust},
		{Name: "runs", Doc: "runs can be believed, and their workers are what is written of them", Run: checkRuns},
		{Name: "contents", Doc: "what can be verified has the bytes that it should have", Deep: true, Limit: -1, Run: checkContents},
	}
}

func checkSpec(_ context.Context, p *Env) []Finding {
	var out []Finding
	if p.specErr != nil {
		for _, err := range advice.Split(p.specErr) {
			out = append(out, fail(cmp.Or(advice.Of(err), "aisync validate"), "%v", err))
		}
	}
	return out
}

// checkSchema compares what init wrote beside the specs with what this binary
// knows. Where nothing was written, editors know less, and nothing is wrong.
func checkSchema(_ context.Context, p *Env) []Finding {
	var out []Finding
	for _, dir := range []string{p.places.Config, p.places.Project} {
		if dir == "" {
			continue
		}
		cueMod := filepath.Join(dir, "cue.mod")
		_, differs, err := schema.Vendored(cueMod)
		if err != nil {
			out = append(out, fail("rm -r "+shellquote.Terminal(filepath.Join(cueMod, "pkg/aisync.dev"))+" && aisync init", "%v", err))
		} else if len(differs) > 0 {
			out = append(out, warn("rm -r "+shellquote.Terminal(filepath.Join(cueMod, "pkg/aisync.dev"))+" && aisync init", "%s holds another schema than this aisync: %s", cueMod, strings.Join(differs, ", ")))
		}
	}
	return out
}

// checkFolders asks whether an entry could be made; it makes none.
func checkFolders(_ context.Context, p *Env) []Finding {
	if p.disk == nil {
		return []Finding{fail("", "%v", p.storeOf)}
	}
	var out []Finding
	for _, f := range []fsys.LogicalPath{p.places.Home, p.places.State, p.places.Cache, p.storeFolder()} {
		if f == "" {
			continue
		}
		if err := p.disk.Writable(f.Join("x")); err != nil {
			out = append(out, fail("make "+p.places.Physical(f)+" a folder that you may write", "%v", err))
		}
	}
	// The specs' folders lie outside of --root, and a read-only one is enough
	// while everything is pinned.
	if plain, err := fsys.New(fsys.Options{}); err == nil {
		for _, dir := range []string{p.places.Config, p.places.Project} {
			if dir == "" {
				continue
			}
			if err := plain.Writable(fsys.LogicalPath(dir).Join(stack.LockName)); err != nil {
				out = append(out, warn("make "+dir+" writable, or keep a complete aisync.lock in it", "%v: nothing more can be pinned there", err))
			}
		}
	}
	return out
}

// storeFolder is the host's model store, "" where the spec names none.
func (p *Env) storeFolder() fsys.LogicalPath {
	if p.spec == nil || p.spec.Host == nil || p.spec.Host.Store.Value == "" {
		return ""
	}
	return reconcile.Address("dir:" + p.spec.Host.Store.Value).Path(p.places.Home)
}

// checkTools compares what the specs name with what is in PATH.
func checkTools(_ context.Context, p *Env) []Finding {
	if p.spec == nil || p.facts == nil {
		return nil // the check of the spec says why
	}
	has := func(program string) bool {
		return p.facts.Programs[program] != "" || slices.Contains(p.facts.Managers, program)
	}
	var out []Finding
	if p.wantsGit() && !(stack.Runner{}).Has("git") { // the one of this machine, whatever --root holds
		out = append(out, fail("install git with your package manager", "git is not in PATH; sources by git:: and hooks of a git work tree need it"))
	}
	if p.spec.Host == nil {
		return out
	}
	missing := map[string][]string{}
	for _, r := range p.spec.Host.Runtimes {
		if r.Install != nil && !has(r.Install.Via) {
			missing[r.Install.Via] = append(missing[r.Install.Via], r.ID)
		}
	}
	for via, ids := range missing {
		out = append(out, fail("install "+via+", or take install out of the spec", "%s is not in PATH, and the spec installs %s with it", via, strings.Join(ids, ", ")))
	}
	return out
}

func (p *Env) wantsGit() bool {
	if p.places.Project != "" {
		if _, err := os.Stat(filepath.Join(p.places.Project, ".git")); err == nil {
			return true
		}
	}
	if p.spec.Host != nil && slices.ContainsFunc(p.spec.Host.Bundles, func(b spec.HostBundle) bool { return strings.HasPrefix(b.Source, "git::") }) {
		return true
	}
	return p.spec.Project != nil && slices.ContainsFunc(p.spec.Project.Sources, func(s spec.Source) bool { return strings.HasPrefix(s.URL, "git::") })
}

func checkLocks(_ context.Context, p *Env) []Finding {
	var out []Finding
	for _, dir := range []string{p.places.Config, p.places.Project} {
		if dir == "" {
			continue
		}
		name := filepath.Join(dir, stack.LockName)
		b, err := regular.Read(name, regular.MaxSpec)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			_, err = reconcile.ParseLock(name, b)
		}
		switch {
		case errors.Is(err, reconcile.ErrLockNewer):
			out = append(out, fail("upgrade aisync", "%v", err))
		case err != nil:
			out = append(out, fail(cmp.Or(advice.Of(err), "restore "+name+" from git, or move it away and run aisync lock"), "%v", err))
		}
	}
	return out
}

func checkRecords(_ context.Context, p *Env) []Finding {
	if errors.Is(p.storeOf, fs.ErrPermission) {
		return []Finding{fail("give the folder "+p.places.Physical(p.places.State)+" and what is in it to the person who runs aisync", "%v", p.storeOf)}
	}
	if errors.Is(p.storeOf, state.ErrNewer) {
		return []Finding{fail("upgrade aisync; moving the file away would forget what was there before aisync", "%v", p.storeOf)}
	}
	if p.storeOf != nil {
		return []Finding{fail(cmp.Or(advice.Of(p.storeOf), "move the file away: what aisync made is then taken over again by the next apply"), "%v", p.storeOf)}
	}
	var out []Finding
	if p.store.Unfinished() {
		out = append(out, fail("aisync apply", "an apply did not come to its end; the next one finishes its books"))
	}
	if _, err := p.store.History(); err != nil {
		next := "move the file away; what it describes can no longer be rolled back"
		if errors.Is(err, state.ErrNewer) {
			next = "upgrade aisync"
		}
		out = append(out, fail(next, "%v", err))
	}
	owners, err := p.store.Owners()
	if err != nil {
		out = append(out, fail("move the file away: what aisync made is then taken over again by the next apply", "%v", err))
	}
	for _, owner := range owners {
		for _, rec := range p.store.Records(owner) {
			for _, leaf := range rec.Leaves {
				if kind, _, _ := strings.Cut(string(leaf.Prior), ":"); kind != "sha256" && kind != "link" {
					continue // none, or one that says itself what was there
				}
				if _, err := p.store.Backup(leaf.Prior); err != nil {
					out = append(out, fail("nothing brings it back; aisync adopt "+string(rec.Address)+" accepts that", "%s: what was there before aisync is not kept whole: %v", rec.Address, err))
				}
			}
		}
	}
	return out
}
