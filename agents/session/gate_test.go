package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
)

func TestStatesFollowRoster(t *testing.T) {
	root := newProject(t)
	started(t, root, "", 10)
	started(t, root, "helper-aaaa", 0)
	started(t, root, "helper-bbbb", 12)
	write(t, filepath.Join(root, project.Contexts, "by hand.org"), "#+AGENT_ID: by hand\n")
	write(t, filepath.Join(root, project.Contexts, "velox.app.claude.1111.org"), "#+HOST: velox-of-another\n#+PROCESS: 12 12\n")
	states := func(r roster.Roster) string {
		t.Helper()
		list, err := List(root, r, Context{})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range list {
			out = append(out, string(e.State))
		}
		return strings.Join(out, " ")
	}
	hidden := func(uid int) roster.Roster {
		return roster.Roster{Hidden: []roster.Agent{{PID: 20, UID: uid, Runtime: "claude"}}}
	}
	for name, c := range map[string]struct {
		r    roster.Roster
		want string // primary, by hand, aaaa, bbbb, velox's
	}{
		"none lives":                      {roster.Roster{}, "crashed crashed crashed crashed stale"},
		"all live":                        {agents(map[int]string{10: "", 11: "helper-aaaa", 12: "helper-bbbb", 13: "by hand"}), "live live live live stale"},
		"by its process, started raw":     {agents(map[int]string{12: ""}), "crashed crashed crashed live stale"},
		"one that may have named itself":  {agents(map[int]string{30: ""}), "crashed stale stale crashed stale"},
		"a number that was given again":   {roster.Roster{Agents: []roster.Agent{{PID: 12, Start: 99, Known: true, ID: "x"}}}, "crashed crashed crashed crashed stale"},
		"one whose id cannot be read":     {roster.Roster{Agents: []roster.Agent{{PID: 40}}}, "stale stale stale stale stale"},
		"another user's, of these files":  {hidden(os.Getuid()), "stale stale stale stale stale"},
		"another user's, of none of them": {hidden(os.Getuid() + 1), "crashed crashed crashed crashed stale"},
	} {
		if got := states(c.r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestGateAndClosingDuties(t *testing.T) {
	type want struct {
		open   bool
		gate   []string // in the way
		left   []string
		role   string
		duties string
	}
	for name, c := range map[string]struct {
		self     string
		contexts map[string]int // id and process; 0 is none
		live     map[int]string
		want     want
	}{
		"the primary alone":                         {"", map[string]int{"": 1}, nil, want{true, nil, nil, "primary", "all"}},
		"the primary beside a helper":               {"", map[string]int{"": 1, "helper-a": 2}, map[int]string{2: "helper-a"}, want{false, []string{"helper-a"}, nil, "primary", "ask"}},
		"the primary beside one without a context":  {"", map[string]int{"": 1}, map[int]string{3: "helper-b"}, want{false, []string{"helper-b"}, nil, "primary", "ask"}},
		"the primary beside one without an id":      {"", map[string]int{"": 1}, map[int]string{3: ""}, want{false, []string{""}, nil, "primary", "ask"}},
		"the primary beside a crashed helper":       {"", map[string]int{"": 1, "helper-a": 2}, nil, want{true, nil, []string{"helper-a"}, "primary", "all"}},
		"a helper beside the primary":               {"helper-a", map[string]int{"": 1, "helper-a": 2}, map[int]string{1: ""}, want{false, []string{""}, nil, "helper", "own"}},
		"a helper beside another":                   {"helper-a", map[string]int{"helper-a": 2, "helper-b": 3}, map[int]string{3: "helper-b"}, want{false, []string{"helper-b"}, nil, "helper", "own"}},
		"a helper that outlives its primary":        {"helper-a", map[string]int{"helper-a": 2}, nil, want{true, nil, nil, "orphan", "all"}},
		"a helper whose primary crashed":            {"helper-a", map[string]int{"": 1, "helper-a": 2}, nil, want{true, nil, []string{""}, "orphan", "all"}},
		"a helper that has begun nothing, alone":    {"helper-a", nil, nil, want{true, nil, nil, "orphan", "all"}},
		"a new primary beside a helper of the last": {"", map[string]int{"helper-a": 2}, map[int]string{2: "helper-a"}, want{false, []string{"helper-a"}, nil, "primary", "ask"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := newProject(t)
			for id, pid := range c.contexts {
				started(t, root, id, pid)
			}
			self := ByID(root, c.self)
			live := agents(c.live)
			list, err := List(root, live, self)
			if err != nil {
				t.Fatal(err)
			}
			ids := func(es []Entry) []string {
				var out []string
				for _, e := range es {
					out = append(out, e.ID)
				}
				return out
			}
			g := Check(self, list, live)
			if g.Open != c.want.open || !slices.Equal(ids(g.Helpers), c.want.gate) || !slices.Equal(ids(g.Leftover), c.want.left) {
				t.Errorf("gate: %+v", g)
			}
			if d := Close(self, list, live); d.Role != c.want.role || d.Duties != c.want.duties || len(d.Others) != len(c.want.gate) {
				t.Errorf("duties: %+v", d)
			}
		})
	}
}

func TestArchiveNames(t *testing.T) {
	root := newProject(t)
	archive := func(id, words string) string {
		t.Helper()
		c := started(t, root, id, 0)
		text := read(t, c.Path) + words
		write(t, c.Path, text)
		to, err := c.Archive(words, noon)
		if err != nil {
			t.Fatal(err)
		}
		if read(t, to) != text {
			t.Errorf("%s is not the context", to)
		}
		if _, err := os.Lstat(c.Path); err == nil {
			t.Errorf("%s is still there", c.Path)
		}
		return filepath.Base(to)
	}
	id := "pearl.app.claude.a83f"
	for _, c := range []struct{ id, words, want string }{
		{id, "Fix the parser", "2026-05-28-12-30-pearl.app.claude.a83f-fix-the-parser.org"},
		{"", "Fix the parser", "2026-05-28-12-30-fix-the-parser.org"},
		{"", "", "2026-05-28-12-30.org"},
		{"helper-1f3a", "../../etc/passwd", "2026-05-28-12-30-helper-1f3a-etc-passwd.org"},
		{"helper-1f3a", "日本語", "2026-05-28-12-30-helper-1f3a-7771.org"},
		{"helper-2222", strings.Repeat("very long words ", 40), "2026-05-28-12-30-helper-2222-very-long-words-very-long-words-very.org"},
	} {
		if got := archive(c.id, c.words); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	for n, want := range []string{"", "-2", "-3"} { // one agent, one minute, one word
		write(t, filepath.Join(root, project.Sessions, "unrelated.org"), "x")
		c := started(t, root, "helper-3333", n+1)
		to, err := c.Archive("same", noon)
		if err != nil || filepath.Base(to) != "2026-05-28-12-30-helper-3333-same"+want+".org" {
			t.Errorf("%s, %v", to, err)
		}
	}
	if _, err := ByID(root, "helper-4444").Archive("x", noon); err == nil || !strings.Contains(err.Error(), "no context of helper-4444") {
		t.Error(err)
	}
}

// What is there after a kill between any two system calls of Start and Archive
// is one of these, and the next call ends what was begun.
func TestArchiveSurvivesCrash(t *testing.T) {
	id := "helper-1f3a"
	c := func(root string) Context { return ByID(root, id) }
	steps := map[string]func(t *testing.T, root string){
		"start: the folder is there": func(t *testing.T, root string) {
			if err := os.MkdirAll(filepath.Join(root, project.Contexts), 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"start: half of the new file": func(t *testing.T, root string) {
			write(t, filepath.Join(root, project.Contexts, tempMark+"1"), "#+TIT")
		},
		"start: both names": func(t *testing.T, root string) {
			if err := os.Link(started(t, root, id, 0).Path, filepath.Join(root, project.Contexts, tempMark+"1")); err != nil {
				t.Fatal(err)
			}
		},
		"archive: the folder is there": func(t *testing.T, root string) {
			started(t, root, id, 0)
			if err := os.MkdirAll(filepath.Join(root, project.Sessions), 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"archive: both names": func(t *testing.T, root string) {
			from := started(t, root, id, 0).Path
			if err := os.MkdirAll(filepath.Join(root, project.Sessions), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(from, filepath.Join(root, project.Sessions, "2026-05-27-10-00-"+id+"-words.org")); err != nil {
				t.Fatal(err)
			}
		},
		"archive: a copy on another disk": func(t *testing.T, root string) {
			write(t, filepath.Join(root, project.Sessions, "2026-05-27-10-00-"+id+"-words.org"), read(t, started(t, root, id, 0).Path))
		},
	}
	for name, crash := range steps {
		t.Run(name, func(t *testing.T) {
			root := newProject(t)
			crash(t, root)
			if ids, err := IDs(root); err != nil || len(ids) > 1 {
				t.Errorf("%q, %v", ids, err)
			}
			// An hour later, when the next one comes.
			later := time.Now().Add(2 * time.Hour)
			if _, err := c(root).Start(Meta{Host: identity.Host(), Role: "agent", Runtime: "claude", Started: later}, roster.Roster{}); err != nil {
				t.Fatal(err)
			}
			text := read(t, c(root).Path)
			if !strings.HasPrefix(text, "#+TITLE: Session context\n#+AGENT_ID: "+id+"\n") || !strings.HasSuffix(text, "* Journal\n") {
				t.Errorf("%s", text)
			}
			if _, err := c(root).Archive("words", noon); err != nil {
				t.Fatal(err)
			}
			left, err := filepath.Glob(filepath.Join(root, project.Contexts, "*.org"))
			if err != nil || len(left) > 0 {
				t.Errorf("left %q, %v", left, err)
			}
			if temps, _ := filepath.Glob(filepath.Join(root, project.Contexts, tempMark+"*")); len(temps) > 0 {
				t.Errorf("left %q", temps)
			}
			archives, err := filepath.Glob(filepath.Join(root, project.Sessions, "*.org"))
			if err != nil || len(archives) != 1 || read(t, archives[0]) != text {
				t.Errorf("archives %q, %v", archives, err)
			}
		})
	}
}

func TestSnapshotIsSeparateFile(t *testing.T) {
	root := newProject(t, "todo.org", "* A\n")
	temp := t.TempDir()
	var made []string
	for range 2 {
		to, err := Snapshot(root, filepath.Join(root, "todo.org"), temp, noon)
		if err != nil || read(t, to) != "* A\n" || filepath.Base(to) != "todo.org" || slices.Contains(made, to) {
			t.Errorf("%s, %v", to, err)
		}
		made = append(made, to)
	}
	for _, file := range []string{"missing.org", ".ai"} {
		if to, err := Snapshot(root, filepath.Join(root, file), temp, noon); err == nil {
			t.Errorf("%s: %s", file, to)
		}
	}
}

func TestJournalAppendsLines(t *testing.T) {
	root := newProject(t)
	c := ByID(root, "helper-1f3a")
	if err := c.Journal(Intent{File: "todo.org", Heading: "H", What: "w"}, noon); err == nil || !strings.Contains(err.Error(), "aisync session start") {
		t.Errorf("%v", err)
	}
	started(t, root, c.ID, 0)
	write(t, c.Path, read(t, c.Path)+"torn by a cra")
	if err := c.Journal(Intent{File: "todo.org", Heading: "A\nB", What: "two\n* lines"}, noon); err != nil {
		t.Fatal(err)
	}
	if text := read(t, c.Path); !strings.HasSuffix(text, "torn by a cra\n- [2026-05-28 Thu 12:30:00] todo.org :: A B :: two * lines\n") {
		t.Errorf("%s", text)
	}
}
