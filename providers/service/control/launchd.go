package control

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// launchd is the manager of macOS, used through launchctl. It is written from
// launchctl(1) and launchd.plist(5) and was never run.
type launchd struct{ Options }

func (launchd) Kind() Kind { return Launchd }

func (l launchd) domain() string {
	if l.System {
		return "system"
	}
	return "gui/" + strconv.Itoa(l.UID)
}

func (l launchd) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "launchctl", args...)
	cmd.Env = l.Env
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("launchctl %s: %w", args[0], err)
	}
	return string(out), nil
}

// States implements Controller.
func (l launchd) States(ctx context.Context, names []string) ([]State, error) {
	if _, err := exec.LookPath("launchctl"); err != nil {
		return nil, fmt.Errorf("launchd %w: %w", ErrUnreachable, err)
	}
	var states []State
	for _, name := range names {
		out, err := l.run(ctx, "print", l.domain()+"/"+LabelOf(name))
		if err != nil { // not loaded
			states = append(states, State{Name: name, Activity: Stopped})
			continue
		}
		states = append(states, printed(name, out))
	}
	return states, nil
}

// printed parses launchctl print's description of a service.
func printed(name, out string) State {
	st := State{Name: name, Activity: Stopped, Enabled: true}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		switch key {
		case "state":
			if value == "running" {
				st.Activity = Running
			}
		case "pid":
			st.PID, _ = strconv.Atoi(value)
		case "last exit code":
			if value != "0" && value != "(never exited)" {
				st.Ended = "exit code " + value
			}
		}
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), InputsVariable+" => "); ok {
			st.Inputs = v
		}
	}
	if st.Activity != Running {
		st.Inputs, st.PID = "", 0
		if st.Ended != "" {
			st.Activity = Failed
		}
	}
	return st
}

// Start implements Controller.
func (l launchd) Start(ctx context.Context, name string) error {
	_, _ = l.run(ctx, "bootout", l.domain()+"/"+LabelOf(name)) // an older definition
	_, err := l.run(ctx, "bootstrap", l.domain(), filepath.Join(l.Units, LabelOf(name)+".plist"))
	return err
}

// Restart implements Controller.
func (l launchd) Restart(ctx context.Context, name string) error { return l.Start(ctx, name) }

// Stop implements Controller.
func (l launchd) Stop(ctx context.Context, name string) error {
	if _, err := l.run(ctx, "print", l.domain()+"/"+LabelOf(name)); err != nil {
		return nil
	}
	_, err := l.run(ctx, "bootout", l.domain()+"/"+LabelOf(name))
	return err
}

// Reload implements Controller: launchd reads a definition when it starts the
// service.
func (launchd) Reload(context.Context) error { return nil }

// Log implements Controller.
func (l launchd) Log(name string, lines int, follow bool) []string {
	return tail(l.Options, name, lines, follow)
}
