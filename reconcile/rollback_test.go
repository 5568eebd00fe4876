package reconcile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "aisync.dev/aisync/reconcile"
)

const settings Address = "file:~/settings.json"

func TestRollbackGivesBackTheExactBytesTwice(t *testing.T) {
	m := newMachine(t)
	bare := m.tree()
	m.write("~/mine", "x")
	_ = os.Chmod(m.at("~/mine"), 0o600)
	first := m.tree()
	in := mixed(m)
	second := m.tree()
	m.apply(in)
	if err := m.undo("", Choice{}); err != nil || m.tree() != second {
		t.Fatalf("%v\n%s\nwant\n%s", err, m.tree(), second)
	}
	if err := m.undo("", Choice{}); err != nil || m.read("~/prior") != "theirs\n" || m.read("~/update") != "" {
		t.Fatalf("%v\n%s", err, m.tree())
	}
	if err := m.undo("", Choice{}); !errors.Is(err, ErrNoApply) {
		t.Error(err)
	}
	if err := m.undo("apply0002", Choice{}); err == nil || !strings.Contains(err.Error(), "undone already") {
		t.Error(err)
	}
	for _, o := range []Owner{HostOwner, m.owner()} {
		if recs := m.open().store.Records(o); len(recs) != 0 {
			t.Errorf("%s still has %+v", o, recs)
		}
	}
	if bare == first {
		t.Fatal("nothing was there")
	}
}

func TestRollbackOfAnOlderApplyKeepsWhatLaterOnesRecorded(t *testing.T) {
	m := newMachine(t)
	x, y := key(settings, HostOwner, "/x", "1"), key(settings, HostOwner, "/y", "2")
	m.apply(want(host, x))
	m.apply(want(host, x, y))
	if err := m.undo("apply0001", Choice{}); err != nil {
		t.Fatal(err)
	}
	if got := m.read("~/settings.json"); strings.Contains(got, "x") || !strings.Contains(got, "y") {
		t.Error(got)
	}
	if got := m.owned(settings); got != "host:/y" {
		t.Errorf("on record: %q", got)
	}
	m.settled(want(host, y))
	m.apply(want(host))
	if got := m.read("~/settings.json"); got != "" {
		t.Errorf("left behind: %q", got)
	}
}

func TestRollbackLeavesLaterEditsOfTheUserAlone(t *testing.T) {
	m := newMachine(t)
	m.write("~/settings.json", "{\"a\": 1}\n")
	m.apply(want(host, key(settings, HostOwner, "/x", "1"), whole("file:~/f", HostOwner, "ours\n")))
	m.write("~/settings.json", strings.Replace(m.read("~/settings.json"), `"a": 1`, `"a": 5`, 1))
	m.write("~/f", "edited\n")
	if err := m.undo("", Choice{}); !errors.Is(err, ErrUndecided) || m.read("~/f") != "edited\n" || !strings.Contains(m.read("~/settings.json"), "x") {
		t.Fatalf("%v\n%s", err, m.tree())
	}
	m.write("~/f", "ours\n")
	if err := m.undo("", Choice{}); err != nil {
		t.Fatal(err)
	}
	if got := m.read("~/settings.json"); got != "{\"a\": 5}\n" {
		t.Errorf("%q", got)
	}
	if got := m.read("~/f"); got != "" {
		t.Errorf("%q", got)
	}
}

func TestRollbackTakesNothingFromAnOwnerWhoCameLater(t *testing.T) {
	m := newMachine(t)
	p := ProjectOwner(tempDir(t))
	in := want([]Owner{p}, key(settings, p, "/x", "1"))
	m.apply(want(host, key(settings, HostOwner, "/x", "1")))
	m.apply(in)
	if err := m.undo("apply0001", Choice{}); err != nil {
		t.Fatal(err)
	}
	if got := m.owned(settings); got != "project:/x" {
		t.Errorf("on record: %q", got)
	}
	m.settled(in)
}

func TestARollbackThatWasPartlyDoneCanBeFinished(t *testing.T) {
	m := newMachine(t)
	in := mixed(m)
	before := m.tree()
	m.apply(in)
	for n := int64(3); ; n += 5 {
		s := m.open()
		p, entry, err := s.engine.RollbackPlan(t.Context(), s.env.ReadEnv, s.store, "", Choice{})
		if err != nil {
			t.Fatal(err)
		}
		hook, dead := dieAt(n)
		m.hook = hook
		k := m.open()
		k.opt.RollbackOf = entry.ID
		_, _ = k.engine.Apply(t.Context(), k.env, k.store, p, k.opt)
		m.hook = nil
		if !dead.Load() {
			break
		}
		s = m.open()
		if _, err := s.engine.Recover(t.Context(), s.env, s.store); err != nil {
			t.Fatalf("killed at %d: %v", n, err)
		}
		if m.tree() == before {
			break // all of it was done, and the records are finished
		}
		if again, e, err := s.engine.RollbackPlan(t.Context(), s.env.ReadEnv, s.store, "", Choice{}); err != nil || e.ID != entry.ID || len(again.Undecided()) > 0 {
			t.Fatalf("killed at %d: the next rollback would undo %s: %v %v", n, e.ID, err, again)
		}
	}
	if m.tree() != before {
		t.Errorf("%s\nwas\n%s", m.tree(), before)
	}
	m.apply(in)
	m.settled(in)
}

