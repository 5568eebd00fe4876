package reconcile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

func TestAnInterruptedApplyOfAProjectIsFinishedThere(t *testing.T) {
	m := newMachine(t)
	one, two := tempDir(t), tempDir(t)
	m.project = one
	in := want([]Owner{m.owner()}, whole("file:a", m.owner(), "1"), whole("file:b", m.owner(), "2"))
	if !m.kill(in, 12) {
		t.Fatal("not killed")
	}
	for _, elsewhere := range []string{two, ""} {
		m.project = elsewhere
		s := m.open()
		if _, err := s.engine.Recover(t.Context(), s.env, s.store); err == nil || !strings.Contains(err.Error(), one) {
			t.Errorf("in %q: %v", elsewhere, err)
		}
		if p := m.plan(m.open(), want(host, whole("file:~/f", HostOwner, "x"))); p.Changes[0].Action != Create {
			t.Errorf("a reader elsewhere: %+v", p.Changes)
		}
	}
	if err := os.Rename(one, one+"-gone"); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(one + "-gone")
	m.apply(want(host, whole("file:~/f", HostOwner, "x")))
	if m.open().store.Unfinished() {
		t.Error("the journal of a project that is gone is still there")
	}
}

func TestWhatAReaderSeesOfAnUnfinishedApplyIsTrue(t *testing.T) {
	m := newMachine(t)
	in := want(host, whole("file:~/a", HostOwner, "1"), whole("file:~/b", HostOwner, "2"))
	for n := int64(1); m.kill(in, n); n++ {
		s := m.open()
		unfinished := s.store.Unfinished()
		for _, c := range m.plan(s, in).Changes {
			there := m.read("~/"+string(c.Target.Resource.Address[7:])) != ""
			if c.Action != map[bool]Action{true: None, false: Create}[there] {
				t.Errorf("killed at %d: %s %s, and there is %v", n, c.Action, c.Target.Resource.Address, there)
			}
		}
		if m.open().store.Unfinished() != unfinished {
			t.Error("a reader repaired the journal")
		}
		if err := os.RemoveAll(m.root); err != nil {
			t.Fatal(err)
		}
		m.write("~/", "")
	}
}

// Another program saves a file in the instant in which it is replaced, and the
// power of the process ends before that is noticed: their version wins.
func TestAnEditInTheInstantOfAKillIsNotLost(t *testing.T) {
	for name, edit := range map[string]func(p string) error{
		"f": func(p string) error { return os.WriteFile(p, []byte("saved\n"), 0o600) },
		"l": func(p string) error { _ = os.Remove(p); return os.Symlink("saved", p) },
	} {
		m := newMachine(t)
		spec := func(v string) Input {
			return want(host, whole("file:~/f", HostOwner, v), linked("link:~/l", HostOwner, v))
		}
		m.apply(spec("old"))
		s := m.open()
		p := m.plan(s, spec("new"))
		dead := false
		m.hook = func(op fsys.Op) error {
			switch {
			case dead:
				return errKilled
			case op.Name == "exchange" && filepath.Base(op.Path) == name:
				dead = true
				return edit(m.at("~/" + name))
			}
			return nil
		}
		k := m.open()
		k.engine.Parallel = 1
		_, _ = k.engine.Apply(t.Context(), k.env, k.store, p, k.opt)
		m.hook = nil
		if !dead {
			t.Fatal("nothing was exchanged")
		}
		r := m.open()
		if _, err := r.engine.Recover(t.Context(), r.env, r.store); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := m.read("~/" + name); !strings.Contains(got, "saved") {
			t.Errorf("%s is %q", name, got)
		}
		if _, _, err := m.try(spec("new")); err != ErrUndecided {
			t.Errorf("%s: the edit is not seen: %v", name, err)
		}
	}
}

func TestAnInterruptedApplyKeepsIgnoredFilesOutOfTheLock(t *testing.T) {
	m := newMachine(t)
	ignored := func(o *ApplyOptions) { o.Ignored = ignoresX }
	for n := int64(8); ; n += 3 {
		m.project = tempDir(t)
		in := want([]Owner{m.owner()}, whole("file:a", m.owner(), "1"), whole("file:x/b", m.owner(), "2"))
		died := m.kill(in, n, ignored)
		m.apply(in, ignored)
		if lock := m.read("aisync.lock"); strings.Contains(lock, "x/b") || !strings.Contains(lock, "file:a") {
			t.Errorf("killed at %d: the lock:\n%s", n, lock)
		}
		m.settled(in)
		if !died {
			return
		}
	}
}

func TestWhatWaitsForAnUndecidedChangeIsLeftOut(t *testing.T) {
	m := newMachine(t)
	m.write("~/hook", "another's\n")
	user := whole("file:~/user", HostOwner, "calls the hook")
	user.DependsOn = []Address{"file:~/hook"}
	in := want(host, whole("file:~/hook", HostOwner, "ours\n"), user, whole("file:~/rest", HostOwner, "1"))
	_, res, err := m.try(in, func(o *ApplyOptions) { o.KeepGoing = true })
	if err != nil || m.read("~/user") != "" || m.read("~/rest") != "1" || len(res.Skipped) != 2 {
		t.Errorf("%v: %+v\n%s", err, res, m.tree())
	}
}

func TestAFolderGoesAfterWhatIsInIt(t *testing.T) {
	m := newMachine(t)
	bare := m.tree()
	decls := []Declaration{folder("dir:~/d", HostOwner), folder("dir:~/d/e", HostOwner)}
	for _, name := range "abcdefgh" {
		decls = append(decls, whole(Address("file:~/d/e/"+string(name)), HostOwner, "x"))
	}
	m.apply(want(host, decls...))
	m.apply(want(host, decls[0]))
	m.settled(want(host, decls[0]))
	m.apply(want(host))
	if got := m.tree(); got != bare {
		t.Errorf("left behind:\n%s", got)
	}
}

func TestAFolderThatASpecAsksForIsNotSweptWithItsLastFile(t *testing.T) {
	m := newMachine(t)
	f, d := whole("file:~/d/f", HostOwner, "x"), folder("dir:~/d", HostOwner)
	m.apply(want(host, f))
	m.apply(want(host, f, d))
	m.apply(want(host, d))
	m.settled(want(host, d))
}
