package reconcile_test

import (
	"strings"
	"testing"

	"aisync.dev/aisync/providers/file"
	. "aisync.dev/aisync/reconcile"
)

const config Address = "file:~/.codex/config.toml"

// owned is what everybody has on record of config, as "owner:keys …".
func (m *machine) owned(a Address) string {
	var out []string
	for _, r := range m.open().store.On(a) {
		word := "project"
		if r.Owner == HostOwner {
			word = "host"
		}
		var keys []string
		for _, l := range r.Leaves {
			keys = append(keys, string(l.Key))
		}
		out = append(out, word+":"+strings.Join(keys, ","))
	}
	return strings.Join(out, " ")
}

func TestALeafGoesWithItsLastOwner(t *testing.T) {
	m := newMachine(t)
	one, two := tempDir(t), tempDir(t)
	a, b := []Owner{ProjectOwner(one)}, []Owner{ProjectOwner(two)}
	bare := m.tree()
	m.apply(want(host, key(config, HostOwner, "/model", `"x"`)))
	for _, p := range []Owner{a[0], b[0]} {
		in := want([]Owner{p}, key(config, p, "/shared", `"s"`), key(config, p, LeafKey("/projects/"+map[bool]string{true: "one", false: "two"}[p == a[0]]), `"trusted"`))
		m.apply(in)
		m.settled(in)
	}
	m.apply(want(host))
	if got := m.read("~/.codex/config.toml"); strings.Contains(got, "model") || !strings.Contains(got, "shared") {
		t.Errorf("after the host let go:\n%s", got)
	}
	m.apply(want(a))
	if got := m.read("~/.codex/config.toml"); !strings.Contains(got, "shared") || strings.Contains(got, "one") || !strings.Contains(got, "two") {
		t.Errorf("after the first project let go:\n%s", got)
	}
	m.settled(want(b, key(config, b[0], "/shared", `"s"`), key(config, b[0], "/projects/two", `"trusted"`)))
	m.apply(want(b))
	if got := m.tree(); got != bare {
		t.Errorf("something is left behind:\n%s\nwas\n%s", got, bare)
	}
}

func TestAnOwnerWhoStopsWantingASharedLeafIsForgotten(t *testing.T) {
	m := newMachine(t)
	m.project = tempDir(t)
	both := []Owner{HostOwner, m.owner()}
	h, p := key(config, HostOwner, "/shared", `"s"`), key(config, m.owner(), "/shared", `"s"`)
	m.apply(want(both, h, p))
	m.apply(want(both, h))
	if got := m.owned(config); got != "host:/shared" {
		t.Errorf("on record: %s", got)
	}
	m.settled(want(both, h))
	m.apply(want(host))
	if got := m.read("~/.codex/config.toml"); got != "" {
		t.Errorf("no owner wants it, but it is there:\n%s", got)
	}
}

func TestASecondOwnerOfASeedDoesNotMakeTheUsersTextOurs(t *testing.T) {
	m := newMachine(t)
	m.project = tempDir(t)
	both := []Owner{HostOwner, m.owner()}
	seed := func(o Owner) Declaration {
		return Declaration{Target: "file:~/CLAUDE.md", Owner: o, Leaves: []Leaf{{Key: Seed, Own: SeedOnly, Body: file.Whole([]byte("first\n"), 0o644)}}}
	}
	m.apply(want(host, seed(HostOwner)))
	m.write("~/CLAUDE.md", "the user's\n")
	m.apply(want(both, seed(HostOwner), seed(m.owner())))
	m.apply(want(both))
	if got := m.read("~/CLAUDE.md"); got != "the user's\n" {
		t.Errorf("%q", got)
	}
}

func TestWhatAnotherOwnerMadeIsNotOverwrittenUnasked(t *testing.T) {
	m := newMachine(t)
	p := ProjectOwner(tempDir(t))
	m.apply(want(host, key(config, HostOwner, "/model", `"theirs"`)))
	in := want([]Owner{p}, key(config, p, "/model", `"ours"`))
	if plan, _, err := m.try(in); err != ErrUndecided || !strings.Contains(plan.Changes[0].Meaning(), "host wants something else") {
		t.Errorf("%v: %s", err, plan.Changes[0].Meaning())
	}
	m.apply(with(in, Choice{Force: true}))
	m.settled(in)
	m.apply(want([]Owner{p}))
	if got := m.read("~/.codex/config.toml"); !strings.Contains(got, "theirs") {
		t.Errorf("the host's value is not back:\n%s", got)
	}
}

