package launch

import (
	"context"
	"testing"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/seat"
)

func TestRunTellsTheSeat(t *testing.T) {
	for _, c := range []struct {
		name string
		d    Decision
		env  map[string]string
		want string
	}{
		{"the primary, started by an agent", Decision{Role: Primary}, nil, "claude"},
		{"the primary, as a person named it", Decision{Role: Primary}, map[string]string{identity.VarID: "", identity.VarLedger: "lead"}, "lead"},
		{"the primary, where the person has a name in the ledger", Decision{Role: Primary}, map[string]string{"USER": "craig", identity.VarID: "", identity.VarLedger: "craig"}, "claude"},
		{"the primary, for a person of the program's name", Decision{Role: Primary}, map[string]string{"USER": "claude"}, "claude-2"},
		{"an agent with a generated id", Decision{Role: "agent", ID: "pearl.p.claude.0001"}, nil, "claude"},
		{"an agent with a chosen id", Decision{Role: "agent", ID: "reviewer"}, nil, "reviewer"},
		{"a helper", Decision{Role: "helper", ID: "helper-0001"}, nil, "claude"},
	} {
		r, said := program(t, `printf %s "$PI_ENSEMBLE_AGENT"`, c.d)
		for k, v := range c.env {
			r.Environ[k] = v
		}
		if _, _, err := ledger.Init(r.Start.Root, "person"); err != nil {
			t.Fatal(err)
		}
		if code, err := r.Run(context.Background()); code != 0 || err != nil {
			t.Fatalf("%s: %d, %v", c.name, code, err)
		}
		if got := said.String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		room := seat.At(process.System(), r.Start.Root, time.Now())
		all, err := room.List()
		if err != nil || len(all) != 1 || room.Life(all[0]) != keeper.Gone || all[0].ID != c.d.ID || all[0].Primary != (c.d.Role == Primary) {
			t.Errorf("%s: afterwards %+v, error %v", c.name, all, err)
		}
	}
}
