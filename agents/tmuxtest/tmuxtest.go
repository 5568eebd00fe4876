// Package tmuxtest gives a test a separate tmux server. Call Socket.
package tmuxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/process"
)

// Socket returns the path of the socket of a separate tmux server, which starts
// with the first session and ends with the test. It skips the test where tmux is
// not installed.
func Socket(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "tm") // short: the path of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	t.Cleanup(func() {
		End(t, socket)
		os.RemoveAll(dir)
	})
	return socket
}

// Default returns the path of the socket that tmux takes where TMUX_TMPDIR is dir.
func Default(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("tmux-%d", os.Getuid()), "default")
}

// End ends the server of a socket, if there is one, and waits until what runs in
// its panes has ended: a keeper that tmux hangs up on still writes how its command
// ended, into folders that the test is about to remove.
func End(t *testing.T, socket string) {
	t.Helper()
	out, err := exec.Command("tmux", "-S", socket, "list-panes", "-a", "-F", "#{pane_pid}").Output()
	if err != nil {
		return // no server: no window was opened, or the test ended it
	}
	table := process.System()
	var running []process.Process
	for _, f := range strings.Fields(string(out)) {
		var pid int
		if _, err := fmt.Sscan(f, &pid); err != nil {
			t.Errorf("tmux names the process %q: %v", f, err)
			continue
		}
		if p, err := table.Read(pid); err == nil {
			running = append(append(running, p), process.Descendants(table, pid)...)
		}
	}
	if out, err := exec.Command("tmux", "-S", socket, "kill-server").CombinedOutput(); err != nil {
		t.Errorf("tmux kill-server: %v %s", err, out)
	}
	deadline := time.Now().Add(30 * time.Second)
	for _, was := range running {
		for time.Now().Before(deadline) {
			is, err := table.Read(was.PID)
			if err == process.ErrGone || err == nil && is.Start != was.Start {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}
