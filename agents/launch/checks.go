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

// ChecksFile is where an apply leaves the checks that a launcher runs, below a
// project or a home.
const ChecksFile = ".agents/checks.json"

// Check is one command of a bundle that is run around an agent's program,
// because that has no hooks for the event itself.
type Check struct {
	Event    string   `json:"event"` // SessionStart: before; Stop, SessionEnd: after
	Command  string   `json:"command"`
	Required bool     `json:"required"` // a failure before the start prevents it
	Timeout  int      `json:"timeout,omitempty"`
	Runtimes []string `json:"runtimes"`
}

// ParseChecks reads a file of checks.
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

// checkTime bounds a check that says nothing of its time, as Claude Code bounds
// its hooks.
const checkTime = 60 * time.Second

// runChecks runs those of some events for the runtime of s. What they print goes
// to out. The error joins the required ones that failed; the others are said.
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
	// What the programs with hooks tell theirs.
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
