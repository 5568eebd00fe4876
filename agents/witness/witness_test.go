package witness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/catalog"
)

// world is a project with a primary, claude, and codex, whose turn is old.
type world struct {
	*testing.T
	root   string
	ledger *ledger.Ledger
	look   Look
	screen []string // what the next looks at the window show
	agent  *exec.Cmd
}

func newWorld(t *testing.T, command ...string) *world {
	t.Helper()
	w := &world{T: t, root: t.TempDir()}
	var err error
	if w.ledger, _, err = ledger.Init(w.root, "pi"); err != nil {
		t.Fatal(err)
	}
	w.agent = exec.Command(command[0], command[1:]...)
	if err := w.agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.agent.Process.Kill(); _ = w.agent.Wait() })
	w.take("claude", os.Getpid())
	w.take("codex", w.agent.Process.Pid)
	w.look = Look{process.System(), w.root, "codex", catalog.Runtimes(), func(*seat.Seat) (string, bool) {
		if len(w.screen) == 0 {
			return "", false
		}
		shown := w.screen[0]
		w.screen = w.screen[1:]
		return shown, true
	}}
	w.turn(10 * time.Minute)
	return w
}

func (w *world) take(runtime string, pid int) { w.takeIn("s-"+runtime, runtime, pid) }

// takeIn is take for a session, "" before the agent's first hook.
func (w *world) takeIn(session, runtime string, pid int) {
	w.Helper()
	p, err := process.System().Read(pid)
	if err != nil {
		w.Skip(err)
	}
	if _, err := seat.At(process.System(), w.root, time.Now()).Take(seat.Ask{Runtime: runtime, Session: session, PID: pid, Start: p.Start}); err != nil {
		w.Fatal(err)
	}
}

// turn makes codex's last sign of life old.
func (w *world) turn(age time.Duration) {
	w.Helper()
	if err := keeper.Moves(w.root, "codex", 3*time.Minute); err != nil {
		w.Fatal(err)
	}
	last := time.Now().Add(-age)
	if err := os.Chtimes(filepath.Join(w.root, keeper.Dir, "codex.turn"), last, last); err != nil {
		w.Fatal(err)
	}
}

// report looks, and returns the messages that an agent has got in all.
func (w *world) report(agent string) []string {
	w.Helper()
	if err := w.look.Report(); err != nil {
		w.Fatal(err)
	}
	var out []string
	mail, err := w.ledger.Unread(agent)
	if err != nil {
		w.Fatal(err)
	}
	for _, m := range mail {
		out = append(out, m.Body)
	}
	return out
}

func TestStallIsReportedOnce(t *testing.T) {
	w := newWorld(t, "sleep", "300")
	for range 2 {
		if got := w.report("claude"); len(got) != 1 || !strings.HasPrefix(got[0], "codex (codex) has stalled: no sign of life, and its turn has not ended") {
			t.Fatalf("%q", got)
		}
	}
	w.turn(0)
	if got := w.report("claude"); len(got) != 1 {
		t.Errorf("an agent that moved: %q", got)
	}
	w.turn(5 * time.Minute) // it stalls again
	if got := w.report("claude"); len(got) != 2 {
		t.Errorf("its second stall: %q", got)
	}
	if err := keeper.Rests(w.root, "codex"); err != nil {
		t.Fatal(err)
	}
	if got := w.report("claude"); len(got) != 2 {
		t.Errorf("an agent whose turn has ended: %q", got)
	}
}

func TestStallNamesTheQuestion(t *testing.T) {
	w := newWorld(t, "sleep", "300")
	w.screen = []string{"  some text\n│ Would you like to run the following command? │\n  > 1. Yes\n"}
	if got := w.report("claude"); len(got) != 1 || !strings.Contains(got[0], "it waits for a person at: Would you like to run the following command?") {
		t.Errorf("%q", got)
	}
}

// Before its first hook an agent that shows no question may wait for a prompt.
func TestQuestionBeforeTheFirstHook(t *testing.T) {
	w := newWorld(t, "sh", "-c", "sleep 300; :")
	if err := os.Remove(filepath.Join(w.root, seat.Records, "codex.json")); err != nil {
		t.Fatal(err)
	}
	w.takeIn("", "codex", w.agent.Process.Pid)
	w.screen = []string{"> type here", "> type here"}
	if got := w.report("claude"); len(got) != 0 {
		t.Errorf("without a question: %q", got)
	}
	w.screen = []string{"Do you trust the contents of this directory?\n 1. Yes"}
	if got := w.report("claude"); len(got) != 1 || !strings.Contains(got[0], "it waits for a person at: Do you trust the contents of this directory?") {
		t.Errorf("%q", got)
	}
}

func TestWindowThatPrintsHasNotStalled(t *testing.T) {
	w := newWorld(t, "sleep", "300")
	w.screen = []string{"thinking 301 s", "thinking 304 s"}
	if got := w.report("claude"); len(got) != 0 {
		t.Errorf("%q", got)
	}
	w.screen = []string{"thinking", "thinking"}
	if got := w.report("claude"); len(got) != 1 {
		t.Errorf("a window that stands still: %q", got)
	}
}

func TestCommandThatRunsIsNoStall(t *testing.T) {
	w := newWorld(t, "sh", "-c", "sleep 300; :")
	for end := time.Now().Add(10 * time.Second); len(process.Descendants(process.System(), w.agent.Process.Pid)) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Skip("no processes are visible")
		}
	}
	if got := w.report("claude"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestAgentsThatWaitAreTold(t *testing.T) {
	w := newWorld(t, "sleep", "300")
	for _, m := range []ledger.Message{{From: "pi", To: "codex", Type: "handoff", Body: "mend it"}, {From: "lead", To: "codex", Type: "note", Body: "hello"}} {
		if _, err := w.ledger.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.report("pi"); len(got) != 1 {
		t.Errorf("who waits for an answer: %q", got)
	}
	for _, other := range []string{"lead", "claude"} {
		if got, _ := w.ledger.Unread(other); len(got) != 0 {
			t.Errorf("%s: %v", other, got)
		}
	}
}

// Where the primary stalls, the blackboard tells.
func TestStallOfPrimary(t *testing.T) {
	w := newWorld(t, "sleep", "300")
	if err := os.Remove(filepath.Join(w.root, seat.Records, "claude.json")); err != nil {
		t.Fatal(err)
	}
	w.take("codex", w.agent.Process.Pid) // it leads now
	if err := w.look.Report(); err != nil {
		t.Fatal(err)
	}
	board, err := os.ReadFile(filepath.Join(w.root, ledger.Dir, "blackboard.md"))
	if err != nil || !strings.Contains(string(board), "codex (codex) has stalled") {
		t.Errorf("%s %v", board, err)
	}
}

func TestAgentThatHasEndedIsNoStall(t *testing.T) {
	w := newWorld(t, "sleep", "300")
	if err := w.agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = w.agent.Wait()
	if got := w.report("claude"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
