package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/app/gather/gathertest"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// imported is a project of a person who never used aisync, on a machine with three
// programs and an empty home.
type imported struct {
	t                  *testing.T
	project, home, bin string
	steps              []string // what did not hold
}

// newImported is a folder for a project, and a home beside it.
func newImported(t *testing.T) *imported {
	t.Helper()
	dir := t.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", "aisync-import"); err == nil {
		dir = shm
		t.Cleanup(func() { os.RemoveAll(shm) })
	}
	i := &imported{t: t, project: filepath.Join(dir, "app"), home: filepath.Join(dir, "home")}
	i.bin = filepath.Join(dir, "bin")
	for _, d := range []string{i.project, i.home, i.bin} {
		must(t, os.Mkdir(d, 0o755))
	}
	for _, id := range []string{"claude", "codex", "opencode"} {
		must(t, os.WriteFile(filepath.Join(i.bin, id), []byte("#!/bin/sh\necho 1.0.0\n"), 0o755))
	}
	return i
}

func (i *imported) environ() []string {
	return []string{
		"HOME=" + i.home, "PATH=" + i.bin + ":" + os.Getenv("PATH"), "LANG=C.UTF-8", "AISYNC_OFFLINE=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost", quickRaceExit,
	}
}

// commit makes a repository of the project, with one commit.
func (i *imported) commit() {
	i.t.Helper()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A", "-f"}, {"commit", "-q", "-m", "as found"}} {
		git := exec.Command("git", args...)
		git.Dir, git.Env = i.project, i.environ()
		if out, err := git.CombinedOutput(); err != nil {
			i.t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
}

// aisync runs the program in this process and returns what it prints.
func (i *imported) aisync(args ...string) (string, int) {
	var out bytes.Buffer
	argv := []string{"aisync", "--project", i.project}
	if args[0] == "import" { // there may be no spec yet
		argv, args = argv[:1], append(args, i.project)
	}
	code := run(append(argv, args...), strings.NewReader(""), &out, &out, i.environ())
	return out.String(), code
}

// wants runs aisync and records the step if its exit code is another one.
func (i *imported) wants(code int, args ...string) string {
	i.t.Helper()
	out, got := i.aisync(args...)
	if got != code {
		i.fails(fmt.Sprintf("%s %d", args[0], got), "aisync %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return out
}

func (i *imported) fails(step, format string, args ...any) {
	i.t.Helper()
	i.steps = append(i.steps, step)
	i.t.Errorf(format, args...)
}

// entries are the files, links and folders of the project, with mode and content;
// git's own folder is left out, its config and hooks are not.
func (i *imported) entries() map[string]string {
	i.t.Helper()
	return entriesOf(i.t, i.project, func(rel string) bool {
		in, ok := strings.CutPrefix(rel, ".git/")
		return ok && in != "config" && !strings.HasPrefix(in, "hooks")
	})
}

// entriesOf returns the entries below root by their path, each with its mode, its
// target or the digest of its bytes, without those that skip and all below them.
func entriesOf(t *testing.T, root string, skip func(rel string) bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, at)
		if skip(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[rel] = info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(at)
			out[rel] += fmt.Sprintf(" %x", sha256.Sum256(b))
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(at)
			out[rel] += " -> " + to
			return err
		}
		return nil
	}))
	return out
}

// loads is what each program of the catalog has in the project, once the person
// trusts it and one file of each folder was read.
func (i *imported) loads() map[string]loads.Result {
	i.t.Helper()
	machine, ok := os.DirFS("/").(loads.Tree)
	if !ok {
		i.t.Fatal("os.DirFS is no Tree")
	}
	seen := map[string]bool{}
	var touched []string
	for rel, mode := range i.entries() {
		if dir := path.Dir(rel); mode[0] == '-' && !strings.HasPrefix(rel, ".") && dir != "." && !seen[dir] {
			seen[dir] = true
			touched = append(touched, filepath.Join(i.project, dir, "touched"))
		}
	}
	slices.Sort(touched)
	out := map[string]loads.Result{}
	for _, rt := range catalog.With(spec.Catalog{}).Runtimes() {
		if rt.Loads == nil {
			continue
		}
		r, err := loads.Loads(rt, loads.Machine{Tree: machine, Home: i.home, Trust: loads.Granted}, i.project, touched...)
		if err != nil {
			i.t.Fatal(err)
		}
		out[rt.ID] = r
	}
	return out
}

// sameLoads records the programs that no longer have what they had.
func (i *imported) sameLoads(before map[string]loads.Result) {
	i.t.Helper()
	after := i.loads()
	for _, id := range slices.Sorted(maps.Keys(before)) {
		gone, come := loads.Compare(before[id], after[id])
		if i.generates() { // programs had not what comes of it
			come = slices.DeleteFunc(come, func(item loads.Item) bool { return item.Total < 2 || !i.wantsFor(id) })
		}
		if len(gone)+len(come) == 0 {
			continue
		}
		var lines strings.Builder
		for sign, list := range map[string][]loads.Item{"-": gone, "+": come} {
			for _, item := range list {
				var from []string
				for _, f := range item.From {
					rel, _ := filepath.Rel(i.project, f.Path)
					from = append(from, rel)
				}
				fmt.Fprintf(&lines, "  %s %s %s, %s, start %d, total %d, paths %q, from %v\n", sign, item.Kind, item.Name, item.When, item.Start, item.Total, item.Paths, from)
			}
		}
		i.fails(fmt.Sprintf("%s -%d +%d", id, len(gone), len(come)), "%s has not the same as before:\n%s", id, lines.String())
	}
}

