package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Find tries each way and returns the first that works. Without one the error is
// ErrNone, with the reason of each.
func Find(ctx context.Context) (Way, error) {
	var why []string
	for _, way := range []Way{Namespaces, Bubblewrap} {
		err := try(ctx, way)
		if err == nil {
			return way, nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		why = append(why, fmt.Sprintf("%s: %v", way, err))
	}
	return "", fmt.Errorf("%w (%s); allow unprivileged user namespaces, or install bubblewrap", ErrNone, strings.Join(why, "; "))
}

// try runs a command in a box of a way and checks that it is confined.
func try(ctx context.Context, way Way) error {
	dir, err := os.MkdirTemp("", "aisync-box")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tree, beyond := filepath.Join(dir, "tree"), filepath.Join(dir, "beyond")
	for _, d := range []string{tree, beyond} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	b := Box{Way: way, Tree: tree, Scratch: tree}
	line := "test -w . && test ! -e " + beyond + " && test ! -e /etc/shadow && test ! -w /proc/sys/kernel/core_pattern"
	r, err := b.Run(ctx, Command{Argv: Shell(line), Timeout: 20 * time.Second})
	switch {
	case err != nil:
		return err
	case r.TimedOut || r.Exit != 0:
		return fmt.Errorf("a test command was not confined (%d)", r.Exit)
	}
	return nil
}
