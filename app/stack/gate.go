package stack

import (
	"context"
	"strings"

	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/reconcile/fsys"
)

// Gate is called before each operation on the machine: those of the file system,
// and "run", "start", "restart" and "stop" of programs and services. Its error is
// the result of the operation. The program has none; tests use one to fail and to
// kill.
type Gate fsys.Hook

// ask calls the gate for an operation that is not one of the file system.
func (g Gate) ask(op string, words ...string) error {
	if g == nil {
		return nil
	}
	return g(fsys.Op{Name: op, Path: strings.Join(words, " ")})
}

// catchPanics returns f for a goroutine: a panic becomes an error, instead of
// ending the program with Go's exit code 2, which means drift.
func catchPanics(f func() error) func() error {
	return func() (err error) {
		defer fsys.Caught(&err)
		return f()
	}
}

// gatedController is a controller that asks the gate before each operation.
type gatedController struct {
	control.Controller
	gate Gate
}

func (g gatedController) Start(ctx context.Context, name string) error {
	if err := g.gate.ask("start", name); err != nil {
		return err
	}
	return g.Controller.Start(ctx, name)
}

func (g gatedController) Restart(ctx context.Context, name string) error {
	if err := g.gate.ask("restart", name); err != nil {
		return err
	}
	return g.Controller.Restart(ctx, name)
}

func (g gatedController) Stop(ctx context.Context, name string) error {
	if err := g.gate.ask("stop", name); err != nil {
		return err
	}
	return g.Controller.Stop(ctx, name)
}