// A rollback killed at its very end has marked what it undid already.
func TestARollbackKilledInItsBookkeepingIsFinished(t *testing.T) {
	for n := int64(1); ; n++ {
		m := newMachine(t)
		in := want(host, whole("file:~/f", HostOwner, "1"))
		m.apply(in)
		hook, dead := dieAt(n)
		m.hook = hook
		_ = m.undo("", Choice{})
		m.hook = nil
		s := m.open()
		if _, err := s.engine.Recover(t.Context(), s.env, s.store); err != nil {
			t.Fatalf("killed at %d: %v", n, err)
		}
		_ = m.undo("", Choice{})
		if m.read("~/f") != "" {
			t.Errorf("killed at %d: it was not undone", n)
		}
		m.apply(in)
		m.settled(in)
		if !dead.Load() {
			return
		}
	}
}

func TestAFreshCheckoutIsInSyncAndKnowsDrift(t *testing.T) {
	m := newMachine(t)
	m.project = tempDir(t)
	spec := func(o Owner) []Declaration {
		return []Declaration{
			whole("file:AGENTS.md", o, "rules\n"), linked("link:CLAUDE.md", o, "AGENTS.md"),
			key("file:.claude/settings.json", o, "/x", "1"), line("file:.gitignore", o, "x/"), whole("file:x/ignored", o, "local\n"),
		}
	}
	ignored := func(o *ApplyOptions) { o.Ignored = ignoresX }
	m.apply(want([]Owner{m.owner()}, spec(m.owner())...), ignored)
	lock := m.read("aisync.lock")
	if strings.Contains(lock, "x/ignored") || !strings.Contains(lock, "AGENTS.md") || strings.Contains(lock, m.project) {
		t.Fatalf("the lock:\n%s", lock)
	}
	other := newMachine(t)
	other.project = m.copyOfProject()
	other.head = m.project // as it was committed
	if err := os.RemoveAll(other.at("x")); err != nil {
		t.Fatal(err)
	}
	o := other.owner()
	p := other.plan(other.open(), want([]Owner{o}, spec(o)...))
	for _, c := range p.Changes {
		if a := c.Target.Resource.Address; (c.Action != None) != (a == "file:x/ignored") || c.Drift() {
			t.Errorf("%s %s: %s", c.Action, a, c.Meaning())
		}
	}
	other.apply(want([]Owner{o}, spec(o)...), ignored)
	if got := other.read("aisync.lock"); got != lock {
		t.Errorf("two people, two locks:\n%s\n%s", got, lock)
	}
	other.write("AGENTS.md", "edited\n")
	if p := other.plan(other.open(), want([]Owner{o}, spec(o)...)); !p.Changes[2].Drift() || p.Changes[2].Target.Resource.Address != "file:AGENTS.md" {
		t.Errorf("%+v", p.Changes[2])
	}
	other.write("AGENTS.md", "rules\n")
	other.apply(want([]Owner{o}), ignored)
	if got := other.tree(); strings.Count(got, "\n") != 2 { // home and project themselves
		t.Errorf("left behind:\n%s", got)
	}
}

// A project folder that is moved is another owner's, and no record says who
// made what git does not carry. It is exactly what the spec wants and the lock
// says that the spec was applied: so it goes again.
func TestAProjectThatWasMovedLeavesNothingBehind(t *testing.T) {
	m := newMachine(t)
	m.project = tempDir(t)
	if err := os.Chmod(m.project, 0o755); err != nil {
		t.Fatal(err)
	}
	bare := m.tree()
	spec := func(o Owner) []Declaration {
		made := folder("dir:.ai/sessions/old", o)
		made.Local = true
		return []Declaration{whole("file:.claude/rules/a.md", o, "a\n"), made}
	}
	m.apply(want([]Owner{m.owner()}, spec(m.owner())...))
	m.project = m.copyOfProject()
	o := m.owner()
	p := m.apply(want([]Owner{o}, spec(o)...))
	if len(p.Changes) != 2 || p.Changes[0].Action != Accept || p.Changes[1].Action != None {
		t.Errorf("%+v", p.Changes)
	}
	m.settled(want([]Owner{o}, spec(o)...))
	m.apply(want([]Owner{o}))
	if got := m.tree(); got != bare {
		t.Errorf("left behind:\n%s\nwas\n%s", got, bare)
	}
}

func (m *machine) copyOfProject() string {
	m.Helper()
	to := filepath.Join(tempDir(m.T), "clone")
	if err := os.CopyFS(to, os.DirFS(m.project)); err != nil {
		m.Fatal(err)
	}
	return to
}

func TestAReadOnlyFileHoldsNothingElseBack(t *testing.T) {
	m := newMachine(t)
	m.write("~/settings.json", "{\"mine\": 1}\n")
	bare := m.tree()
	in := want(host, key(settings, HostOwner, "/x", "1"), whole("file:~/f", HostOwner, "ours\n"))
	mode := func(bits os.FileMode) {
		if err := os.Chmod(m.at("~/settings.json"), bits); err != nil {
			t.Fatal(err)
		}
	}
	mode(0o444)
	p, res, err := m.try(in)
	if err != nil || len(res.Done) != 1 || len(res.Skipped) != 1 || !strings.Contains(res.Skipped[0].Err.Error(), "read-only (mode 0444)") || len(p.Undecided()) != 0 {
		t.Fatalf("%v: %+v", err, res)
	}
	if m.read("~/settings.json") != "{\"mine\": 1}\n" || m.read("~/f") != "ours\n" {
		t.Error(m.tree())
	}
	mode(0o644)
	m.apply(in)
	mode(0o444)
	m.settled(in)
	if err := m.undo("", Choice{}); err != nil || !strings.Contains(m.read("~/settings.json"), "x") {
		t.Errorf("%v\n%s", err, m.tree())
	}
	m.apply(want(host))
	if m.read("~/f") != "" || !strings.Contains(m.read("~/settings.json"), "x") {
		t.Error(m.tree())
	}
	mode(0o644)
	m.apply(want(host))
	if m.tree() != bare {
		t.Errorf("%s\nwant\n%s", m.tree(), bare)
	}
}
