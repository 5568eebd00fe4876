package wake

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/catalog"
)

// seated is run with the real processes, so that seats count.
func (d *desk) seated(words ...string) (out, errs string, code int) {
	d.t.Helper()
	var o, e bytes.Buffer
	p := d.program(words, &o, &e)
	p.Table, p.Runtimes = process.System(), catalog.Runtimes
	code = Run(p)
	return o.String(), e.String(), code
}

// take gives a process a seat of Claude Code.
func (d *desk) take(name string, pid int) {
	d.t.Helper()
	p, err := process.System().Read(pid)
	if err != nil {
		d.t.Fatal(err)
	}
	s, err := seat.At(process.System(), d.dir, time.Now()).Take(seat.Ask{Runtime: "claude", Given: name, Session: "of " + name, PID: pid, Start: p.Start})
	if err != nil || s.Name != name {
		d.t.Fatalf("%+v %v", s, err)
	}
}

// tmuxCommand runs tmux on the server of d.
func (d *desk) tmuxCommand(words ...string) string {
	d.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", d.env["ENSEMBLE_TMUX_SOCKET"]}, words...)...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("tmux %v: %v %s", words, err, out)
	}
	return strings.TrimSpace(string(out))
}

// child starts a process that is in no pane.
func (d *desk) child(env ...string) int {
	d.t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd.Process.Pid
}

// A ping names the command only where no hook brings the mail.
func TestToldByHook(t *testing.T) {
	for _, c := range []struct {
		seat seat.Seat
		want bool
	}{
		{seat.Seat{Runtime: "claude", Session: "s"}, true},
		{seat.Seat{Runtime: "opencode", Session: "s"}, true},
		{seat.Seat{Runtime: "claude"}, false},                // no hook has called
		{seat.Seat{Runtime: "copilot", Session: "s"}, false}, // it takes no text with a prompt
		{seat.Seat{Runtime: "goose", Session: "s"}, false},
	} {
		if got := told(&c.seat); got != c.want {
			t.Errorf("%+v: %t", c.seat, got)
		}
	}
}

func TestPingGoesToThePaneOfTheLiveProcess(t *testing.T) {
	d := newDesk(t)
	stale, showsStale := d.tmux()
	pane := d.tmuxCommand("new-window", "-d", "-P", "-F", "#{pane_id}", "sh -c 'cat; :'") // the agent is below a shell
	shows := func() string { return d.tmuxCommand("capture-pane", "-J", "-p", "-t", pane) }
	pid := 0
	eventually(t, "the agent", func() bool {
		first, _ := strconv.Atoi(d.tmuxCommand("display-message", "-p", "-t", pane, "#{pane_pid}"))
		below := process.Descendants(process.System(), first)
		if len(below) > 0 {
			pid = below[0].PID
		}
		return pid != 0
	})
	d.take("claude-2", pid)
	d.env["ENSEMBLE_TMUX_CLAUDE_2_PANE"] = stale
	if out, errs, code := d.seated("send", "claude-2", "hello", "--from", "pi"); code != 0 {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	eventually(t, "the ping", func() bool { return strings.Contains(shows(), "new inbox item, which comes with this prompt") })
	if strings.Contains(showsStale(), "pi-ensemble") {
		t.Error("the configured pane was pinged, in which the agent is not")
	}
	if out, _, _ := d.seated("status"); !strings.Contains(out, "1 unread  pane "+pane+", process "+strconv.Itoa(pid)+"\n") {
		t.Error(out)
	}

	// The agent ends; a shell stands in its configured pane.
	d.env["ENSEMBLE_TMUX_CLAUDE_2_PANE"] = d.tmuxCommand("new-window", "-d", "-P", "-F", "#{pane_id}", "sh")
	d.tmuxCommand("kill-pane", "-t", pane)
	eventually(t, "its end", func() bool {
		_, err := process.System().Read(pid)
		return err != nil
	})
	eventually(t, "the shell", func() bool {
		return d.tmuxCommand("display-message", "-p", "-t", d.env["ENSEMBLE_TMUX_CLAUDE_2_PANE"], "#{pane_current_command}") == "sh"
	})
	if _, errs, code := d.seated("wake", "claude-2"); code != 1 || !strings.Contains(errs, "claude-2 has ended, and pane ") || !strings.Contains(errs, "nothing was typed there") {
		t.Errorf("%d %s", code, errs)
	}
	delete(d.env, "ENSEMBLE_TMUX_CLAUDE_2_PANE")
	if _, errs, code := d.seated("wake", "claude-2"); code != 2 || !strings.Contains(errs, "claude-2 (claude) has ended; it reads its inbox when it starts again") {
		t.Errorf("%d %s", code, errs)
	}
	if _, errs, code := d.seated("wake", "claude-2", "--pane", stale); code != 0 {
		t.Errorf("%d %s", code, errs)
	}
	eventually(t, "the ping of the named pane", func() bool { return strings.Contains(showsStale(), "# pi-ensemble") })
}

func TestStopHookStandsForAPane(t *testing.T) {
	d := newDesk(t)
	d.take("claude", d.child())
	out, errs, code := d.seated("send", "claude", "please", "--from", "pi")
	if code != 0 || !strings.Contains(out, "sent to claude: msg_") || !strings.Contains(errs, "its Stop hook gives it the message when its turn ends") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	for _, words := range [][]string{{"send", "claude", "a fact", "--type", "note"}, {"wake", "claude"}} {
		if _, errs, code := d.seated(words...); code != 2 || !strings.Contains(errs, "claude (claude) runs in no pane of tmux that is visible from here") {
			t.Errorf("%q: %d %s", words, code, errs)
		}
	}
}

func TestInheritedPaneIsNotTheAgents(t *testing.T) {
	d := newDesk(t)
	pane, shown := d.tmux()
	socket := d.tmuxCommand("display-message", "-p", "-t", pane, "#{socket_path}")
	d.take("claude", d.child("TMUX="+socket+",1,0", "TMUX_PANE="+pane))
	if _, errs, code := d.seated("wake", "claude"); code != 2 || !strings.Contains(errs, "runs in no pane") || strings.Contains(shown(), "pi-ensemble") {
		t.Errorf("%d %s", code, errs)
	}
}
