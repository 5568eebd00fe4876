package wake

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/ensemble"
)

// desk is a ledger, a home, and perhaps a tmux of one's own.
type desk struct {
	t         *testing.T
	dir, home string
	env       map[string]string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), home: t.TempDir(), env: map[string]string{"USER": "pi"}}
	if code := ensemble.Run(d.program(nil, &bytes.Buffer{}, os.Stderr).withArgs("init")); code != 0 {
		t.Fatal("init")
	}
	return d
}

func (d *desk) program(args []string, out, errs interface{ Write([]byte) (int, error) }) Program {
	return Program{ensemble.Program{Args: args, Out: out, Err: errs, Getenv: func(k string) string { return d.env[k] }, Dir: d.dir}, d.home}
}

func (p Program) withArgs(words ...string) ensemble.Program {
	p.Program.Args = words
	return p.Program
}

func (d *desk) run(words ...string) (out, errs string, code int) {
	d.t.Helper()
	var o, e bytes.Buffer
	code = Run(d.program(words, &o, &e))
	return o.String(), e.String(), code
}

func (d *desk) ensemble(words ...string) string {
	d.t.Helper()
	var o bytes.Buffer
	if code := ensemble.Run(d.program(nil, &o, os.Stderr).withArgs(words...)); code != 0 {
		d.t.Fatalf("%v: exit %d", words, code)
	}
	return o.String()
}

func (d *desk) configure(text string) {
	d.t.Helper()
	file := filepath.Join(d.home, ".config/pi-ensemble/tmux.env")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// tmux starts a separate server with one pane that shows what is typed, and
// ends it after the test.
func (d *desk) tmux() (pane string, shown func() string) {
	d.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		d.t.Skip("there is no tmux")
	}
	socket := fmt.Sprintf("aisync-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	run := func(words ...string) string {
		d.t.Helper()
		cmd := exec.Command("tmux", append([]string{"-L", socket, "-f", "/dev/null"}, words...)...)
		cmd.Env = append(os.Environ(), "TMUX=", "SHELL=/bin/sh")
		out, err := cmd.CombinedOutput()
		if err != nil {
			d.t.Fatalf("tmux %v: %v %s", words, err, out)
		}
		return string(out)
	}
	pane = strings.TrimSpace(run("new-session", "-d", "-x", "200", "-y", "50", "-P", "-F", "#{pane_id}", "cat"))
	d.t.Cleanup(func() { run("kill-server") })
	d.env["ENSEMBLE_TMUX_SOCKET"] = socket
	return pane, func() string { return run("capture-pane", "-J", "-p", "-t", pane) }
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 100 {
		if is() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%s: not within five seconds", what)
}

func TestSendPingsPane(t *testing.T) {
	d := newDesk(t)
	pane, shown := d.tmux()
	d.configure("# where they sit\nexport ENSEMBLE_TMUX_CLAUDE_LEAD_PANE=\"" + pane + "\"\n")
	if out, errs, code := d.run("wake", "claude-lead", "--message", "look; rm -rf $HOME `x` \"!\" 'y'\n> z"); code != 0 || out != "" {
		t.Fatalf("%d %s", code, errs)
	}
	eventually(t, "the ping", func() bool {
		return strings.Contains(shown(), "# pi-ensemble: new inbox item, run: ensemble --root "+d.dir) && strings.Contains(shown(), " inbox --agent claude-lead --since-last-read - look rm -rf HOME x y z")
	})
	out, errs, code := d.run("send", "claude-lead", "a long", "body", "--type", "question", "--from", "pi")
	if code != 0 || !strings.HasPrefix(out, "sent to claude-lead: msg_") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	id := idForm().FindString(out)
	eventually(t, "the ping of a message", func() bool {
		return strings.Contains(shown(), "question from pi "+id+", answer: ensemble --root "+d.dir+" send pi RESULT --from claude-lead --type result --reply-to "+id)
	})
	if strings.Contains(shown(), "a long body") || !strings.Contains(d.ensemble("inbox", "--agent", "claude-lead", "--peek"), "a long body") {
		t.Error("the body belongs into the inbox, not on the screen")
	}
	if out, _, code := d.run("status"); code != 0 || !strings.Contains(out, "claude-lead           1 unread  pane "+pane+"\n") || !strings.Contains(out, "no pane") {
		t.Error(code, out)
	}
	if out, _, code := d.run("panes"); code != 0 || !strings.Contains(out, pane+"  ") {
		t.Error(code, out)
	}
	d.env["ENSEMBLE_TMUX_CLAUDE_LEAD_PANE"] = "%99"
	if _, errs, code := d.run("wake", "claude-lead"); code != 1 || !strings.Contains(errs, "pane %99") {
		t.Errorf("a pane that tmux does not have: %d %s", code, errs)
	}
	if out, _, _ := d.run("status"); !strings.Contains(out, "not in tmux") {
		t.Error(out)
	}
}

func TestSendWithoutPaneWritesMessage(t *testing.T) {
	d := newDesk(t)
	if _, errs, code := d.run("wake", "codex.1"); code != 2 || !strings.Contains(errs, "ENSEMBLE_TMUX_CODEX_1_PANE") {
		t.Errorf("%d %s", code, errs)
	}
	if out, _, code := d.run("send", "codex.1", "hello"); code != 2 || !strings.HasPrefix(out, "sent to codex.1") {
		t.Errorf("%d %s", code, out)
	}
	if got := d.ensemble("inbox", "--agent", "codex.1", "--peek"); !strings.Contains(got, "hello") {
		t.Error(got)
	}
	if _, errs, code := d.run("send", "co/dex", "hello"); code != 1 || strings.Count(errs, "\n") != 1 {
		t.Errorf("%d %q", code, errs)
	}
	if out, _, code := d.run("note", "a fact"); code != 0 || out != "noted\n" {
		t.Errorf("%d %s", code, out)
	}
	d.configure("nonsense\n")
	if _, errs, code := d.run("wake", "pi"); code != 1 || !strings.Contains(errs, "tmux.env:1: want NAME=value") {
		t.Errorf("%d %s", code, errs)
	}
	d.configure("")
	for _, words := range [][]string{{"nonsense"}, {"nonsense", "x"}} {
		if out, _, code := d.run(words...); code != 2 || !strings.HasPrefix(out, "usage: ensemble-tmux") {
			t.Errorf("%v: %d %s", words, code, out)
		}
	}
	if out, _, code := d.run(); code != 0 || !strings.HasPrefix(out, "usage: ensemble-tmux") {
		t.Errorf("%d %s", code, out)
	}
}

func TestWaitEndsWithAnswer(t *testing.T) {
	d := newDesk(t)
	question := func() string { return idForm().FindString(d.ensemble("send", "codex", "q", "--type", "question")) }
	for _, answer := range [][]string{
		{"send", "pi", "here", "--from", "codex", "--type", "result", "--reply-to"},
		{"send", "pi", "here", "--from", "codex", "--type", "note", "--reply-to"},
		{"ack", "--from", "codex"}, {"done", "--from", "codex"},
	} {
		before, later := question(), question()
		d.ensemble(append(answer, before)...)
		if out, errs, code := d.run("wait", before, "--timeout", "5"); code != 0 || !strings.Contains(out, before) {
			t.Errorf("%v: %d %s %s", answer, code, out, errs)
		}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			time.Sleep(100 * time.Millisecond)
			d.ensemble(append(answer, later)...)
		}()
		if out, errs, code := d.run("wait", later, "--timeout=5"); code != 0 || !strings.Contains(out, later) {
			t.Errorf("%v: %d %s %s", answer, code, out, errs)
		}
		<-answered
	}
	id := question()
	d.ensemble("send", "pi", "which?", "--from", "codex", "--type", "question", "--reply-to", id)
	if _, errs, code := d.run("wait", id, "--timeout", "0.3"); code != 124 || !strings.Contains(errs, "no answer to") {
		t.Errorf("%d %s", code, errs)
	}
	if _, _, code := d.run("wait", "nonsense"); code != 1 {
		t.Error(code)
	}
}

