package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Signalled is the cause of a context that a signal ended.
type Signalled struct{ Sig syscall.Signal }

func (s Signalled) Error() string { return fmt.Sprintf("interrupted (%s)", s.Sig) }

// UntilSignal returns a context that the first SIGINT or SIGTERM ends, so that
// an apply can flush its journal. A second one ends the process.
func UntilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case sig := <-ch:
			signal.Stop(ch)
			cancel(Signalled{sig.(syscall.Signal)})
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		cancel(nil)
	}
}
