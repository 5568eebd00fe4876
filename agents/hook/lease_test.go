package hook

import (
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/lease"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
)

// A hook gives the agent's claims a lease; what an ended agent claims gives way,
// also below a pattern, and what a stale one claims does not.
func TestHooksLeaseClaims(t *testing.T) {
	b := newBench(t)
	b.start("me")
	b.claim("claude", "own.go")
	leased := func(path string) bool {
		t.Helper()
		claims, err := b.ledger.Claims()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range claims {
			if strings.HasSuffix(c.Path, "/"+path) {
				return strings.Contains(string(c.Lease), `"session": "me"`)
			}
		}
		return false
	}
	if leased("own.go") {
		t.Fatal("a claim by hand has a lease")
	}
	b.now = b.now.Add(2 * time.Minute)
	b.edit("me", "x.go")
	if !leased("own.go") {
		t.Error("the hook did not renew it")
	}

	claimAs := func(agent, path string, h lease.Holder, at clock.Clock) {
		t.Helper()
		b.ledger.Leases = &lease.Leases{Table: process.System(), Project: b.root, Clock: at, Holder: func() (lease.Holder, bool) { return h, true }}
		b.claim(agent, path)
		b.ledger.Leases = nil
	}
	ended := lease.Holder{Runtime: "codex", PID: 1, Start: 1, Place: keeper.Here(process.System())} // another process has that number
	hidden := ended
	hidden.Namespace = "pid:[1]"
	claimAs("codex", "src/*.go", ended, clock.Now)
	claimAs("pi", "lib/**", hidden, func() clock.Moment { m := clock.Now(); m.Wall, m.Up = m.Wall-1e7, m.Up-1e7; return m })
	if got := b.edit("me", "src/a.go"); got.Specific.Decision != "" {
		t.Errorf("an ended claim: %+v", got)
	}
	got := b.edit("me", "lib/deep/a.go").Specific
	if got.Decision != "deny" || !strings.Contains(got.Reason, "(stale: its agent, codex (process 1 on ") || !strings.Contains(got.Reason, "is claimed by pi since") {
		t.Errorf("a stale claim: %+v", got)
	}
	if claims, err := b.ledger.Claims(); err != nil || strings.Contains(claimants(claims), "codex") || !strings.Contains(claimants(claims), "pi") {
		t.Errorf("%v %v", claims, err)
	}
}

func claimants(claims []ledger.Claim) string {
	var out []string
	for _, c := range claims {
		out = append(out, c.Agent)
	}
	return strings.Join(out, " ")
}
