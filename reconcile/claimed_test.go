package reconcile_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	. "aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// claims is a lock whose lines name these leaves as created by aisync.
func claims(lines ...string) string {
	return "{\"format_version\":1}\n" + strings.Join(lines, "\n") + "\n"
}

func claim(address, key, live string) string {
	return fmt.Sprintf(`{"kind":"target","address":%q,"format":"json","key":%q,"live":%q,"provenance":"created"}`, address, key, live)
}

// TestALockAloneRemovesOnlyWhatGitHolds applies an empty spec in a clone whose
// lock claims files and keys that lie there, on a machine without any record.
func TestALockAloneRemovesOnlyWhatGitHolds(t *testing.T) {
	one := fsys.Digest([]byte("1"))
	for name, c := range map[string]struct {
		head  map[string]string // nil: no git
		gone  bool              // both the file and the key
		force bool
	}{
		"no git":                  {},
		"at HEAD":                 {head: map[string]string{"notes.md": "mine\n", "set.json": "{\"x\": 1}"}, gone: true},
		"not committed":           {head: map[string]string{}},
		"other bytes at HEAD":     {head: map[string]string{"notes.md": "theirs\n", "set.json": "{\"x\": 2}"}},
		"no such key at HEAD":     {head: map[string]string{"notes.md": "", "set.json": "{}"}},
		"HEAD that is no JSON":    {head: map[string]string{"notes.md": "?", "set.json": "<<<<<<<"}},
		"other bytes, with force": {head: map[string]string{"notes.md": "theirs\n"}, force: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.project = tempDir(t)
			m.write("notes.md", "mine\n")
			m.write("set.json", "{\"x\": 1, \"theirs\": 2}\n")
			if err := os.Symlink("notes.md", m.at("see")); err != nil {
				t.Fatal(err)
			}
			if c.head != nil {
				clone := machine{T: t, project: tempDir(t)}
				for f, text := range c.head {
					clone.write(f, text)
				}
				if c.gone {
					if err := os.Symlink("notes.md", clone.at("see")); err != nil {
						t.Fatal(err)
					}
				}
				m.head = clone.project
			}
			m.write("aisync.lock", claims(
				claim("file:notes.md", "", fsys.Digest([]byte("mine\n"))),
				claim("file:set.json", "/x", one),
				claim("link:see", "", fsys.LinkDigest("notes.md"))))
			in := want([]Owner{m.owner()})
			in.Choice.Force = c.force
			p := m.apply(in)
			if gone := m.read("notes.md") == "" && m.read("see") == "" && !strings.Contains(m.read("set.json"), `"x"`); gone != c.gone {
				t.Errorf("gone %v: %q %q %q", gone, m.read("notes.md"), m.read("set.json"), m.read("see"))
			}
			if kept := m.read("notes.md") == "mine\n" && m.read("see") != "" && strings.Contains(m.read("set.json"), `"x": 1`); kept == c.gone {
				t.Errorf("kept %v: %q %q %q", kept, m.read("notes.md"), m.read("set.json"), m.read("see"))
			}
			for _, ch := range p.Changes {
				if said := strings.Contains(ch.Leaves[0].Meaning, "only aisync.lock says"); said == c.gone {
					t.Errorf("%s %s: %q", ch.Action, ch.Target.Resource.Address, ch.Leaves[0].Meaning)
				}
			}
			m.settled(want([]Owner{m.owner()}))
		})
	}
}

// TestARecordOfThisMachineIsNoClaim removes what an apply here made, without git,
// and what only looks like it does not count as made here.
func TestARecordOfThisMachineIsNoClaim(t *testing.T) {
	m := newMachine(t)
	m.project = tempDir(t)
	m.apply(want([]Owner{m.owner()}, whole("file:a.md", m.owner(), "a\n"), key("file:s.json", m.owner(), "/x", "1")))
	m.write("mine.md", "mine\n")
	m.write("aisync.lock", m.read("aisync.lock")+claim("file:mine.md", "", fsys.Digest([]byte("mine\n")))+"\n")
	// A change elsewhere writes the records anew; the claim stays one.
	m.apply(want([]Owner{m.owner()}, whole("file:a.md", m.owner(), "a\n"), key("file:s.json", m.owner(), "/x", "1"),
		whole("file:mine.md", m.owner(), "other\n"), whole("file:b.md", m.owner(), "b\n")), func(o *ApplyOptions) { o.KeepGoing = true })
	m.apply(want([]Owner{m.owner()}))
	for _, gone := range []string{"a.md", "b.md", "s.json"} {
		if got := m.read(gone); got != "" {
			t.Errorf("%s is left: %q", gone, got)
		}
	}
}

// TestAClaimSurvivesTheRecordsOfAnApply shows that an apply of other things does
// not make a lock's claim this machine's own word.
func TestAClaimSurvivesTheRecordsOfAnApply(t *testing.T) {
	m := newMachine(t)
	m.project = tempDir(t)
	m.write("s.json", "{\"mine\": 1}\n")
	m.write("aisync.lock", claims(claim("file:s.json", "/mine", fsys.Digest([]byte("1")))))
	o := m.owner()
	m.apply(want([]Owner{o}, key("file:s.json", o, "/mine", "1"), whole("file:b.md", o, "b\n")))
	m.apply(want([]Owner{o}, whole("file:b.md", o, "c\n")))
	if got := m.read("s.json"); !strings.Contains(got, "mine") {
		t.Errorf("the key is gone: %q", got)
	}
}
