package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	. "aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// mixed brings m to where the next apply of the returned input creates,
// updates, deletes and puts back files, merges keys and lines, moves a link and
// makes and removes folders, in the home and in the project.
func mixed(m *machine) Input {
	m.Helper()
	m.project = tempDir(m.T)
	both := []Owner{HostOwner, m.owner()}
	m.write("~/.claude/settings.json", "{\n  // mine\n  \"theme\": \"dark\"\n}\n")
	m.write(".gitignore", "*.o\n")
	m.write("~/prior", "theirs\n")
	m.apply(with(want(both,
		whole("file:~/update", HostOwner, "old\n"), whole("file:~/gone/deep/f", HostOwner, "bye\n"), whole("file:~/prior", HostOwner, "ours\n"),
		linked("link:~/l", HostOwner, "a"), folder("dir:.ai/old", m.owner()), key("file:~/.claude/settings.json", HostOwner, "/x", "1"),
	), Choice{Force: true}))
	return want(both,
		whole("file:~/update", HostOwner, "new\n"), whole("file:made/deep/f", m.owner(), "hello\n"),
		linked("link:~/l", HostOwner, "b"), folder("dir:.ai/new", m.owner()), line("file:.gitignore", m.owner(), ".ai/new/"),
		key("file:~/.claude/settings.json", HostOwner, "/y/z", "2"),
	)
}

// managed are the paths that mixed is about, but for folders.
var managed = []string{"~/update", "~/gone/deep/f", "~/prior", "~/l", "made/deep/f", ".gitignore", "~/.claude/settings.json"}

func (m *machine) values() map[string]string {
	out := map[string]string{}
	for _, name := range managed {
		out[name] = m.read(name)
	}
	return out
}

// whole run of mixed: what is there before and after, and its operations.
func reference(t *testing.T) (before, after map[string]string, tree string, ops int64) {
	m := newMachine(t)
	in := mixed(m)
	before = m.values()
	hook, n := fsys.CountOps()
	m.hook = hook
	m.apply(in)
	m.hook = nil
	after, tree = m.values(), m.tree()
	m.settled(in)
	for _, name := range managed {
		if before[name] == after[name] {
			t.Fatalf("%s does not change", name)
		}
	}
	return before, after, tree, n.Load()
}

func TestAMixedApplyConvergesAndTouchesNothingElse(t *testing.T) {
	before, after, tree, _ := reference(t)
	if got := after["~/.claude/settings.json"]; !strings.Contains(got, "// mine\n  \"theme\": \"dark\"") || strings.Contains(got, `"x"`) || !strings.Contains(got, `"z"`) {
		t.Errorf("settings:\n%s", got)
	}
	if got := after[".gitignore"]; !strings.HasPrefix(got, before[".gitignore"]) {
		t.Errorf("ignore lines:\n%s", got)
	}
	if after["~/prior"] != "theirs\n" || after["~/l"] != "-> b" || after["~/gone/deep/f"] != "" {
		t.Errorf("%q", after)
	}
	for _, left := range []string{"/gone", "old", ".aisync-"} {
		if strings.Contains(tree, left) {
			t.Errorf("%s is left:\n%s", left, tree)
		}
	}
}

var errKilled = errors.New("killed")

// dieAt lets nothing reach the file system from the n-th operation on, as a
// SIGKILL would: whatever runs on can only fail.
func dieAt(n int64) (fsys.Hook, *atomic.Bool) {
	var seen atomic.Int64
	var died atomic.Bool
	return func(fsys.Op) error {
		if seen.Add(1) >= n {
			died.Store(true)
			return errKilled
		}
		return nil
	}, &died
}

// kill runs one apply that dies at its n-th operation.
func (m *machine) kill(in Input, n int64, more ...func(*ApplyOptions)) (died bool) {
	m.Helper()
	hook, dead := dieAt(n)
	m.hook = hook
	defer func() { m.hook = nil }()
	s := m.open()
	for _, f := range more {
		f(&s.opt)
	}
	_, _ = s.engine.Apply(m.Context(), s.env, s.store, m.plan(s, in), s.opt)
	return dead.Load()
}

func TestKilledAnywhereOldOrNewIsThereAndTheNextApplyConverges(t *testing.T) {
	before, after, tree, ops := reference(t)
	for n := int64(1); n <= ops; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			m := newMachine(t)
			in := mixed(m)
			bare := m.tree()
			if !m.kill(in, n) {
				if n < ops*9/10 {
					t.Fatal("it was not killed")
				}
				m.settled(in) // two that make one folder at a time count twice, by chance
				return
			}
			killed := fmt.Sprintf("apply%04d", m.applies)
			m.check(before, after, n%2 == 0)
			if n%3 == 0 { // undone instead of gone on with
				if err := m.undo(killed, Choice{}); err != nil && !errors.Is(err, ErrNoApply) || m.tree() != bare {
					t.Errorf("rolled back: %v\n%s\nwas\n%s", err, m.tree(), bare)
				}
			}
			m.apply(in)
			m.settled(in)
			if got := m.tree(); got != tree {
				t.Errorf("it did not converge:\n%s\nwant\n%s", got, tree)
			}
		})
	}
}

