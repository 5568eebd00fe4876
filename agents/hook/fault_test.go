package hook

import (
	"errors"
	"strings"
	"testing"
)

// faulty is an output at which the program fails.
type faulty struct{}

func (faulty) Write([]byte) (int, error) { panic(errors.New("out of order")) }

// TestFaultStopsNoAgent: the exit code of a panic, 2, would refuse the agent's call.
func TestFaultStopsNoAgent(t *testing.T) {
	b := newBench(t)
	if a := b.raw("claude", "SessionStart", `{"session_id":"one"}`, faulty{}); !strings.Contains(a.errs, "hook SessionStart: a fault of aisync: out of order") {
		t.Errorf("it says %q", a.errs)
	}
}
