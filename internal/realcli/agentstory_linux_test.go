package realcli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fakemodel"
)

// Claude Code and Codex work in one project at the same time. Claude claims a
// file; Codex's command that writes it is refused, with Claude's name in its
// context; Codex's mail is in Claude's next request; and when Claude is killed,
// its claim is free. Codex, started again, gets what was sent to it meanwhile.
func TestTwoAgentsShareProject(t *testing.T) {
	needWholeRun(t)
	claude, codex := lookUp(t, "claude"), lookUp(t, "codex")
	claude.flags = append(slices.Clone(claude.flags), "--allowedTools=Bash")
	codex.flags = append(slices.Clone(codex.flags), "-c", `sandbox_mode="danger-full-access"`)
	var byClaude, byCodex atomic.Pointer[fakemodel.Call]
	w := newWorldOf(t, scope{"project", false, true}, []string{"claude", "codex"}, func(q fakemodel.Request) fakemodel.Reply {
		for tool, calls := range map[string]*atomic.Pointer[fakemodel.Call]{"Bash": &byClaude, "exec_command": &byCodex} {
			if c := calls.Load(); c != nil && q.Turn == 0 && slices.Contains(q.Tools, tool) {
				return fakemodel.Reply{Call: c}
			}
		}
		return fakemodel.Reply{Text: answer}
	})
	w.write(w.project, "src/a.go", "package a\n")
	ledgerWorld(w)

	// Claude claims, and its command waits until it is told to end.
	c := claude.shell(w.find("aisync") + " ledger claim src/a.go --agent claude; while [ ! -e go-on ]; do sleep 0.1; done")
	byClaude.Store(&c)
	begin := func() (*exec.Cmd, *bytes.Buffer) {
		argv := claude.ask("Work on src/a.go.")
		cmd := exec.Command(w.find(argv[0]), argv[1:]...)
		cmd.Dir, cmd.Env = w.project, w.environ(w.project, claude.environ(w.model.URL))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out := new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		until(t, "claude's claim", func() bool { return strings.Contains(w.aisync("ledger", "claims").out, "src/a.go") })
		return cmd, out
	}
	first, out := begin()

	asks := func(command string) string {
		t.Helper()
		c := codex.shell(command)
		byCodex.Store(&c)
		w.model.Take()
		w.allows(codex)
		r := w.try(w.project, codex.environ(w.model.URL), codex.ask("Do it.")...)
		var all strings.Builder
		for _, q := range w.model.Take() {
			if slices.Contains(q.Tools, "exec_command") {
				all.Write(q.Body)
			}
		}
		t.Logf("codex, %s: exit code %d\n%s", command, r.code, r.out)
		return all.String()
	}
	file := func() string {
		text, err := os.ReadFile(filepath.Join(w.project, "src/a.go"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := asks("echo spoiled >src/a.go"); file() != "package a\n" || !strings.Contains(got, "src/a.go is claimed by claude") || !strings.Contains(got, "Other agents here: claude (claude)") {
		t.Errorf("codex wrote %q, or was not told of claude:\n%s", file(), got)
		w.keep()
	}
	if asks("echo x >src/b.go; " + w.find("aisync") + " ledger send claude " + mark("mail", "codex") + " --from codex --type question"); !strings.Contains(w.aisync("ledger", "audit").out, `src/b.go`) {
		t.Errorf("what codex wrote beside claude was not claimed for it:\n%s", w.aisync("ledger", "audit").out)
	}
	if claims := w.aisync("ledger", "claims").out; strings.Contains(claims, "src/b.go") {
		t.Errorf("codex has ended, and its claim stays:\n%s", claims)
	}

	w.model.Take()
	w.write(w.project, "go-on", "")
	if err := first.Wait(); err != nil {
		t.Errorf("claude: %v\n%s", err, out)
	}
	requests := w.model.Take()
	if len(requests) == 0 || !strings.Contains(string(requests[0].Body), mark("mail", "codex")) {
		t.Errorf("codex's mail is not in claude's next request (%d requests)\n%s", len(requests), out)
	}

	// A claude that is killed gives back nothing; its claim is free all the same.
	if err := os.Remove(filepath.Join(w.project, "go-on")); err != nil {
		t.Fatal(err)
	}
	second, _ := begin()
	if err := syscall.Kill(-second.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = second.Wait() // it was killed
	if !strings.Contains(w.aisync("ledger", "claims").out, "src/a.go") {
		t.Error("the killed claude holds no claim: the rest proves nothing")
	}
	// Mail for codex while none runs waits for the next one.
	if sent := w.aisync("ledger", "send", "codex", mark("mail", "restart"), "--from", "lead"); !strings.Contains(sent.out, "codex is not at work now") {
		t.Errorf("send to an agent that has ended: %s", sent.out)
	}
	got := asks("echo taken over >src/a.go; " + w.find("aisync") + " ledger note who-am-i")
	if file() != "taken over\n" || !strings.Contains(got, mark("mail", "restart")) {
		t.Errorf("codex wrote %q, or has not the mail of its seat\n%s", file(), got)
	}
	if audit := w.aisync("ledger", "audit", "--json").out; !strings.Contains(audit, `"from": "codex",
    "type": "note"`) {
		t.Errorf("codex's command does not have its seat's name:\n%s", audit)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
	}
}
