package session

import (
	"fmt"
	"time"

	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
)

// seatView is the name of an agent in the ledger, as JSON.
type seatView struct {
	Name    string      `json:"name"`
	Runtime string      `json:"runtime"`
	ID      string      `json:"id,omitempty"`
	Primary bool        `json:"primary,omitempty"`
	State   keeper.Life `json:"state"` // of the agent that has it, or had it last
	Seen    string      `json:"seen"`
	Unread  int         `json:"unread"`
	Stalled *stallView  `json:"stalled,omitempty"`
}

// stallView is what the witness reported of an agent that has not moved since.
type stallView struct {
	Since string `json:"since"` // its last sign of life
	Why   string `json:"why"`
}

// stallOf returns the stall of a seat whose agent may be alive; nil if there is none.
func stallOf(room *seat.Room, s *seat.Seat) *stallView {
	turn, ok := keeper.TurnOf(room.Project, s.Name)
	stall, reported := keeper.StallOf(room.Project, s.Name, turn)
	if !ok || !reported || room.Life(s) == keeper.Gone {
		return nil
	}
	return &stallView{stall.Since.UTC().Format(time.RFC3339), stall.Why}
}

// seatsOf returns the seats of a ledger, and names those of agents that the roster
// knows by their process only. faults is what could not be read.
func seatsOf(l *ledger.Ledger, agents []roster.Agent) (out []seatView, faults []error) {
	room := seat.At(process.System(), l.Root, time.Now())
	all, err := room.List()
	if err != nil {
		faults = append(faults, err)
	}
	for i, g := range agents {
		if s := room.Of(all, g.PID, g.Start); s != nil && g.Outside == "" {
			agents[i].Seat = s.Name
		}
	}
	for _, s := range all {
		mail, err := l.Unread(s.Name)
		if err != nil {
			faults = append(faults, err)
		}
		out = append(out, seatView{s.Name, s.Runtime, s.ID, s.Primary && !s.Ended, room.Life(s), s.Seen.UTC().Format(time.RFC3339), len(mail), stallOf(room, s)})
	}
	return out, faults
}

func seatsText(a *cli.App, seats []seatView) {
	if len(seats) > 0 {
		a.Printf("seats\n")
	}
	for _, s := range seats {
		note := ""
		switch s.State {
		case keeper.Gone:
			note = ", free"
		case keeper.Unknown:
			note = ", perhaps at work, last seen " + s.Seen
		case keeper.Alive:
			if note = ", at work"; s.Primary {
				note += ", primary"
			}
		}
		if s.Stalled != nil {
			note += fmt.Sprintf(", stalled since %s: %s", s.Stalled.Since, termtext.Safe(s.Stalled.Why))
		}
		if s.Unread > 0 {
			note += fmt.Sprintf(", %d unread", s.Unread)
		}
		a.Printf("  %s%s%s\n", Pad(termtext.Safe(s.Name), 40), termtext.Safe(s.Runtime), note)
	}
}
