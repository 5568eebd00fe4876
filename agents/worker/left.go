package worker

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
)

// VarMarker is the variable of a command's environment with its worker's marker.
// What the command starts inherits it, also in another session.
const VarMarker = "AISYNC_WORKER_MARKER"

// Leftover is a process that outlived its worker's keeper.
type Leftover struct{ Identity }

// String names the process.
func (l Leftover) String() string { return fmt.Sprintf("process %d (%s)", l.PID, commandLine(l.Args)) }

// Names names processes.
func Names(left []Leftover) string {
	names := make([]string, len(left))
	for i, l := range left {
		names[i] = l.String()
	}
	return strings.Join(names, ", ")
}

func commandLine(args []string) string {
	text := strings.Join(args, " ")
	if len(text) > 120 {
		text = strings.ToValidUTF8(text[:120], "") + "…"
	}
	return cmp.Or(text, "of unknown command")
}

// Leftovers returns the processes that have the marker of one of workers in their
// environment, by marker. Processes of other users are not seen.
func Leftovers(t process.Table, markers ...string) map[string][]Leftover {
	out := map[string][]Leftover{}
	if len(markers) == 0 {
		return out
	}
	pids, err := t.PIDs()
	if err != nil {
		return out
	}
	for _, pid := range pids {
		env, err := t.Env(pid)
		if marker := env[VarMarker]; err == nil && marker != "" && slices.Contains(markers, marker) {
			if id, err := identify(t, pid); err == nil && pid != t.Self() {
				out[marker] = append(out[marker], Leftover{id})
			}
		}
	}
	return out
}

// EndLeft ends the processes that have the worker's marker and outlived its
// keeper: it asks them to end, and kills them after Grace. ErrStillHere: some are
// left.
func EndLeft(ctx context.Context, t process.Table, marker string) error {
	began := time.Now()
	for told := map[int]bool{}; ; time.Sleep(20 * time.Millisecond) {
		left := Leftovers(t, marker)[marker]
		if len(left) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		since := time.Since(began)
		if since > Grace+5*time.Second {
			return ErrStillHere
		}
		for _, l := range left {
			switch {
			case since > Grace:
				_ = l.signal(t, unix.SIGKILL)
			case !told[l.PID]:
				told[l.PID] = true
				_ = l.signal(t, unix.SIGTERM)
			}
		}
	}
}

// endDescendants ends all processes below this one, which inherits orphans, and
// returns their command lines.
func (k *keeper) endDescendants() (names []string) {
	t := process.System()
	began, told := time.Now(), map[int]bool{}
	for time.Since(began) < Grace+5*time.Second {
		reap(0)
		left := process.Descendants(t, os.Getpid())
		if len(left) == 0 && childless() { // a process whose parent dies in between is in no list
			break
		}
		for _, p := range left {
			sig := unix.SIGTERM
			if time.Since(began) > Grace {
				sig = unix.SIGKILL
			} else if told[p.PID] {
				continue
			}
			if !told[p.PID] {
				told[p.PID] = true
				names = append(names, commandLine(p.Args))
			}
			id, err := identify(t, p.PID)
			if err == nil && id.Start == p.Start {
				_ = id.signal(t, sig)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return names
}

// reap collects children of this process that have ended, other than pid. They
// are orphans that it inherited.
func reap(pid int) {
	pids, err := process.System().PIDs()
	if err != nil {
		return
	}
	for _, child := range pids {
		if child != pid && child != os.Getpid() {
			_, _ = unix.Wait4(child, nil, unix.WNOHANG, nil) // ECHILD for most
		}
	}
}

// reapOrphans reaps until done, every ten seconds: an agent's tools may leave
// thousands of processes that have ended.
func reapOrphans(pid int, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(10 * time.Second):
			reap(pid)
		}
	}
}
