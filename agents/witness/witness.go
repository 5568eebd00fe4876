// Package witness tells the agents of a project that one of them has stalled: it is
// in a turn and shows no sign of life, or it asks a person for permission. It looks
// once and ends; the keepers call it. It types nothing and ends nothing. Call
// Look.Report.
package witness

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/agents/wake"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// Name is the sender of a report in the ledger.
const Name = "witness"

// Look is one look at the agent of a seat.
type Look struct {
	Table    process.Table
	Root     string // of the project
	Seat     string
	Runtimes []spec.Runtime // whose questions are known
	Screen   func(*seat.Seat) (text string, ok bool)
}

// Of returns a look that takes the screen from tmux.
func Of(t process.Table, root, name string, runtimes []spec.Runtime) Look {
	return Look{t, root, name, runtimes, func(s *seat.Seat) (string, bool) { return wake.Screen(t, s) }}
}

// IsCall reports whether an argument list is a keeper's call of the witness.
func IsCall(argv []string) bool { return len(argv) == 4 && argv[1] == keeper.WitnessCommand }

// Main answers a keeper's call and returns an exit code.
func Main(argv []string) int {
	if err := Of(process.System(), argv[2], argv[3], catalog.Programs()).Report(); err != nil {
		fmt.Fprintln(os.Stderr, "aisync: report a stalled agent:", err)
		return 1
	}
	return 0
}

// printing is how long a screen that prints takes to change.
const printing = 3 * time.Second

// Report tells those who wait for an agent, else the primary, that it has stalled:
// once a stall. An agent whose command runs, or whose window prints, has not
// stalled.
func (k Look) Report() error {
	turn, ok := keeper.TurnOf(k.Root, k.Seat)
	if !ok || !turn.Stalled(time.Now()) {
		return nil
	}
	l, err := ledger.Find(k.Root)
	if errors.Is(err, ledger.ErrNoLedger) {
		return nil
	}
	if err != nil {
		return err
	}
	room := seat.At(k.Table, l.Root, time.Now())
	all, err := room.List()
	own := seat.Named(all, k.Seat)
	if own == nil || room.Life(own) == keeper.Gone || hooked(own) && k.works(own, turn) {
		return err
	}
	why := "no sign of life, and its turn has not ended: it waits for a person, or hangs"
	asks := ""
	if screen, ok := k.Screen(own); ok {
		asks = worker.Question(screen, k.dialogs(own.Runtime))
		if asks != "" {
			why = "it waits for a person at: " + termtext.Clip(termtext.Safe(termtext.OneLine(asks)), 200)
		} else {
			time.Sleep(printing)
			if again, ok := k.Screen(own); !ok || again != screen {
				return nil
			}
		}
	}
	if asks == "" && !hooked(own) {
		return nil
	}
	if now, ok := keeper.TurnOf(k.Root, k.Seat); !ok || !now.Last.Equal(turn.Last) {
		return nil // it moved meanwhile
	}
	first, err := keeper.Report(k.Root, k.Seat, turn, why)
	if err != nil || !first {
		return err
	}
	return k.tell(l, room, all, own, turn, why)
}

// hooked reports whether a hook of the agent has called. Before that processes below it
// are its own parts, and it may wait for a prompt: only a question tells.
func hooked(own *seat.Seat) bool { return own.Session != "" }

func (k Look) dialogs(id string) []string {
	i := slices.IndexFunc(k.Runtimes, func(r spec.Runtime) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return k.Runtimes[i].Launch.Dialogs
}

// ticks is the unit of process.Process.Start on Linux, USER_HZ.
const ticks = time.Second / 100

// works reports whether a process below the agent began after its last sign of
// life: a command that it runs. Other systems than Linux do not tell.
func (k Look) works(own *seat.Seat, turn keeper.Turn) bool {
	self, err := k.Table.Read(k.Table.Self())
	if runtime.GOOS != "linux" || own.PID == 0 || err != nil || self.Start == 0 {
		return false
	}
	since := uint64((time.Since(turn.Last) + time.Second) / ticks) // a command begins as its hook ends
	return slices.ContainsFunc(process.Descendants(k.Table, own.PID), func(p process.Process) bool {
		return p.PID != self.PID && self.Start-min(p.Start, self.Start) <= since
	})
}

// tell sends one message to each agent that waits for an answer of the stalled one,
// else to the primary. Where the primary itself has stalled, and no agent waits for
// it, the blackboard gets a note.
func (k Look) tell(l *ledger.Ledger, room *seat.Room, all []*seat.Seat, own *seat.Seat, turn keeper.Turn, why string) error {
	text := fmt.Sprintf("%s (%s) has stalled: %s. Its last sign of life was at %s. Tell a person, or take over its work; what it claims: aisync ledger claims",
		own.Name, own.Runtime, why, turn.Last.UTC().Format("15:04:05 MST"))
	open, err := l.Messages(0, true)
	var to []string
	for _, m := range open {
		if slices.Contains(own.Inboxes(""), m.To) && !slices.Contains(to, m.From) && m.From != own.Name && m.From != Name {
			to = append(to, m.From)
		}
	}
	if len(to) == 0 {
		for _, s := range room.AtWork(all, "", own.Name) {
			if s.Primary {
				to = append(to, s.Name)
			}
		}
	}
	if len(to) == 0 {
		_, failed := l.Note(Name, text)
		return cmp.Or(failed, err)
	}
	for _, name := range to {
		_, failed := l.Send(ledger.Message{From: Name, To: name, Type: "note", Body: text})
		err = errors.Join(err, failed)
	}
	return err
}
