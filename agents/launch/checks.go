package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"
)

// ChecksFile is the file, below a project or a home, in which an apply leaves
// the checks for launchers.
const ChecksFile = ".agents/checks.json"

// Check is a bundle's command that runs around an agent's program because that
// program has no hooks for the event.
type Check struct {
	Event    string   `json:"event"` // SessionStart runs before; Stop and SessionEnd after
	Command  string   `json:"command"`
	Required bool     `json:"required"` // a failure before the start prevents it
	Timeout  int      `json:"timeout,omitempty"`
	Runtimes []string `json:"runtimes"`
}

// ParseChecks parses a file of checks.
func ParseChecks(text []byte) ([]Check, error) {
	var doc struct {
		Checks []Check `json:"checks"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	return doc.Checks, nil
}

// events of a launch, in order.
var (
	before = []string{"SessionStart"}
	after  = []string{"Stop", "SessionEnd"}
)

// checkTime bounds a check without a time limit, like Claude Code's default for
// hooks.
const checkTime = 60 * time.Second

// runChecks runs the checks of some events for the runtime of s, with their
// output on out. The error joins the failures of required checks; it prints the
// others.
func (s Start) runChecks(ctx context.Context, checks []Check, events, environ []string, out io.Writer) error {
	var errs []error
	for _, event := range events {
		for _, c := range checks {
			if c.Event != event || !slices.Contains(c.Runtimes, s.Runtime) {
				continue
			}
			err := s.runCheck(ctx, c, environ, out)
			switch {
			case err == nil:
			case c.Required:
				errs = append(errs, err)
			default:
				fmt.Fprintf(out, "aisync: %v\n", err)
			}
		}
	}
	return errors.Join(errs...)
}

func (s Start) runCheck(ctx context.Context, c Check, environ []string, out io.Writer) error {
	limit := checkTime
	if c.Timeout > 0 {
		limit = time.Duration(c.Timeout) * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", c.Command)
	cmd.Dir, cmd.Env = s.Root, environ
	// The input that programs with hooks give theirs.
	input, err := json.Marshal(map[string]string{"hook_event_name": c.Event, "cwd": s.Root, "session_id": s.ID, "source": "startup"})
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(input, '\n')), out, out
	cmd.WaitDelay = time.Second
	switch err := cmd.Run(); {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the check of %s took longer than %s: %s", c.Event, limit, c.Command)
	default:
		return fmt.Errorf("the check of %s failed (%w): %s", c.Event, err, c.Command)
	}
}
