package seat

import (
	"testing"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/process"
)

func TestRole(t *testing.T) {
	r := newRoom(t)
	pid, start := self(t)
	lead := &Seat{Name: "claude", Primary: true, PID: pid, Start: start, Place: keeper.Here(process.System())}
	gone := &Seat{Name: "codex", Primary: true, Ended: true}
	second := &Seat{Name: "codex-2"}
	for _, c := range []struct {
		name string
		all  []*Seat
		own  *Seat
		env  map[string]string
		want Role
	}{
		{"the seat that leads", []*Seat{lead}, lead, nil, Leads},
		{"a seat beside it", []*Seat{lead, second}, second, nil, Beside},
		{"a helper's seat", []*Seat{lead, second}, second, map[string]string{identity.VarHelper: "1"}, Helps},
		{"a helper by its id", []*Seat{lead}, nil, map[string]string{identity.VarID: "helper-1f3a"}, Helps},
		{"a worker, which inherited a helper's variables", []*Seat{lead}, nil, map[string]string{identity.VarTask: "t", identity.VarHelper: "1"}, Works},
		{"no seat, beside one that leads", []*Seat{lead}, nil, nil, Beside},
		{"no seat, and the primary has ended", []*Seat{gone}, nil, nil, Leads},
		{"no seat, an id", nil, nil, map[string]string{identity.VarID: "vm.app.codex.1f3a"}, Beside},
		{"alone", nil, nil, nil, Leads},
	} {
		if got := r.Role(c.all, c.own, func(n string) string { return c.env[n] }); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A worker of a task gets no mail to the primary.
func TestWorkerDoesNotLead(t *testing.T) {
	r := newRoom(t)
	if s := take(t, r, Ask{Runtime: "codex", Session: "s", Worker: true}); s.Primary {
		t.Error("a worker leads")
	}
	if s := take(t, r, Ask{Runtime: "claude", Session: "t"}); !s.Primary {
		t.Error("the first agent beside a worker does not lead")
	}
}
