package reconcile_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// faulty is a provider with a fault of its own.
type faulty struct{ observe bool }

func (faulty) Kind() string { return "faulty" }

func (f faulty) Observe(_ context.Context, _ reconcile.ReadEnv, batch []reconcile.Target) []reconcile.Observation {
	if f.observe {
		panic("observe")
	}
	return make([]reconcile.Observation, len(batch))
}

func (faulty) Explain(context.Context, reconcile.ReadEnv, reconcile.Change) []reconcile.Line {
	return nil
}

func (faulty) Apply(context.Context, reconcile.Change, reconcile.WriteEnv) (reconcile.Outcome, error) {
	panic("apply")
}

// A panic in a goroutine would end the program with Go's code 2, which reads
// as drift, and without its records.
func TestAPanicOfAProviderIsAnError(t *testing.T) {
	disk, err := fsys.New(fsys.Options{Root: t.TempDir(), Home: "/home", Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := reconcile.OpenStore(disk, "/state")
	if err != nil {
		t.Fatal(err)
	}
	in := reconcile.Input{Owners: []reconcile.Owner{reconcile.HostOwner}, Declarations: []reconcile.Declaration{
		{Target: "faulty:x", Owner: reconcile.HostOwner, Leaves: []reconcile.Leaf{{Body: mark("x")}}},
	}}
	env := reconcile.WriteEnv{FS: disk, ReadEnv: reconcile.ReadEnv{FS: disk, Home: "/home", Clock: clock}}
	e := &reconcile.Engine{Providers: []reconcile.Provider{faulty{observe: true}}}
	if _, err := e.Plan(t.Context(), env.ReadEnv, s, in); err == nil || !strings.Contains(err.Error(), "bug in aisync: observe") {
		t.Error(err)
	}
	e = &reconcile.Engine{Providers: []reconcile.Provider{faulty{}}}
	p, err := e.Plan(t.Context(), env.ReadEnv, s, in)
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.Apply(t.Context(), env, s, p, reconcile.ApplyOptions{ID: "t"})
	if err != nil || len(res.Failed) != 1 || !strings.Contains(res.Failed[0].Err.Error(), "bug in aisync: apply") {
		t.Error(res, err)
	}
}

// mark is a body that is its own fingerprint.
type mark string

func (m mark) Fingerprint() reconcile.Fingerprint { return reconcile.Fingerprint(m) }
func (m mark) Redacted() json.RawMessage          { return nil }

func clock() time.Time { return time.Unix(1, 0) }
