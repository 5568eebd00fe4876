package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
)

const (
	realValue  = `{"command":"x","env":{"WORD":"hunter2"}}`
	shownValue = `{"command":"x","env":{"WORD":"(the secret W)"}}`
)

// TestSecretAppearsOnlyInItsFile goes through what an observer of a change could
// see of one whose value must be written.
func TestSecretAppearsOnlyInItsFile(t *testing.T) {
	seal := NewSeal([]byte("a key of this machine"))
	p := Provider{Seal: seal}
	body := Secret(merge.Value(realValue), merge.Value(shownValue), seal)
	other := Secret(merge.Value(strings.Replace(realValue, "hunter2", "hunter3", 1)), merge.Value(shownValue), seal)
	for _, name := range []string{"mcp.json", "config.toml", "config.yaml"} {
		m := newMachine(t)
		observe := func(c reconcile.Change) reconcile.Change {
			c.Before = p.Observe(t.Context(), m.env.ReadEnv, []reconcile.Target{c.Target})[0]
			return c
		}
		unseen := func(where string, said any) {
			t.Helper()
			b, err := json.Marshal(said)
			if text := string(b) + fmt.Sprintf("%+v", said); err != nil || strings.Contains(text, "hunter") {
				t.Errorf("%s: %s shows it: %s %v", name, where, text, err)
			}
		}
		create := observe(m.decide(name, "", act("/servers/a", reconcile.Create, body, nil)))
		unseen("explain", p.Explain(t.Context(), m.env.ReadEnv, create))
		unseen("the plan", body.Redacted())
		unseen("the record", []any{m.apply(t, create), body.Fingerprint()})
		if info, err := os.Stat(filepath.Join(m.dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode is %v, %v", name, info.Mode(), err)
		}
		if !strings.Contains(m.get(t, name), "hunter2") {
			t.Errorf("%s: it is not written: %s", name, m.get(t, name))
		}

		last := &reconcile.LeafRecord{Live: body.Fingerprint()}
		same := observe(m.decide(name, "", act("/servers/a", reconcile.None, body, last)))
		if same.Before.Live["/servers/a"] != body.Fingerprint() {
			t.Errorf("%s: what was just written is not in sync", name)
		}
		// Another writer's file, whose mode lets others read it.
		if err := os.Chmod(filepath.Join(m.dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
		update := observe(m.decide(name, "", act("/servers/a", reconcile.Update, other, last)))
		unseen("explain", p.Explain(t.Context(), m.env.ReadEnv, update))
		m.apply(t, update)
		if info, err := os.Stat(filepath.Join(m.dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode is %v, %v", name, info.Mode(), err)
		}

		edited := observe(m.decide(name, "", act("/servers/a", reconcile.Clash, body, last)))
		edited.Leaves[0].Drift = true
		unseen("since", p.Since(t.Context(), m.env.ReadEnv, edited))
		unseen("where", p.Where(t.Context(), m.env.ReadEnv, edited))
		// No longer wanted: only the record says that it holds one.
		gone := observe(m.decide(name, "", act("/servers/a", reconcile.Delete, nil, last)))
		gone.Leaves[0].Drift = true
		unseen("explain", p.Explain(t.Context(), m.env.ReadEnv, gone))
		unseen("since", p.Since(t.Context(), m.env.ReadEnv, gone))
		unseen("where", p.Where(t.Context(), m.env.ReadEnv, gone))
	}
}

func TestASecretThatCannotBeReadLeavesWhatIsThere(t *testing.T) {
	seal := NewSeal([]byte("key"))
	body := Secret(merge.Value(realValue), merge.Value(shownValue), seal)
	m := newMachine(t)
	m.apply(t, m.decide("mcp.json", "", act("/servers/a", reconcile.Create, body, nil)))
	kept := Kept(body.Fingerprint())
	if kept.Fingerprint() != body.Fingerprint() || bytes.Contains(kept.Redacted(), []byte("hunter")) {
		t.Errorf("kept is %s, %s", kept.Fingerprint(), kept.Redacted())
	}
	before := m.get(t, "mcp.json")
	c := m.decide("mcp.json", "", act("/servers/a", reconcile.Update, kept, &reconcile.LeafRecord{Live: body.Fingerprint()}))
	if _, err := (Provider{Seal: seal}).Apply(t.Context(), c, m.env); err == nil || !strings.Contains(err.Error(), "set the variable") {
		t.Errorf("got %v", err)
	}
	if m.get(t, "mcp.json") != before {
		t.Error("it was changed")
	}
}

func TestSealsOfTwoMachinesDiffer(t *testing.T) {
	a, b := NewSeal([]byte("one")), NewSeal([]byte("two"))
	if a([]byte("x")) == b([]byte("x")) || a([]byte("x")) == a([]byte("y")) || !IsSealed(a([]byte("x"))) {
		t.Error("a seal depends on its key and its value")
	}
}