// generates reports whether rulesync or ruler makes files of this project, which
// were not committed.
func (i *imported) generates() bool {
	for _, dir := range []string{".rulesync", ".ruler"} {
		if _, err := os.Stat(filepath.Join(i.project, dir)); err == nil {
			return true
		}
	}
	return false
}

// wantsFor reports whether the spec names the runtime id.
func (i *imported) wantsFor(id string) bool {
	b, err := os.ReadFile(filepath.Join(i.project, "aisync.cue"))
	must(i.t, err)
	return strings.Contains(string(b), strconv.Quote(id))
}

// cycle imports the project, applies, looks that nothing is left to do and that
// all programs have what they had, imports again, and undoes it all: by destroy,
// and by removing from the spec what import wrote there.
func (i *imported) cycle() {
	i.t.Helper()
	before, had := i.entries(), i.loads()
	var doc struct {
		Taken       []struct{ To string }
		Superfluous []string
	}
	if err := json.Unmarshal([]byte(i.wants(0, "import", "--json")), &doc); err != nil {
		i.fails("json", "import --json: %v", err)
	}
	i.unchanged("import", before)
	i.wants(0, "apply", "--yes", "--trust")
	i.inOrder("apply")
	i.sameLoads(had)
	applied := i.entries()
	out := i.wants(0, "import")
	if again := i.entries(); !maps.Equal(applied, again) {
		i.fails("second import", "the second import wrote\n%s%s", difference(applied, again), out)
	}
	i.wants(0, "destroy", "--scope", "project", "--yes")
	i.unchanged("destroy", before)

	i.wants(0, "apply", "--yes", "--trust")
	i.inOrder("apply after destroy")
	if len(doc.Superfluous) > 0 {
		i.withoutSuperfluous(doc.Superfluous, had)
	}
	bundle := false
	for _, t := range doc.Taken {
		if name, server := strings.CutPrefix(t.To, "mcp: "); server {
			i.aisync("remove", "mcp", name) // two files may bring one
		} else {
			bundle = true
		}
	}
	if bundle {
		i.wants(0, "remove", "bundle", "own//app")
	}
	i.wants(0, "apply", "--yes", "--trust")
	i.unchanged("remove", before)
}

// withoutSuperfluous takes away what import names as superfluous, in a copy of the
// project: no program may miss it.
func (i *imported) withoutSuperfluous(files []string, had map[string]loads.Result) {
	i.t.Helper()
	before := i.entries()
	aside := filepath.Join(filepath.Dir(i.project), "aside")
	must(i.t, os.CopyFS(aside, os.DirFS(i.project)))
	for _, f := range files {
		must(i.t, os.RemoveAll(filepath.Join(i.project, f)))
	}
	after := i.loads()
	for _, id := range slices.Sorted(maps.Keys(had)) {
		if gone, _ := loads.Compare(had[id], after[id]); len(gone) > 0 {
			i.fails("advice", "%s misses %s after %v went", id, gone[0].Name, files)
		}
	}
	must(i.t, os.RemoveAll(i.project))
	must(i.t, os.Rename(aside, i.project))
	i.unchanged("putting back", before)
}

// inOrder wants that nothing is left to do.
func (i *imported) inOrder(step string) {
	i.t.Helper()
	if out := i.wants(0, "plan"); !strings.Contains(out, "No changes.") {
		i.fails("plan after "+step, "the plan is not empty after %s:\n%s", step, out)
	}
}

// unchanged wants the bytes, modes and links that were there before, beside the
// spec, its lock and the bundle.
func (i *imported) unchanged(step string, before map[string]string) {
	i.t.Helper()
	now := i.entries()
	maps.DeleteFunc(now, func(name, _ string) bool {
		return name == "aisync.cue" || name == "aisync.lock" || strings.HasPrefix(name+"/", ".aisync/")
	})
	if !maps.Equal(before, now) {
		i.fails("bytes after "+step, "%s left\n%s", step, difference(before, now))
	}
}

// difference is a line for each entry of one folder that another has otherwise.
func difference(a, b map[string]string) string {
	var lines []string
	for name := range a {
		if b[name] != a[name] {
			lines = append(lines, fmt.Sprintf("  %s: %s, now %q\n", name, a[name], b[name]))
		}
	}
	for name := range b {
		if a[name] == "" {
			lines = append(lines, "  "+name+" is new\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// minFixtures is how many shapes of projects docs/import.md speaks of.
const minFixtures = 40

// Projects as people have them come in whole: nothing is left to do after import
// and apply, each program of the catalog has what it had, and all bytes come back.
func TestImportedProjectsKeepWhatProgramsHave(t *testing.T) {
	projects := gathertest.Projects(t)
	if len(projects) < minFixtures {
		t.Errorf("%d projects, want %d at least", len(projects), minFixtures)
	}
	var mu sync.Mutex
	table := map[string][]string{}
	t.Cleanup(func() {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			t.Logf("%-28s %s", name, strings.Join(table[name], ", "))
		}
	})
	for _, p := range projects {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			i := newImported(t)
			p.Unpack(t, i.project, i.home, nil)
			i.commit()
			i.cycle()
			if len(i.steps) > 0 {
				mu.Lock()
				defer mu.Unlock()
				table[p.Name] = i.steps
			}
		})
	}
}
