//go:build !linux

package netjail

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// ErrNone reports that a program cannot be isolated from the network.
var ErrNone = errors.New("no network isolation on this system")

// become is never called here.
func become(string, []string, []string) int { return 1 }

// Command returns ErrNone: only Linux can isolate one program from the network.
func Command([]string) (*exec.Cmd, error) { return nil, ErrNone }

// Refused reports whether err is that of Command.
func Refused(err error) bool { return errors.Is(err, ErrNone) }

// Run runs the program unjailed, or returns ErrNone if Must is set: only Linux
// can isolate one program from the network.
func (p Program) Run(ctx context.Context) (output string, jailed bool, err error) {
	if p.Must != "" {
		return "", false, fmt.Errorf("%w, and %s", ErrNone, p.Must)
	}
	cmd := exec.CommandContext(ctx, p.Argv[0], p.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = p.Env, p.Dir, time.Second
	out, err := cmd.CombinedOutput()
	return string(out), false, err
}
