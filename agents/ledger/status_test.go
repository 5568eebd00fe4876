package ledger

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// waiting is a ledger with a long audit trail, in which n agents have a message
// that they never read.
func waiting(t testing.TB, n, lines int) *Ledger {
	t.Helper()
	l, _, err := Init(t.TempDir(), "pi")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := l.Send(Message{From: "pi", To: fmt.Sprintf("codex-%d", i), Type: "note", Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	line := `{"ts":"2026-01-01T00:00:00.000Z","action":"note","from":"pi","body":"a fact"}` + "\n" +
		`{"ts":"2026-01-01T00:00:00.000Z","action":"inbox_read","agent":"pi","sinceLastRead":true}` + "\n"
	f, err := os.OpenFile(l.path(auditFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(strings.Repeat(line, lines/2)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestStatusReadsTheTrailOnce(t *testing.T) {
	allocs := func(agents int) float64 {
		l := waiting(t, agents, 20_000)
		return testing.AllocsPerRun(1, func() {
			s, err := l.Status()
			if err != nil || len(s.Agents) < agents || s.Agents[0].Unread != 1 {
				t.Fatalf("%d agents, %v", len(s.Agents), err)
			}
		})
	}
	if one, ten := allocs(1), allocs(10); ten > 1.5*one {
		t.Errorf("%.0f allocations for one agent, %.0f for ten: the trail is read for each", one, ten)
	}
}

func TestStatusReadsLastReadingFromTrail(t *testing.T) {
	l := fresh(t)
	for _, to := range []string{"codex", "claude"} {
		if _, err := l.Send(Message{From: "pi", To: to, Type: "note", Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.recordAt("2037-01-01T00:00:00.000Z", "inbox_read", pair{"agent", "codex"}); err != nil {
		t.Fatal(err)
	}
	s, err := l.Status()
	if err != nil {
		t.Fatal(err)
	}
	unread := map[string]int{}
	for _, a := range s.Agents {
		unread[a.Agent] = a.Unread
	}
	if unread["codex"] != 0 || unread["claude"] != 1 {
		t.Errorf("unread: %v", unread)
	}
}

func BenchmarkStatus(b *testing.B) {
	l := waiting(b, 40, 100_000)
	for b.Loop() {
		if _, err := l.Status(); err != nil {
			b.Fatal(err)
		}
	}
}
