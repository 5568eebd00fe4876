package launch

import (
	"cmp"
	"os"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/seat"
)

// heldSeat is the seat of the agent that runs; the zero value is none.
type heldSeat struct {
	room         *seat.Room
	name, launch string
}

// takeSeat takes a seat for the agent of s before its program starts, which is
// told of it. A project without a ledger has no seats. environ is the launcher's,
// and launch the value of identity.VarLaunch.
func takeSeat(s Start, environ map[string]string, launch string) (heldSeat, error) {
	l, err := ledger.Find(s.Root)
	if err != nil {
		return heldSeat{}, nil
	}
	given := seat.Given(func(variable string) string {
		switch {
		case variable == identity.VarID:
			return s.ID
		case s.ID == "" && environ[identity.VarLedger] != environ[identity.VarID]: // a person set it, or it is another agent's seat
			return environ[variable]
		}
		return ""
	})
	t := process.System()
	a := seat.Ask{
		Runtime: cmp.Or(s.Program, s.Runtime), Given: given, ID: s.ID, Helper: s.Role == "helper", Launch: launch,
		PID: os.Getpid(), Person: environ["USER"],
	}
	if own, err := t.Read(a.PID); err == nil {
		a.Start = own.Start
	}
	room := seat.At(t, l.Root, time.Now())
	taken, err := room.Take(a)
	if err != nil {
		return heldSeat{}, err
	}
	return heldSeat{room, taken.Name, launch}, nil
}

// bind names the program's process as that of the agent. Without it the seat is
// that of the launcher's process, which lives as long.
func (h heldSeat) bind(pid int, start uint64) {
	if h.room != nil {
		_ = h.room.Bind(h.name, h.launch, pid, start)
	}
}

// leave frees the seat. What fails here a process finds that asks for the seat: the
// agent is gone.
func (h heldSeat) leave() {
	if h.room != nil {
		_ = h.room.Leave(h.name, h.launch)
	}
}
