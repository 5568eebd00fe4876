package main

import (
	"context"
	"strings"

	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/reconcile/fsys"
)

// gate sees everything that a command which writes is about to do to the
// machine: the operations of the file system, and as "run", "start", "restart"
// and "stop" the programs and services. An error from it is how that ends. It
// is nil in the program; tests set it, to fail and to kill.
var gate fsys.Hook

// through asks the gate about what is not the file system's.
func through(op string, words ...string) error {
	if gate == nil {
		return nil
	}
	return gate(fsys.Op{Name: op, Path: strings.Join(words, " ")})
}

// gated is a controller whose every act goes through the gate.
type gated struct{ control.Controller }

func (g gated) Start(ctx context.Context, name string) error {
	if err := through("start", name); err != nil {
		return err
	}
	return g.Controller.Start(ctx, name)
}

func (g gated) Restart(ctx context.Context, name string) error {
	if err := through("restart", name); err != nil {
		return err
	}
	return g.Controller.Restart(ctx, name)
}

func (g gated) Stop(ctx context.Context, name string) error {
	if err := through("stop", name); err != nil {
		return err
	}
	return g.Controller.Stop(ctx, name)
}