func TestTaskSendsPingsAndWaits(t *testing.T) {
	d := newDesk(t)
	pane, shown := d.tmux()
	d.env["ENSEMBLE_TMUX_CODEX_PANE"] = pane
	go func() {
		for range 100 {
			if id := idForm().FindString(shown()); id != "" {
				d.ensemble("send", "pi", "done: see x.md", "--from", "codex", "--type", "result", "--reply-to", id)
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	if out, errs, code := d.run("task", "codex", "write x.md", "--timeout", "20"); code != 0 || !strings.Contains(out, "done: see x.md") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if got := d.ensemble("messages", "--open"); got != "no messages\n" {
		t.Error(got)
	}
}

func TestCommentIsHarmlessInShells(t *testing.T) {
	for _, sh := range []string{"sh", "bash", "zsh"} {
		if _, err := exec.LookPath(sh); err != nil {
			continue
		}
		dir := t.TempDir()
		cmd := exec.Command(sh, "-i")
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader(Comment("x; touch a $(touch b) `touch c` && touch d | touch e > f\ntouch g !! ${x:=y} *") + "\n")
		_ = cmd.Run() // what counts is what it did
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Errorf("%s made %v, %v", sh, list, err)
		}
	}
	if got := Comment(strings.Repeat("é", 1000)); len([]rune(got)) != maxComment {
		t.Error(len([]rune(got)))
	}
}
