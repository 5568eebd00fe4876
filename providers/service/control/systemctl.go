package control

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// systemctl does through the program what systemd does over its sockets.
type systemctl struct{ Options }

// run returns systemctl's output, untranslated.
func (c systemctl) run(ctx context.Context, args ...string) (string, error) {
	verb := args[0]
	if !c.System {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.CommandContext(ctx, "systemctl", args...)
	cmd.Env = append(c.Env[:len(c.Env):len(c.Env)], "LC_ALL=C", "TZ=UTC")
	if c.RuntimeDir != "" {
		cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+c.RuntimeDir)
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		// The lines after the first only suggest commands.
		if text, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n"); text != "" {
			err = errors.New(text)
		}
		return string(out), fmt.Errorf("systemctl %s: %w", verb, err)
	}
	return string(out), err
}

// properties are those that stateOf reads.
const properties = "--property=Id,ActiveState,UnitFileState,MainPID,NRestarts,Result,ExecMainCode,ExecMainStatus,ActiveEnterTimestamp,Description"

// States implements Controller.States.
func (c systemctl) States(ctx context.Context, names []string) ([]State, error) {
	args := []string{"show", properties}
	for _, name := range names {
		args = append(args, UnitName(name))
	}
	out, err := c.run(ctx, args...)
	if err != nil {
		return nil, err
	}
	var states []State
	for i, block := range strings.Split(strings.TrimSpace(out), "\n\n") {
		if i == len(names) {
			break
		}
		values := map[string]string{}
		for line := range strings.Lines(block) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			values[key] = value
		}
		if t, err := time.Parse("Mon 2006-01-02 15:04:05 MST", values["ActiveEnterTimestamp"]); err == nil {
			values["ActiveEnterTimestamp"] = fmt.Sprint(t.UnixMicro())
		}
		states = append(states, stateOf(names[i], func(p string) string { return values[p] }))
	}
	if len(states) != len(names) {
		return nil, fmt.Errorf("systemctl show: %d answers for %d units", len(states), len(names))
	}
	return states, nil
}

// Reload implements Controller.Reload.
func (c systemctl) Reload(ctx context.Context) error {
	_, err := c.run(ctx, "daemon-reload")
	return err
}

func (c systemctl) job(ctx context.Context, verb, name string) error {
	unit := UnitName(name)
	if verb == "stop" {
		states, err := c.States(ctx, []string{name})
		if err != nil || states[0].Activity == Stopped {
			return err
		}
	} else if err := c.Reload(ctx); err != nil {
		return err
	}
	if verb == "stop" {
		_, err := c.run(ctx, "stop", unit)
		_, _ = c.run(ctx, "reset-failed", unit)
		return err
	}
	_, _ = c.run(ctx, "reset-failed", unit)
	_, err := c.run(ctx, verb, unit)
	return err
}
