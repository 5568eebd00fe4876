package stack

import (
	"context"
	"strings"

	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/reconcile/fsys"
)

// Gate sees everything that a command which writes is about to do to the
// machine: the operations of the file system, and as "run", "start", "restart"
// and "stop" the programs and services. An error from it is how that ends. It
// is nil in the program; tests give an app one, to fail and to kill.
type Gate fsys.Hook

// through asks the gate about what is not the file system's.
func (g Gate) through(op string, words ...string) error {
	if g == nil {
		return nil
	}
	return g(fsys.Op{Name: op, Path: strings.Join(words, " ")})
}

// guarded is f for a goroutine of its own: a panic becomes an error for who
// waits, instead of the end of the program with Go's code 2, which would read
// as drift.
func guarded(f func() error) func() error {
	return func() (err error) {
		defer fsys.Caught(&err)
		return f()
	}
}

// gated is a controller whose every act goes through the gate.
type gated struct {
	control.Controller
	gate Gate
}

func (g gated) Start(ctx context.Context, name string) error {
	if err := g.gate.through("start", name); err != nil {
		return err
	}
	return g.Controller.Start(ctx, name)
}

func (g gated) Restart(ctx context.Context, name string) error {
	if err := g.gate.through("restart", name); err != nil {
		return err
	}
	return g.Controller.Restart(ctx, name)
}

func (g gated) Stop(ctx context.Context, name string) error {
	if err := g.gate.through("stop", name); err != nil {
		return err
	}
	return g.Controller.Stop(ctx, name)
}