func TestWhatTheUserKeptIsNotOverwrittenWhenTheSpecMoves(t *testing.T) {
	for name, last := range map[string]bool{"refused at first": false, "refused as an edit": true} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			x, z := want(host, whole("file:~/f", HostOwner, "X\n")), want(host, whole("file:~/f", HostOwner, "Z\n"))
			if last {
				m.apply(x)
			}
			m.write("~/f", "mine\n")
			m.apply(with(x, Choice{Adopt: true}))
			m.settled(x)
			if _, _, err := m.try(z); err != ErrUndecided {
				t.Errorf("the spec moved: %v", err)
			}
			m.apply(with(z, Choice{Adopt: true}))
			m.settled(z)
			m.apply(want(host))
			if got := m.read("~/f"); got != "mine\n" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestWhatWasThereBeforeStaysAfterARestore(t *testing.T) {
	m := newMachine(t)
	in := want(host, whole("file:~/f", HostOwner, "X\n"))
	m.write("~/f", "X\n")
	m.apply(in)
	m.write("~/f", "Y\n")
	m.apply(with(in, Choice{Restore: true}))
	m.apply(want(host))
	if got := m.read("~/f"); got != "X\n" {
		t.Errorf("%q", got)
	}
}

func TestMergedEditsSurviveEveryMoveOfTheSpec(t *testing.T) {
	m := newMachine(t)
	text := func(first, last string) string { return first + "\n\n2\n\n3\n\n4\n\n" + last + "\n" }
	spec := func(last string) Input { return want(host, whole("file:~/f", HostOwner, text("1", last))) }
	m.apply(spec("a"))
	m.write("~/f", text("mine", "a"))
	m.apply(with(spec("b"), Choice{Merge: true}))
	m.settled(spec("b"))
	for _, last := range []string{"c", "d"} {
		m.apply(spec(last))
		if got := m.read("~/f"); got != text("mine", last) {
			t.Fatalf("%q", got)
		}
		m.settled(spec(last))
	}
	m.apply(want(host))
	if got := m.read("~/f"); got != text("mine", "d") {
		t.Errorf("dropped, the user's edits went too: %q", got)
	}
}

func TestAConflictDropsNothingOfEitherSide(t *testing.T) {
	m := newMachine(t)
	m.apply(want(host, whole("file:~/a", HostOwner, "1"), whole("file:~/b/c", HostOwner, "2")))
	in := want(host, whole("file:~/a", HostOwner, "1"), whole("file:~/a/x", HostOwner, "3"), whole("file:~/b/c", HostOwner, "2"), linked("link:~/b/c", HostOwner, "d"))
	before := m.tree()
	if _, _, err := m.try(in, func(o *ApplyOptions) { o.KeepGoing = true }); err != nil {
		t.Fatal(err)
	}
	if after := m.tree(); after != before {
		t.Errorf("%s\nwas\n%s", after, before)
	}
	m.settled(want(host, whole("file:~/a", HostOwner, "1"), whole("file:~/b/c", HostOwner, "2")))
}

func TestADroppedLeafIsRememberedWhileItsFileCannotBeRead(t *testing.T) {
	m := newMachine(t)
	const settings Address = "file:~/settings.json"
	x, y := key(settings, HostOwner, "/x", "1"), key(settings, HostOwner, "/y", "2")
	m.apply(want(host, x, y))
	good := m.read("~/settings.json")
	m.write("~/settings.json", "{broken")
	if _, _, err := m.try(want(host, x), func(o *ApplyOptions) { o.KeepGoing = true }); err != nil {
		t.Fatal(err)
	}
	m.write("~/settings.json", good)
	m.apply(want(host, x))
	if got := m.read("~/settings.json"); strings.Contains(got, `"y"`) || !strings.Contains(got, `"x"`) {
		t.Error(got)
	}
}

func TestAPlanOfAPartLosesNoRecord(t *testing.T) {
	m := newMachine(t)
	all := want(host, whole("file:~/a", HostOwner, "1"), whole("file:~/b", HostOwner, "2"))
	m.apply(all)
	for _, in := range []Input{
		{Owners: host, Declarations: all.Declarations, Targets: []string{"file:~/a"}},
		{Owners: host, Targets: []string{"file:~/a"}},
		{Owners: host, Excludes: []string{"file:~/b"}},
	} {
		m.apply(in)
		if got := m.owned("file:~/b"); got != "host:" {
			t.Fatalf("%+v: %q on record", in.Targets, got)
		}
	}
	m.apply(all)
	m.settled(all)
}

func TestAPartThatIsTakenAwayTakesWhatNeedsItAlong(t *testing.T) {
	m := newMachine(t)
	base, user := whole("file:~/base", HostOwner, "1"), whole("file:~/user", HostOwner, "2")
	user.DependsOn = []Address{"file:~/base"}
	m.apply(want(host, base, user))
	kept := Input{Owners: host, Excludes: []string{"file:~/user"}}
	if p := m.apply(kept); len(p.Changes) != 0 || m.read("~/base") != "1" {
		t.Errorf("what the excluded one needs was taken away: %q", m.read("~/base"))
	}
	m.apply(Input{Owners: host, Targets: []string{"file:~/base"}})
	if m.read("~/base")+m.read("~/user") != "" {
		t.Error("one of them is left without the other")
	}
}
