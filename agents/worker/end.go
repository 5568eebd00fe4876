package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
)

// Owned checks that the worker's handle is the one started for it: the process
// matches by number, start, boot and command line, and its pane has the marker
// and runs that process. The error, ErrNotOurs, names what is missing. A handle
// that is gone is not ours.
func Owned(t process.Table, o Observation, marker string) error {
	if o.Ticket == nil || o.Ticket.Keeper == nil || o.Ticket.Marker != marker {
		return fmt.Errorf("%w: no ticket", ErrNotOurs)
	}
	keeper := *o.Ticket.Keeper
	if p := keeper.Presence(t); p != Here {
		return fmt.Errorf("%w: process %d is %s", ErrNotOurs, keeper.PID, p)
	}
	if o.Ticket.Pane == nil {
		return nil
	}
	pane, err := Server{Socket: o.Ticket.Pane.Socket}.find(marker)
	switch {
	case err != nil:
		return fmt.Errorf("%w: tmux does not answer: %w", ErrNotOurs, err)
	case pane == nil:
		return fmt.Errorf("%w: no pane of tmux has its marker", ErrNotOurs)
	case pane.pid != keeper.PID:
		return fmt.Errorf("%w: pane %s runs process %d, not %d", ErrNotOurs, pane.id, pane.pid, keeper.PID)
	}
	return nil
}

// End ends a running worker that is proved to be ours, and waits until it is
// gone: it asks the command to end, and kills it after Grace. For a worker that
// is gone it only closes the pane that tmux may have kept. ErrNotOurs: nothing
// was done. ErrStillHere: it was asked to end and has not.
func End(ctx context.Context, t process.Table, folder, marker string) error {
	o, err := Observe(t, folder, marker)
	if err != nil {
		return err
	}
	if !o.Gone() {
		if err := Owned(t, o, marker); err != nil {
			return err
		}
		err := o.Ticket.Keeper.signal(t, unix.SIGTERM)
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		if o, err = awaitEnd(ctx, t, folder, marker); err != nil {
			return err
		}
	}
	if o.Ticket == nil || o.Ticket.Pane == nil {
		return nil
	}
	s := Server{Socket: o.Ticket.Pane.Socket}
	pane, err := s.find(marker)
	if err != nil || pane == nil || !pane.dead { // a live pane runs another program
		return err
	}
	return s.closePane(pane.id, marker)
}

func awaitEnd(ctx context.Context, t process.Table, folder, marker string) (Observation, error) {
	late := time.After(2*Grace + 10*time.Second) // an agent's processes have as long again
	for {
		o, err := Observe(t, folder, marker)
		if err != nil || o.Gone() {
			return o, err
		}
		select {
		case <-ctx.Done():
			return o, context.Cause(ctx)
		case <-late:
			return o, ErrStillHere
		case <-time.After(20 * time.Millisecond):
		}
	}
}
