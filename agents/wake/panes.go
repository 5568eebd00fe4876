package wake

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/agents/ledger"
)

// settings map agents to panes.
type settings struct {
	server
	file   string
	of     func(variable string) string
	ledger *ledger.Ledger
}

// settings reads tmux.env, one NAME=value a line, without executing it; the
// environment takes precedence.
func (p Program) settings() (settings, error) {
	s := settings{file: filepath.Join(p.Home, ".config/pi-ensemble/tmux.env")}
	if dir := p.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		s.file = filepath.Join(dir, "pi-ensemble/tmux.env")
	}
	if file := p.Getenv("ENSEMBLE_TMUX_CONFIG"); file != "" {
		s.file = file
	}
	text, err := os.ReadFile(s.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	values := map[string]string{}
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return s, fmt.Errorf("%s:%d: want NAME=value, got %q", s.file, n+1, line)
		}
		value = strings.TrimSpace(value)
		if q := value; len(q) > 1 && (q[0] == '"' || q[0] == '\'') && q[len(q)-1] == q[0] {
			value = q[1 : len(q)-1]
		}
		values[strings.TrimSpace(name)] = value
	}
	s.of = func(variable string) string {
		if v := p.Getenv(variable); v != "" {
			return v
		}
		return values[variable]
	}
	s.server.name = s.of("ENSEMBLE_TMUX_SOCKET")
	return s, nil
}

// variable returns the name of the variable that holds an agent's pane.
func variable(agent string) string {
	return "ENSEMBLE_TMUX_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(agent)) + "_PANE"
}

// exists returns an error if tmux does not have the pane.
func (s server) exists(pane string) error {
	id, err := s.tmux("display-message", "-p", "-t", pane, "#{pane_id}")
	if err == nil && strings.TrimSpace(id) == "" {
		err = errors.New("no such pane")
	}
	if err != nil {
		return fmt.Errorf("pane %s: %w", pane, err)
	}
	return nil
}

func (s settings) panes(out io.Writer) error {
	list, err := s.tmux("list-panes", "-a", "-F", "#{pane_id}  #{session_name}:#{window_index}.#{pane_index}  #{pane_current_command}  #{pane_current_path}")
	fmt.Fprint(out, list)
	return err
}

// status prints each agent's pane and unread messages.
func (p Program) status(l *ledger.Ledger, s settings) error {
	l.Trace = false
	all, err := l.Status()
	if err != nil {
		return err
	}
	for _, a := range all.Agents {
		where := "no pane"
		if place, err := p.place(s, ping{to: a.Agent}); err == nil {
			where = place.String()
			if place.bell != "" {
				// its reader is there
			} else if err := place.exists(place.pane); err != nil {
				where += ", not in tmux"
			}
		} else if !errors.As(err, new(noPane)) {
			where += ": " + err.Error()
		}
		fmt.Fprintf(p.Out, "%-20s  %d unread  %s\n", a.Agent, a.Unread, where)
	}
	return nil
}
