package worker

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"aisync.dev/aisync/internal/shellquote"
)

// Server is a tmux server.
type Server struct {
	Socket  string   // a name as after -L, or a path as after -S; "": the default
	Environ []string // nil: ours
}

// markerOption is the pane option with the worker's marker.
const markerOption = "@aisync_worker"

func (s Server) command(ctx context.Context, args ...string) *exec.Cmd {
	switch {
	case strings.Contains(s.Socket, "/"):
		args = append([]string{"-S", s.Socket}, args...)
	case s.Socket != "":
		args = append([]string{"-L", s.Socket}, args...)
	}
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u"}, args...)...) // UTF-8 whatever the locale
	cmd.Env = s.Environ
	return cmd
}

func (s Server) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := s.command(ctx, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("tmux %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimRight(string(out), "\n"), err
}

// open opens a window with a command in a detached session, which it creates if
// needed.
func (s Server) open(session, window string, env, command []string) error {
	args := []string{"-d", "-n", window}
	for _, kv := range env {
		args = append(args, "-e", kv)
	}
	args = append(append(args, "--"), command...)
	if _, err := s.run("has-session", "-t", "="+session); err != nil {
		// Wide enough not to break log lines.
		_, err := s.run(append([]string{"new-session", "-s", session, "-x", "200", "-y", "50"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), "duplicate session") {
			return err
		}
	}
	_, err := s.run(append([]string{"new-window", "-t", "=" + session + ":"}, args...)...)
	return err
}

// setMarker sets the marker of a pane and logs its output.
func (s Server) setMarker(pane, marker, log string) error {
	if _, err := s.run("set-option", "-p", "-t", pane, markerOption, marker); err != nil {
		return err
	}
	_, err := s.run("pipe-pane", "-t", pane, "exec cat >> "+quote(log))
	return err
}

// quote quotes a text as one word for a shell, without formats or dates for tmux
// to expand.
func quote(s string) string {
	return shellquote.Quote(strings.NewReplacer("#", "##", "%", "%%").Replace(s))
}

// markedPane describes the pane with a marker.
type markedPane struct {
	id   string
	pid  int
	dead bool
}

// find returns the pane with a marker on the whole server, or nil. It returns an
// error if a server exists but does not answer.
func (s Server) find(marker string) (*markedPane, error) {
	out, err := s.run("list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{pane_dead} #{"+markerOption+"}")
	if err != nil {
		if noServer(err) {
			return nil, nil
		}
		return nil, err
	}
	for line := range strings.SplitSeq(out, "\n") {
		f := strings.Fields(line)
		if len(f) == 4 && f[3] == marker {
			pid, err := strconv.Atoi(f[1])
			return &markedPane{f[0], pid, f[2] == "1"}, err
		}
	}
	return nil, nil
}

// noServer reports whether tmux failed because no server listens at its socket.
func noServer(err error) bool {
	text := err.Error()
	return strings.Contains(text, "no server running") || strings.Contains(text, "no current target") || // it is about to end
		strings.Contains(text, "server exited") || strings.Contains(text, "No such file or directory") || strings.Contains(text, "Connection refused")
}

// closePane closes a pane if it still has the marker: the server does both in
// one step, so that no other pane can be closed.
func (s Server) closePane(pane, marker string) error {
	_, err := s.run("if-shell", "-F", "-t", pane, "#{==:#{"+markerOption+"},"+marker+"}", "kill-pane -t "+pane)
	return err
}
