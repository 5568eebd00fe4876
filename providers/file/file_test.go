package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// machine is a project, and an environment that keeps what is displaced.
type machine struct {
	dir  string
	env  reconcile.WriteEnv
	kept map[reconcile.Fingerprint][]byte
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir(), kept: map[reconcile.Fingerprint][]byte{}}
	disk, err := fsys.New(fsys.Options{Project: m.dir, Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	m.env = reconcile.WriteEnv{FS: disk, ReadEnv: reconcile.ReadEnv{FS: disk,
		Contents: func(f reconcile.Fingerprint) ([]byte, bool) { b, ok := m.kept[f]; return b, ok },
		Backup: func(id reconcile.BackupID) ([]byte, error) {
			if b, ok := m.kept[reconcile.Fingerprint(id)]; ok {
				return b, nil
			}
			return nil, fs.ErrNotExist
		}}}
	m.env.Keep = func(old fsys.LogicalPath, token reconcile.Fingerprint) error {
		b, err := disk.ReadFile(old)
		m.kept[token] = b
		return err
	}
	return m
}

func (m *machine) put(t *testing.T, name, content string) {
	t.Helper()
	write(t, filepath.Join(m.dir, name), content, 0o644)
}

func (m *machine) get(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(m.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "(gone)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// decide is a change of the file name with the given decisions, as a plan makes
// it. Leaves are in the order of their keys.
func (m *machine) decide(name, format string, leaves ...reconcile.LeafChange) reconcile.Change {
	c := reconcile.Change{Target: reconcile.Target{Resource: reconcile.Resource{Address: reconcile.Address("file:" + name), Format: format}}, Leaves: leaves}
	for _, l := range leaves {
		if l.Want != nil {
			l.Want.Key = l.Key
			c.Target.Resource.Leaves = append(c.Target.Resource.Leaves, *l.Want)
		}
		if l.Last != nil {
			l.Last.Key = l.Key
			c.Target.Last = append(c.Target.Last, *l.Last)
		}
	}
	c.Before = Provider{}.Observe(context.Background(), m.env.ReadEnv, []reconcile.Target{c.Target})[0]
	return c
}

func (m *machine) apply(t *testing.T, c reconcile.Change) reconcile.Outcome {
	t.Helper()
	out, err := Provider{}.Apply(t.Context(), c, m.env)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func act(key reconcile.LeafKey, a reconcile.Action, want reconcile.Body, last *reconcile.LeafRecord) reconcile.LeafChange {
	l := reconcile.LeafChange{Key: key, Last: last, Decision: reconcile.Decision{Action: a}}
	if want != nil {
		l.Want = &reconcile.Leaf{Body: want}
	}
	return l
}

func TestSeedAndLineShareFileAndGoSeparately(t *testing.T) {
	m := newMachine(t)
	const key = "line:@AGENTS.md"
	seed, line := Whole([]byte("# Notes\n"), 0o644), Line("")
	out := m.apply(t, m.decide("CLAUDE.md", "text", act(key, reconcile.Create, line, nil), act(reconcile.Seed, reconcile.Create, seed, nil)))
	if got := m.get(t, "CLAUDE.md"); !strings.HasPrefix(got, "# Notes\n") || !strings.Contains(got, "\n@AGENTS.md\n") {
		t.Fatalf("made %q", got)
	}
	lastLine := &reconcile.LeafRecord{Live: line.Fingerprint(), Private: out.LeafPrivate[key]}
	lastSeed := &reconcile.LeafRecord{Live: seed.Fingerprint(), Private: out.LeafPrivate[reconcile.Seed]}

	o := m.decide("CLAUDE.md", "text", act(key, reconcile.None, line, lastLine), act(reconcile.Seed, reconcile.None, seed, lastSeed)).Before
	if o.Live[reconcile.Seed] != seed.Fingerprint() {
		t.Error("what we added to the seed counts as an edit of it")
	}
	full := m.get(t, "CLAUDE.md")
	for name, c := range map[string]struct {
		line, seed reconcile.LeafChange
		want       string
	}{
		"both go":     {act(key, reconcile.Delete, nil, lastLine), act(reconcile.Seed, reconcile.Delete, nil, lastSeed), "(gone)"},
		"seed goes":   {act(key, reconcile.None, line, lastLine), act(reconcile.Seed, reconcile.Delete, nil, lastSeed), "@AGENTS.md\n"},
		"line goes":   {act(key, reconcile.Delete, nil, lastLine), act(reconcile.Seed, reconcile.None, seed, lastSeed), "# Notes\n"},
		"seed is his": {act(key, reconcile.Delete, nil, lastLine), act(reconcile.Seed, reconcile.Release, nil, lastSeed), "# Notes\n"},
	} {
		m.put(t, "CLAUDE.md", full)
		m.apply(t, m.decide("CLAUDE.md", "text", c.line, c.seed))
		if got := m.get(t, "CLAUDE.md"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAnEmptyFileOfTheUserIsNotDeletedWithOurLastLine(t *testing.T) {
	for name, there := range map[string]bool{"(gone)": false, "": true} {
		m := newMachine(t)
		if there {
			m.put(t, ".gitignore", "")
		}
		out := m.apply(t, m.decide(".gitignore", "text", act("line:/.cache/", reconcile.Create, Line("# --- x ---"), nil)))
		m.apply(t, m.decide(".gitignore", "text", act("line:/.cache/", reconcile.Delete, nil, &reconcile.LeafRecord{Private: out.LeafPrivate["line:/.cache/"]})))
		if got := m.get(t, ".gitignore"); got != name {
			t.Errorf("there before %v: %q afterwards", there, got)
		}
	}
}

func TestBrokenDocumentIsConflictWithPosition(t *testing.T) {
	m := newMachine(t)
	const broken = "{\n  \"a\": 1,\n  oops\n}\n"
	m.put(t, ".claude/settings.json", broken)
	want := act("/b", reconcile.Create, Value(merge.Value(`1`)), nil)
	o := m.decide(".claude/settings.json", "json", want).Before
	if o.Presence != reconcile.Blocked || !strings.HasPrefix(o.Reason, ".claude/settings.json:3:") {
		t.Errorf("presence %d, %q", o.Presence, o.Reason)
	}
	if o := m.decide(".claude/settings.json", "json", act("/b", reconcile.Delete, nil, &reconcile.LeafRecord{})).Before; o.Presence != reconcile.Unknown {
		t.Errorf("a recorded leaf in it: presence %d; it would be forgotten", o.Presence)
	}
	c := m.decide(".claude/settings.json", "json", want)
	if _, err := (Provider{}).Apply(t.Context(), c, m.env); err == nil {
		t.Error("applied to a broken document")
	}
	if got := m.get(t, ".claude/settings.json"); got != broken {
		t.Errorf("now %q", got)
	}
}

func TestBlockedTargetNamesNextStep(t *testing.T) {
	m := newMachine(t)
	m.put(t, "real", "text")
	for name, make := range map[string]func(path string) error{
		"link":   func(p string) error { return os.Symlink("real", p) },
		"folder": func(p string) error { return os.Mkdir(p, 0o755) },
	} {
		if err := make(filepath.Join(m.dir, name)); err != nil {
			t.Fatal(err)
		}
		o := m.decide(name, "", act("", reconcile.Create, Whole(nil, 0o644), nil)).Before
		if o.Presence != reconcile.Blocked || !strings.Contains(o.Reason, "is a "+name) || !strings.Contains(o.Reason, ";") {
			t.Errorf("%s: presence %d, %q", name, o.Presence, o.Reason)
		}
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(m.dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"real/below", "out/file"} {
		if o := m.decide(name, "", act("", reconcile.Create, Whole(nil, 0o644), nil)).Before; o.Presence != reconcile.Blocked || o.Reason == "" {
			t.Errorf("%s: presence %d, %q", name, o.Presence, o.Reason)
		}
	}
}

func TestThreeWayMergeKeepsBothChanges(t *testing.T) {
	m := newMachine(t)
	base, mine, theirs := "one\ntwo\nthree\nfour\nfive\n", "ONE\ntwo\nthree\nfour\nfive\n", "one\ntwo\nthree\nfour\nFIVE\n"
	old := Whole([]byte(base), 0o644)
	last := &reconcile.LeafRecord{Live: old.Fingerprint()}
	m.kept[old.Fingerprint()] = []byte(base)
	m.put(t, "a.md", mine)
	l := act("", reconcile.Update, Whole([]byte(theirs), 0o644), last)
	l.MergeBoth = true
	c := m.decide("a.md", "", l)
	if clean, _ := (Provider{}).CanMerge(t.Context(), m.env.ReadEnv, c, l); !clean {
		t.Fatal("cannot merge different lines")
	}
	out := m.apply(t, c)
	if got := m.get(t, "a.md"); got != "ONE\ntwo\nthree\nfour\nFIVE\n" {
		t.Fatalf("merged to %q", got)
	}
	if out.LeafLive[""] != out.Token || out.Token == l.Want.Body.Fingerprint() {
		t.Errorf("recorded as %q", out.LeafLive[""])
	}
	m.kept[l.Want.Body.Fingerprint()] = out.Content

	// The spec moves on: the edit of then is still the user's.
	next := act("", reconcile.Update, Whole([]byte("one\ntwo\nthree\nFOUR\nFIVE\n"), 0o644), &reconcile.LeafRecord{Live: out.Token, Want: l.Want.Body.Fingerprint()})
	next.Rel.LiveLast = true
	m.apply(t, m.decide("a.md", "", next))
	if got := m.get(t, "a.md"); got != "ONE\ntwo\nthree\nFOUR\nFIVE\n" {
		t.Errorf("then %q", got)
	}

	clash := act("", reconcile.Update, Whole([]byte("eins\ntwo\nthree\nfour\nfive\n"), 0o644), last)
	if clean, marked := (Provider{}).CanMerge(t.Context(), m.env.ReadEnv, m.decide("a.md", "", clash), clash); clean || !marked {
		t.Error("merges two edits of one line")
	}
}

func TestModesOfTheUserStay(t *testing.T) {
	m := newMachine(t)
	write(t, filepath.Join(m.dir, "s.json"), "{}\n", 0o600)
	m.apply(t, m.decide("s.json", "json", act("/a", reconcile.Create, Value(merge.Value(`1`)), nil)))
	write(t, filepath.Join(m.dir, "run"), "a", 0o640)
	m.apply(t, m.decide("run", "", act("", reconcile.Update, Whole([]byte("b"), 0o755), nil)))
	for name, want := range map[string]fs.FileMode{"s.json": 0o600, "run": 0o750} {
		if info, err := os.Stat(filepath.Join(m.dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestASourceThatChangedSinceThePlanIsStale(t *testing.T) {
	m := newMachine(t)
	source := filepath.Join(t.TempDir(), "rule.md")
	write(t, source, "old", 0o644)
	upper := func(b []byte) []byte { return []byte(strings.ToUpper(string(b))) }
	body := FromSource(source, reconcile.Fingerprint(fsys.Digest([]byte("OLD"))), 0o644, upper)
	if body.Fingerprint() != Whole([]byte("OLD"), 0o644).Fingerprint() {
		t.Error("not the fingerprint of its bytes")
	}
	c := m.decide("rule.md", "", act("", reconcile.Create, body, nil))
	write(t, source, "new", 0o644)
	if _, err := (Provider{}).Apply(t.Context(), c, m.env); !errors.Is(err, reconcile.ErrStale) {
		t.Errorf("apply: %v", err)
	}
	write(t, source, "old", 0o644)
	m.apply(t, c)
	if got := m.get(t, "rule.md"); got != "OLD" {
		t.Errorf("wrote %q", got)
	}
}

func TestExplainShowsOurLeavesAndNothingElse(t *testing.T) {
	m := newMachine(t)
	m.put(t, "s.json", `{"user": "private", "a": {"b": 1}, "gone": true}`)
	env := Value(merge.Value(`{"env": {"API_KEY": "hunter2", "LEVEL": "warn", "TOKEN": "${TOKEN}"}}`))
	edited := act("/a/b", reconcile.Clash, Value(merge.Value(`2`)), &reconcile.LeafRecord{})
	edited.Rel = reconcile.Relation{Last: true, WantLast: true}
	c := m.decide("s.json", "json", edited, act("/gone", reconcile.Delete, nil, &reconcile.LeafRecord{}), act("/mcp", reconcile.Create, env, nil))
	var got []string
	for _, l := range (Provider{}).Explain(t.Context(), m.env.ReadEnv, c) {
		got = append(got, string(l.Op)+l.Text)
	}
	want := []string{"-/gone", "~/a/b is 1, was recorded as 2", `+/mcp: {"env":{"API_KEY":"(not shown)","LEVEL":"warn","TOKEN":"${TOKEN}"}}`}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExplainOfAWholeTextIsADiff(t *testing.T) {
	m := newMachine(t)
	m.put(t, "a.md", "one\ntwo\n")
	c := m.decide("a.md", "", act("", reconcile.Update, Whole([]byte("one\nzwei\n"), 0o755), nil))
	var got []string
	for _, l := range (Provider{}).Explain(t.Context(), m.env.ReadEnv, c) {
		got = append(got, string(l.Op)+l.Text)
	}
	want := []string{"~becomes executable", "@@@ -1,2 +1,2 @@", " one", "-two", "+zwei"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhereNamesTheLine(t *testing.T) {
	m := newMachine(t)
	m.put(t, "a.md", "one\nTWO\n")
	old := Whole([]byte("one\ntwo\n"), 0o644)
	whole := act("", reconcile.Clash, old, &reconcile.LeafRecord{Live: old.Fingerprint()})
	whole.Rel.WantLast = true
	m.put(t, "s.json", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n")
	key := func(k reconcile.LeafKey) reconcile.LeafChange {
		l := act(k, reconcile.Clash, Value(merge.Value(`2`)), &reconcile.LeafRecord{})
		l.Rel = reconcile.Relation{Last: true, WantLast: true}
		return l
	}
	for _, c := range []struct {
		file, format string
		leaf         reconcile.LeafChange
		line         int
		text         string
	}{
		{"a.md", "", whole, 2, `is "TWO", was "two"`},
		{"s.json", "json", key("/a/b"), 3, "/a/b is 1, was recorded as 2"},
		{"s.json", "json", key("/a/c"), 2, "/a/c is gone"},
		{"s.json", "json", key("/x/y"), 1, "/x/y is gone"},
		{"none.md", "", whole, 0, "gone"},
	} {
		got := Provider{}.Where(t.Context(), m.env.ReadEnv, m.decide(c.file, c.format, c.leaf))
		if len(got) != 1 || got[0] != (reconcile.Place{Key: c.leaf.Key, Line: c.line, Text: c.text}) {
			t.Errorf("%s %s: %+v, want line %d %q", c.file, c.leaf.Key, got, c.line, c.text)
		}
	}
}

func TestAnUnreadableFileIsUnknown(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	m := newMachine(t)
	write(t, filepath.Join(m.dir, "a"), "x", 0o000)
	if o := m.decide("a", "", act("", reconcile.Update, Whole(nil, 0o644), nil)).Before; o.Presence != reconcile.Unknown || !strings.Contains(o.Reason, "readable") {
		t.Errorf("presence %d, %q", o.Presence, o.Reason)
	}
}
