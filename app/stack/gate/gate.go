// Package gate lets tests fail and kill the program at each operation on the machine.
package gate

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

// Ask calls the gate for an operation that is not one of the file system.
func (g Gate) Ask(op string, words ...string) error {
	if g == nil {
		return nil
	}
	return g(fsys.Op{Name: op, Path: strings.Join(words, " ")})
}

// Controlled returns c, which asks g before each operation.
func Controlled(c control.Controller, g Gate) control.Controller { return controller{c, g} }

type controller struct {
	control.Controller
	gate Gate
}

func (g controller) Start(ctx context.Context, name string) error {
	if err := g.gate.Ask("start", name); err != nil {
		return err
	}
	return g.Controller.Start(ctx, name)
}

func (g controller) Restart(ctx context.Context, name string) error {
	if err := g.gate.Ask("restart", name); err != nil {
		return err
	}
	return g.Controller.Restart(ctx, name)
}

func (g controller) Stop(ctx context.Context, name string) error {
	if err := g.gate.Ask("stop", name); err != nil {
		return err
	}
	return g.Controller.Stop(ctx, name)
}
