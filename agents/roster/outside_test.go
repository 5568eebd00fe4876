package roster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/process/processtest"
	"aisync.dev/aisync/catalog"
)

// blind is a table in a sandbox.
type blind struct{ process.Table }

func (blind) Partial() string { return "a sandbox" }

func TestRosterSaysWhatItCannotSee(t *testing.T) {
	table := process.At(processtest.Table(t, p{PID: 50, Args: []string{"agent-roster"}, Cwd: "/app"}), 50)
	if r := Look(table, "/app", catalog.Runtimes(), nil); !r.Alone() || !r.Complete() {
		t.Errorf("of a whole table: %+v", r)
	}
	if r := Look(blind{table}, "/app", catalog.Runtimes(), nil); r.Alone() || r.Complete() || len(r.Doubts()) != 1 {
		t.Errorf("of a part: %+v", r)
	}
	if r := Look(process.At(filepath.Join(t.TempDir(), "none"), 0), "/app", catalog.Runtimes(), nil); r.Alone() || len(r.Doubts()) == 0 {
		t.Errorf("of a hidden one: %+v", r)
	}
}

func TestRosterReadsRecords(t *testing.T) {
	root := t.TempDir()
	table := process.At(processtest.Table(t, p{PID: 50, Args: []string{"agent-roster"}, Cwd: root}), 50)
	others := func(by keeper.Caller) Roster {
		return Look(blind{table}, root, catalog.Runtimes(), func() keeper.Caller { return by })
	}
	a := keeper.Agent{ID: "helper-1f3a", Seat: "codex-2", Runtime: "codex", Session: "s1", Helper: true}
	if err := keeper.Start(table, root, a, ""); err != nil {
		t.Fatal(err)
	}
	if r := others(keeper.Caller{Session: "s2"}); len(r.Agents) != 1 || r.Agents[0].ID != a.ID || r.Agents[0].Seat != a.Seat || !r.Agents[0].Helper || r.Agents[0].Outside == "" || r.Own != nil {
		t.Errorf("for another: %+v", r)
	}
	if r := others(keeper.Caller{ID: a.ID, Session: "s2"}); len(r.Agents) != 1 {
		t.Errorf("for an agent with an inherited id: %+v", r)
	}
	for _, by := range []keeper.Caller{{Session: "s1"}, {ID: a.ID}} {
		if r := others(by); len(r.Agents) != 0 || r.Own == nil || r.Own.ID != a.ID || r.Alone() {
			t.Errorf("for itself, by %+v: %+v", by, r)
		}
	}
	records, err := filepath.Glob(filepath.Join(root, keeper.Dir, "*.json"))
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	old := time.Now().Add(-2 * keeper.Lease)
	if err := os.Chtimes(records[0], old, old); err != nil {
		t.Fatal(err)
	}
	r := others(keeper.Caller{})
	if len(r.Agents) != 0 || len(r.Doubtful) != 1 || !slices.ContainsFunc(r.Doubts(), func(s string) bool { return strings.Contains(s, "archive --agent helper-1f3a --gone") }) {
		t.Errorf("past its lease: %+v", r)
	}
	if err := os.WriteFile(records[0], []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := Look(table, root, catalog.Runtimes(), nil); r.Alone() || len(r.Unknown) != 1 {
		t.Errorf("with a record that is torn: %+v", r)
	}
}

// hidden is a table that hides the folders of processes.
type hidden struct{ process.Table }

func (h hidden) Cwd(int) (string, error) { return "", process.ErrHidden }
func (h hidden) Read(pid int) (process.Process, error) {
	p, err := h.Table.Read(pid)
	p.UID = 4242
	return p, err
}

func TestAnotherUsersAgentMayBeHereIfItMayEnter(t *testing.T) {
	root := t.TempDir()
	table := hidden{process.At(processtest.Table(t, p{PID: 7, Args: []string{"claude"}, Cwd: "/x"}, p{PID: 50, Args: []string{"agent-roster"}, Cwd: "/x"}), 50)}
	for mode, want := range map[os.FileMode]bool{0o700: true, 0o755: false, 0o750: false, 0o711: false, 0o744: true} {
		if err := os.Chmod(root, mode); err != nil {
			t.Fatal(err)
		}
		for at := filepath.Dir(root); at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
			if err := os.Chmod(at, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if r := Look(table, root, catalog.Runtimes(), nil); r.Alone() != want {
			t.Errorf("%o: alone: %v, want %v: %+v", mode, r.Alone(), want, r)
		}
	}
}

func TestInnermostProjectCounts(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".ai", "code/app/.ai", "code/app/src", "code/tool/.git", "notes"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, mark := range []string{".ai/protocols.org", "code/app/.ai/protocols.org"} {
		if err := os.WriteFile(filepath.Join(home, mark), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	table := process.At(processtest.Table(t,
		p{PID: 7, Args: []string{"claude"}, Cwd: filepath.Join(home, "code/app/src")}, p{PID: 8, Args: []string{"claude"}, Cwd: filepath.Join(home, "code/tool")},
		p{PID: 9, Args: []string{"claude"}, Cwd: filepath.Join(home, "notes")}, p{PID: 10, Args: []string{"claude"}, Cwd: filepath.Join(home, "code/app")}), 0)
	for dir, want := range map[string][]int{"": {8, 9}, "code/app": {7, 10}, "code/tool": {8}, "code": {}} {
		if got := pids(Look(table, filepath.Join(home, dir), catalog.Runtimes(), nil).Agents); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", dir, got, want)
		}
	}
}
