package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/internal/termtext"
)

var noon = time.Date(2026, 5, 28, 12, 30, 0, 0, time.UTC)

// newProject makes a project with files of it, name and text by turns.
func newProject(t testing.TB, files ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(files); i += 2 {
		write(t, filepath.Join(root, files[i]), files[i+1])
	}
	write(t, filepath.Join(root, project.Protocols), "* Protocols\n")
	return root
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// started starts the context of an id, for process pid if it is not 0.
func started(t testing.TB, root, id string, pid int) Context {
	t.Helper()
	c := ByID(root, id)
	if _, err := c.Start(Meta{Runtime: "claude", Host: identity.Host(), Role: "agent", PID: pid, Begun: uint64(pid), Started: noon}, roster.Roster{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// agents are live ones, as the roster finds them: pid, and the id that each was
// started with.
func agents(ids map[int]string) roster.Roster {
	r := roster.Roster{}
	for pid, id := range ids {
		r.Agents = append(r.Agents, roster.Agent{PID: pid, Start: uint64(pid), ID: id, Known: true, Runtime: "claude"})
	}
	return r
}

func of(t testing.TB, root string, env map[string]string) Context {
	t.Helper()
	c, err := Of(root, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestContextOfCaller(t *testing.T) {
	root := newProject(t)
	at := func(name string) string { return filepath.Join(root, ".ai", name) }
	for _, c := range []struct{ id, context, want string }{
		{"", "", "session-context.org"},
		{"helper-1f3a", "", "session-context.d/helper-1f3a.org"},
		{"pearl.app.claude.a83f", ".ai/session-context.d/pearl.app.claude.a83f.org", "session-context.d/pearl.app.claude.a83f.org"},
		{"", ".ai/session-context.d/pearl.app.claude.a83f.org", "session-context.d/pearl.app.claude.a83f.org"},
		{"", at("session-context.d/x.org"), "session-context.d/x.org"},
		{"", ".ai/session-context.org", "session-context.org"},
		// A helper that names itself under another's environment.
		{"helper-1f3a", at("session-context.d/pearl.app.claude.a83f.org"), "session-context.d/helper-1f3a.org"},
		{"helper-1f3a", ".ai/session-context.org", "session-context.d/helper-1f3a.org"},
		{"  ", "", "session-context.org"},
	} {
		got := of(t, root, map[string]string{identity.VarID: c.id, identity.VarContext: c.context})
		if got.Path != at(c.want) {
			t.Errorf("%q %q: %s, want %s", c.id, c.context, got.Path, c.want)
		}
	}
	for _, set := range []string{"../x.org", "/etc/passwd", ".ai/session-context.d/x.txt", ".ai/session-context.d/../x.org", "x"} {
		if c, err := Of(root, func(name string) string { return map[string]string{identity.VarContext: set}[name] }); err == nil {
			t.Errorf("%s: %s", set, c.Path)
		}
	}
}

// Whatever an id is made of, it is one file of the folder of contexts, and two
// ids are two files.
func TestEachIDHasOneFile(t *testing.T) {
	root := newProject(t)
	long := strings.Repeat("long-", 200)
	ids := []string{"plain", "with space", "with.dots.in.it", "..", "../../escape", "a/b", "a b", "日本", "中国", "naïve", "Naive",
		long, long + "x", ".hidden", "-dash", "a\nb", strings.Repeat("é", 300), "a..b", "%primary"}
	seen := map[string]string{}
	for _, id := range ids {
		c := started(t, root, id, 0)
		if filepath.Dir(c.Path) != filepath.Join(root, project.Contexts) || len(filepath.Base(c.Path)) > 80 {
			t.Errorf("%q: %s", id, c.Path)
		}
		if other, ok := seen[c.Path]; ok {
			t.Errorf("%q and %q are both %s", id, other, c.Path)
		}
		seen[c.Path] = id
		if !strings.Contains(read(t, c.Path), "#+AGENT_ID: "+termtext.OneLine(id)+"\n") {
			t.Errorf("%q: header\n%s", id, read(t, c.Path))
		}
	}
	if got, err := IDs(root); err != nil || len(got) != len(ids) {
		t.Errorf("%d of %d are listed: %q, %v", len(got), len(ids), got, err)
	}
	// The roster says the id as it was given, the file its name.
	list, err := List(root, agents(map[int]string{9: "with space"}), Context{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if want := map[bool]State{true: Live, false: Crashed}[e.ID == identity.FileName("with space")]; e.State != want {
			t.Errorf("%s is %s", e.ID, e.State)
		}
	}
}

func TestHeaderMatchesSeed(t *testing.T) {
	root := newProject(t)
	c := ByID(root, "pearl.org-drill.local-qwen30b.19ca")
	m := Meta{Runtime: "local-openai", Model: "Qwen3-Coder-30B-A3B-Instruct-Q6_K", Host: "pearl", Role: "agent", Started: noon}
	if made, err := c.Start(m, roster.Roster{}); err != nil || !made {
		t.Fatal(made, err)
	}
	want := `#+TITLE: Session context
#+AGENT_ID: pearl.org-drill.local-qwen30b.19ca
#+RUNTIME: local-openai
#+MODEL: Qwen3-Coder-30B-A3B-Instruct-Q6_K
#+HOST: pearl
#+ROLE: agent
#+STARTED: 2026-05-28T12:30:00+00:00

* Summary

* Journal
`
	if got := read(t, c.Path); got != want {
		t.Errorf("%s", got)
	}
	write(t, c.Path, want+"mine\n")
	if made, err := c.Start(m, roster.Roster{}); err != nil || made || read(t, c.Path) != want+"mine\n" {
		t.Errorf("a second start: %v, %v\n%s", made, err, read(t, c.Path))
	}
}

func TestConcurrentStarts(t *testing.T) {
	root := newProject(t)
	var wg sync.WaitGroup
	errs := make([]error, 500)
	for n := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := ByID(root, fmt.Sprintf("pearl.app.claude.%04x", n))
			made, err := c.Start(Meta{PID: n + 1, Started: noon}, roster.Roster{})
			if err == nil && !made {
				err = errors.New("was there")
			}
			errs[n] = errors.Join(err, c.Journal(Intent{File: "todo.org", Heading: "H", What: c.ID}, noon))
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	ids, err := IDs(root)
	if err != nil || len(ids) != 500 {
		t.Fatalf("%d, %v", len(ids), err)
	}
	for _, id := range ids {
		if text := read(t, ByID(root, id).Path); strings.Count(text, "- [") != 1 || !strings.Contains(text, ":: "+id+"\n") {
			t.Errorf("%s has another's journal:\n%s", id, text)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, project.Singleton)); err == nil {
		t.Error("the primary's file was made")
	}
}

// Of many that start one context at once, one makes it, and it is whole.
func TestStartCreatesContextOnce(t *testing.T) {
	root := newProject(t)
	var wg sync.WaitGroup
	made := make([]bool, 50)
	for n := range made {
		wg.Add(1)
		go func() {
			defer wg.Done()
			made[n], _ = ByID(root, "").Start(Meta{Runtime: "claude", Started: noon}, roster.Roster{})
		}()
	}
	wg.Wait()
	if n := len(slices.DeleteFunc(made, func(b bool) bool { return !b })); n != 1 {
		t.Errorf("%d made it", n)
	}
}

func TestStartRefusesContextInUse(t *testing.T) {
	root := newProject(t)
	for _, id := range []string{"", "helper-1f3a"} {
		c := started(t, root, id, 7)
		before := read(t, c.Path)
		me := Meta{PID: 9, Begun: 9, Started: noon}
		if _, err := c.Start(me, agents(map[int]string{7: id})); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "session id --helper") {
			t.Errorf("%q: %v", id, err)
		}
		// The agent that has started this one is above it, so its roster has it not.
		me.Above = []process.Process{{PID: 8}, {PID: 7, Start: 7}}
		if _, err := c.Start(me, roster.Roster{}); !errors.Is(err, ErrInUse) {
			t.Errorf("%q, from below: %v", id, err)
		}
		if read(t, c.Path) != before {
			t.Errorf("%q was changed", id)
		}
		// Its own process may go on, whatever it has started under its id.
		if _, err := c.Start(Meta{PID: 7, Begun: 7, Started: noon}, agents(map[int]string{11: id})); err != nil {
			t.Errorf("%q: %v", id, err)
		}
		// After a crash the next one goes on with it, and is found by its process.
		if made, err := c.Start(Meta{PID: 9, Begun: 9, Started: noon}, roster.Roster{}); err != nil || made {
			t.Errorf("%q: %v, %v", id, made, err)
		}
		if got, want := read(t, c.Path), strings.Replace(before, "#+PROCESS: 7 7", "#+PROCESS: 9 9", 1); got != want {
			t.Errorf("%q:\n%s", id, got)
		}
	}
}

func TestLinkIsNoContext(t *testing.T) {
	for _, id := range []string{"", "helper-1f3a"} {
		root := newProject(t, "elsewhere.org", "theirs\n")
		c := ByID(root, id)
		if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(root, "elsewhere.org"), c.Path); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Start(Meta{Started: noon}, roster.Roster{}); !errors.Is(err, ErrLink) {
			t.Errorf("%q: start: %v", id, err)
		}
		if err := c.Journal(Intent{File: "f", Heading: "h", What: "w"}, noon); err == nil {
			t.Errorf("%q: wrote a journal", id)
		}
		if _, err := c.Archive("x", noon); !errors.Is(err, ErrLink) {
			t.Errorf("%q: archive: %v", id, err)
		}
		if read(t, filepath.Join(root, "elsewhere.org")) != "theirs\n" {
			t.Errorf("%q: was written through", id)
		}
	}
}

func TestSyncCopyIsReadOnly(t *testing.T) {
	root := newProject(t)
	singleton := filepath.Join(root, project.Singleton)
	sync := func(writes bool) {
		t.Helper()
		if err := SyncCopy(root, writes); err != nil {
			t.Fatal(err)
		}
	}
	gone := func() bool { _, err := os.Lstat(singleton); return errors.Is(err, os.ErrNotExist) }
	sync(true)
	if !gone() {
		t.Fatal("a copy without an agent")
	}
	c := started(t, root, "helper-1f3a", 0)
	sync(false)
	if !gone() {
		t.Fatal("an agent with an id wrote the singleton")
	}
	sync(true)
	if text := read(t, singleton); !strings.Contains(text, read(t, c.Path)) {
		t.Errorf("%s", text)
	}
	if info, err := os.Lstat(singleton); err != nil || info.Mode() != 0o444 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if id, err := Copied(root); err != nil || id != "helper-1f3a" {
		t.Errorf("%q, %v", id, err)
	}
	if list, err := List(root, roster.Roster{}, Context{}); err != nil || len(list) != 1 || list[0].ID != "helper-1f3a" {
		t.Errorf("the copy counts as a context: %+v, %v", list, err)
	}
	if err := c.Journal(Intent{File: "todo.org", Heading: "H", What: "w"}, noon); err != nil {
		t.Fatal(err)
	}
	sync(true)
	if !strings.HasSuffix(read(t, singleton), read(t, c.Path)) {
		t.Error("the copy is not renewed")
	}
	primary := ByID(root, "")
	if err := primary.Journal(Intent{File: "todo.org", Heading: "H", What: "w"}, noon); err == nil || !strings.Contains(err.Error(), "session start") {
		t.Errorf("a journal in the copy: %v", err)
	}
	if _, err := primary.Archive("x", noon); err == nil || !strings.Contains(err.Error(), "copy") {
		t.Errorf("an archive of the copy: %v", err)
	}
	other := started(t, root, "helper-2222", 0)
	sync(false)
	if !gone() {
		t.Error("two agents, and a copy of one")
	}
	if _, err := other.Archive("", noon); err != nil {
		t.Fatal(err)
	}
	sync(true)
	if made, err := primary.Start(Meta{Started: noon}, roster.Roster{}); err != nil || !made {
		t.Fatal(made, err)
	}
	own := read(t, singleton)
	sync(true)
	sync(false)
	if read(t, singleton) != own || strings.Contains(own, copyMark) {
		t.Errorf("the primary's own:\n%s", read(t, singleton))
	}
}

// What an old tool has written to the copy, read-only as it is, is kept.
func TestDropCopyArchivesEdits(t *testing.T) {
	root := newProject(t)
	started(t, root, "helper-1f3a", 0)
	if err := SyncCopy(root, true); err != nil {
		t.Fatal(err)
	}
	singleton := filepath.Join(root, project.Singleton)
	text := read(t, singleton) + "an old tool's\n"
	if err := os.Remove(singleton); err != nil {
		t.Fatal(err)
	}
	write(t, singleton, text)
	if _, err := ByID(root, "").Start(Meta{Started: noon}, roster.Roster{}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(root, project.Sessions, "2026-05-28-12-30-helper-1f3a-edited-copy.org")); got != text {
		t.Errorf("%s", got)
	}
}
