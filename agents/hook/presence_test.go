package hook

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// join makes an agent of a runtime present whose program started this process.
func (b *bench) join(runtime string) *Presence {
	b.Helper()
	all := catalog.Runtimes()
	i := slices.IndexFunc(all, func(r spec.Runtime) bool { return r.ID == runtime })
	p, err := Join(Call{Runtime: all[i], Runtimes: all, Getenv: func(n string) string { return b.env[n] }, Dir: b.root, Err: os.Stderr, Table: process.System(), Now: b.now})
	if err != nil {
		b.Fatal(err)
	}
	b.ledger.Leases = p.Leases()
	return p
}

func TestPresenceIsASessionWithoutHooks(t *testing.T) {
	b := newBench(t)
	b.start("one")
	p := b.join("amp")
	text, err := p.Text()
	if err != nil || p.Name() != "amp" {
		t.Errorf("%s is told %s, %v", p.Name(), text, err)
	}
	for _, want := range []string{"Your name there is amp.", "Other agents here: claude (claude)", "(claim)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	b.claim("amp", "src")
	if claims, err := b.ledger.Claims(); err != nil || len(claims) != 1 || claims[0].State != ledger.Held {
		t.Errorf("claims %+v, %v", claims, err)
	}
	if got := b.start("one").Specific.Context; !strings.Contains(got, "Other agents here: amp (amp)") || !strings.Contains(got, "Others claim: src (amp).") {
		t.Errorf("the other is told\n%s", got)
	}
	b.send(ledger.Message{From: "claude", To: "amp", Type: "question", Body: "done?"})
	b.send(ledger.Message{From: "claude", To: "amp", Type: "note", Body: "soon"})
	if n, err := p.Unread(); n != 2 || err != nil {
		t.Errorf("%d unread, %v", n, err)
	}
	if again := b.join("amp"); again.Name() != "amp" {
		t.Errorf("the server of the same program, started again, is %s", again.Name())
	}
	if err := p.Leave(b.now); err != nil {
		t.Fatal(err)
	}
	if owners := b.owners(); len(owners) != 0 {
		t.Errorf("claims after the end: %v", owners)
	}
	if r, err := p.call.readRecord("amp"); err != nil || !r.Ended {
		t.Errorf("the record after the end: %+v, %v", r, err)
	}
}

// Where hooks of the same program run, its seat and its claims are theirs.
func TestPresenceLeavesASessionToItsHooks(t *testing.T) {
	b := newBench(t)
	p := b.join("claude")
	b.claim("claude", "src")
	r, err := p.call.readRecord("claude")
	if err != nil {
		t.Fatal(err)
	}
	r.Session, r.Primed = "one", true
	if err := p.call.seats().Write(r.Name, r); err != nil {
		t.Fatal(err)
	}
	again := b.join("claude")
	if err := again.Renew(b.now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := again.Leave(b.now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if r, err := p.call.readRecord("claude"); err != nil || !r.Primed || r.Session != "one" || r.Ended || b.owners()["src"] != "claude" {
		t.Errorf("the hooks' record is %+v, %v; claims %v", r, err, b.owners())
	}
}

// A presence whose seat was ended, or whose ledger was made anew, takes part again.
func TestPresenceJoinsAgain(t *testing.T) {
	b := newBench(t)
	p := b.join("amp")
	if err := p.Leave(b.now); err != nil {
		t.Fatal(err)
	}
	if err := p.Renew(b.now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if r, err := p.call.readRecord("amp"); err != nil || r.Ended {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.RemoveAll(b.root + "/" + ledger.Dir); err != nil {
		t.Fatal(err)
	}
	if err := p.Renew(b.now.Add(time.Minute)); err == nil || !strings.Contains(err.Error(), "run: aisync apply") {
		t.Errorf("without a ledger: %v", err)
	}
	if _, _, err := ledger.Init(b.root, "person"); err != nil {
		t.Fatal(err)
	}
	if err := p.Renew(b.now.Add(time.Minute)); err != nil || p.Name() != "amp" {
		t.Errorf("%s, %v", p.Name(), err)
	}
}