// check that every managed path is as it was or as it shall be; a reader who
// comes by before the repair sees a plan, and writes nothing.
func (m *machine) check(before, after map[string]string, read bool) {
	m.Helper()
	for name, now := range m.values() {
		if now != before[name] && now != after[name] && !(now == "" && after[name] == "") {
			m.Errorf("%s is %q; want %q or %q", name, now, before[name], after[name])
		}
	}
	if !read {
		return
	}
	was := m.tree()
	s := m.open()
	p := m.plan(s, want([]Owner{HostOwner, m.owner()}, s.store.Declarations(HostOwner)...))
	if len(p.Changes) == 0 || m.tree() != was {
		m.Error("a reader planned nothing, or wrote something")
	}
}

func TestAFailureAnywhereLosesNothingAndTheNextApplyConverges(t *testing.T) {
	before, after, tree, ops := reference(t)
	for i, fault := range []error{errors.New("odd"), fmt.Errorf("half: %w", io.ErrShortWrite), &os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}} {
		for n := int64(1 + i); n <= ops; n += 3 {
			m := newMachine(t)
			in := mixed(m)
			m.hook, _ = fsys.FailAt(n, fault)
			_, _, _ = m.try(in)
			m.hook = nil
			m.check(before, after, false)
			m.apply(in)
			m.settled(in)
			got := m.tree()
			if !maps.Equal(m.values(), after) || strings.Contains(got, ".aisync-") { // an rmdir that failed leaves an empty folder
				t.Errorf("%v at %d: it did not converge:\n%s\nwant\n%s", fault, n, got, tree)
			}
		}
	}
}

func TestRecoveryMayBeKilledItself(t *testing.T) {
	_, _, tree, ops := reference(t)
	for n := int64(7); n <= ops; n += 11 {
		for again := int64(1); ; again += 2 {
			m := newMachine(t)
			in := mixed(m)
			m.kill(in, n)
			if !m.killRecover(again) {
				break
			}
			m.apply(in)
			m.settled(in)
			if got := m.tree(); got != tree {
				t.Errorf("killed at %d and %d:\n%s\nwant\n%s", n, again, got, tree)
			}
		}
	}
}

func (m *machine) killRecover(n int64) (died bool) {
	m.Helper()
	hook, dead := dieAt(n)
	m.hook = hook
	defer func() { m.hook = nil }()
	s := m.open()
	_, _ = s.engine.Recover(m.Context(), s.env, s.store)
	return dead.Load()
}

func TestACancelledApplyRecordsWhatItDid(t *testing.T) {
	_, _, tree, _ := reference(t)
	m := newMachine(t)
	in := mixed(m)
	bare := m.tree()
	ctx, cancel := context.WithCancel(t.Context())
	s := m.open()
	s.engine.Parallel = 1
	s.opt.Events = func(e Event) {
		if e.Kind == "done" {
			cancel()
		}
	}
	res, err := s.engine.Apply(ctx, s.env, s.store, m.plan(s, in), s.opt)
	if !errors.Is(err, context.Canceled) || len(res.Done) == 0 || len(res.Skipped) == 0 {
		t.Fatalf("%v: %d done, %d skipped", err, len(res.Done), len(res.Skipped))
	}
	if m.open().store.Unfinished() {
		t.Error("the journal is still there")
	}
	if err := m.undo("", Choice{}); err != nil || m.tree() != bare {
		t.Errorf("rolled back: %v\n%s\nwas\n%s", err, m.tree(), bare)
	}
	m.apply(in)
	m.settled(in)
	if got := m.tree(); got != tree {
		t.Errorf("%s\nwant\n%s", got, tree)
	}
}

func TestFilesOfANewerVersionAreRefused(t *testing.T) {
	for _, name := range []string{"records/host.json", "journal.jsonl"} {
		m := newMachine(t)
		m.apply(want(host, whole("file:~/a", HostOwner, "1")))
		p := filepath.Join(m.root, "state", name)
		text := `{"format_version":99,"records":[]}`
		if name == "journal.jsonl" {
			text = `{"head":{"format_version":99,"id":"x"}}` + "\n"
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		disk, _ := fsys.New(fsys.Options{Root: m.root, Home: home, Tag: "t"})
		if _, err := OpenStore(disk, state); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
