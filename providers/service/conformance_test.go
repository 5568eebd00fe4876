package service

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"aisync.dev/aisync/providers/providertest"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/reconcile"
)

// box is a machine without a service manager: real processes below a
// supervisor of aisync's own.
type box struct {
	t           *testing.T
	units, logs string
	model       string
	port        int
	at          control.Controller
}

func newBox(t *testing.T) *box {
	t.Helper()
	b := &box{t: t, units: t.TempDir(), logs: t.TempDir(), model: tinyModel(t), port: freePort(t)}
	b.at = control.New(control.Own, control.Options{Units: b.units, Logs: b.logs, Self: []string{self(t)}, Env: []string{"PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=10"}})
	t.Cleanup(func() { _ = b.at.Stop(context.Background(), "coder") })
	return b
}

// define writes the definition of a service that is started with the inputs v,
// as the resource of that file would.
func (b *box) define(v string, env map[string]string) {
	b.t.Helper()
	u := unit{name: "coder", digest: v, command: command{env: env, argv: []string{self(b.t), "--model", b.model, "--alias", "tiny", "--port", strconv.Itoa(b.port)}}}
	text, err := json.Marshal(u.definition())
	if err == nil {
		err = os.WriteFile(control.DefinitionFile(b.units, "coder"), text, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) running() string {
	b.t.Helper()
	st, err := state(b.t.Context(), b.at, "coder")
	if err != nil {
		b.t.Fatal(err)
	}
	if st.Activity != control.Running {
		return ""
	}
	return st.Inputs
}

func TestServicesPassProviderSuite(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Suite {
		m := newBox(t)
		return providertest.Suite{
			Provider: Provider{By: control.Own, State: "/home/me/.local/state/aisync", Controllers: func(control.Kind, bool) control.Controller { return m.at }},
			Address:  "service:user/coder",
			Want: func(_ *providertest.Bench, v string) []reconcile.Leaf {
				m.define(v, nil)
				return []reconcile.Leaf{{Body: run{digest: v, by: control.Own, port: m.port}}}
			},
			Put: func(t *testing.T, _ *providertest.Bench, v string) {
				err := m.at.Stop(t.Context(), "coder")
				if v != "" && err == nil {
					m.define(v, nil)
					err = m.at.Start(t.Context(), "coder")
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			Get:     func(*testing.T, *providertest.Bench) string { return m.running() },
			Outside: true, Stride: 7,
		}
	})
}

// A server that ends at once is not left to try for ever, and what it wrote is
// what a person sees.
func TestAServerThatEndsShowsWhatItWrote(t *testing.T) {
	b := newBox(t)
	b.define("X", map[string]string{"FAKELLAMA_DIE": "no such device"})
	err := Await(t.Context(), b.at, "coder", b.port, b.at.Start(t.Context(), "coder"))
	if err == nil || !strings.Contains(err.Error(), "exit code 1") || !strings.Contains(err.Error(), "no such device") {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatIsKilledComesBack(t *testing.T) {
	b := newBox(t)
	b.define("X", nil)
	if err := Await(t.Context(), b.at, "coder", b.port, b.at.Start(t.Context(), "coder")); err != nil {
		t.Fatal(err)
	}
	first, _ := state(t.Context(), b.at, "coder")
	p, err := os.FindProcess(first.PID)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		now, err := state(t.Context(), b.at, "coder")
		return err == nil && now.Activity == control.Running && now.PID != first.PID && now.Restarts == 1
	})
	if err := b.at.Stop(t.Context(), "coder"); err != nil {
		t.Fatal(err)
	}
	if got := b.running(); got != "" {
		t.Errorf("stopped, and %q runs", got)
	}
}
