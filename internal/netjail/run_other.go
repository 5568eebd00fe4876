//go:build !linux

package netjail

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// ErrNone says that a program cannot be kept from the network here.
var ErrNone = errors.New("this system does not let it be kept from the network")

// become is never called: Run does not start this program again here.
func become(string, []string, []string) int { return 1 }

// Run runs the program as usual, or returns ErrNone where it must not: only
// Linux can take the network away from one program.
func (p Program) Run(ctx context.Context) (output string, jailed bool, err error) {
	if p.Must != "" {
		return "", false, fmt.Errorf("%w, and %s", ErrNone, p.Must)
	}
	cmd := exec.CommandContext(ctx, p.Argv[0], p.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = p.Env, p.Dir, time.Second
	out, err := cmd.CombinedOutput()
	return string(out), false, err
}
