package stack_test

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/stacktest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
)

func TestSessionsExcludeEachOther(t *testing.T) {
	s := stacktest.New(t, nil)
	h := s.Hold()
	_, err := stack.HoldRecords(t.Context(), s.Machine(), stack.ScopeAll, stack.LockRequest{Command: "second", Timeout: time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "test") {
		t.Errorf("the second session: %v", err)
	}
	h.Release()
	h, err = stack.HoldRecords(t.Context(), s.Machine(), stack.ScopeAll, stack.LockRequest{Command: "third", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
	if s.Env[state.PIDVariable] == "" {
		t.Error("children do not learn who holds the lock")
	}
}

func TestSessionIsReleasedWhereLoadingFails(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.HostSpec: "package aisync\n\nhosts: 1\n"})
	for range 2 {
		_, err := stack.HoldLoaded(t.Context(), s.Machine(), stack.ScopeAll, stack.LockRequest{Command: "test"})
		if err == nil || !strings.Contains(err.Error(), "host.cue") {
			t.Fatalf("%v", err)
		}
	}
}

func TestUnreadableStateNamesWhatHelps(t *testing.T) {
	s := stacktest.New(t, nil)
	s.Set = func(m *stack.Machine) {
		m.Places.Hook = func(op fsys.Op) error {
			if strings.Contains(op.Path, "/state/aisync") {
				return &os.PathError{Op: op.Name, Path: op.Path, Err: os.ErrPermission}
			}
			return nil
		}
	}
	_, err := stack.HoldRecords(t.Context(), s.Machine(), stack.ScopeAll, stack.LockRequest{Command: "test"})
	if !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v", err)
	}
}

func TestRecoverFinishesAnInterruptedApply(t *testing.T) {
	s := stacktest.New(t, nil)
	died := errors.New("killed")
	var count atomic.Int32 // targets are looked at side by side
	s.Set = func(m *stack.Machine) {
		m.Places.Hook = func(op fsys.Op) error {
			if count.Add(1) > 60 {
				return died
			}
			return nil
		}
	}
	h := s.Hold()
	p, err := h.Plan(t.Context(), stack.Request{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Engine.Apply(t.Context(), h.WriteEnv(nil), h.Store, p, reconcile.ApplyOptions{ID: h.ApplyID, Command: "test", Version: "v1"})
	h.Release()
	if err == nil {
		t.Fatal("the apply was not interrupted")
	}
	s.Set = func(*stack.Machine) {}
	h = s.Hold()
	unfinished := h.Store.Unfinished()
	h.Release()
	if unfinished {
		t.Error("the journal is still there")
	}
	s.Apply()
	if got := s.Read("p/.claude/rules/x.md"); !strings.Contains(got, "# X") {
		t.Errorf("the rule holds %q", got)
	}
}

func TestGoneProjectPlansItsRemoval(t *testing.T) {
	s := stacktest.New(t, nil)
	s.Apply()
	owner := reconcile.ProjectOwner(s.Path("p"))
	h, err := stack.GoneProject(s.Machine(), owner, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	p, err := h.Engine.Plan(t.Context(), h.ReadEnv(), h.Store, reconcile.Input{Owners: h.Owners})
	if err != nil || len(p.Changes) == 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, c := range p.Changes {
		if c.Action != reconcile.Release {
			t.Errorf("%s: %s %s", c.Target.Resource.Address, c.Action, c.Meaning())
		}
	}
}

func TestDryRunTakesNoLock(t *testing.T) {
	s := stacktest.New(t, nil)
	h := s.Hold()
	defer h.Release()
	dry, err := stack.DryRun(s.Open())
	if err != nil {
		t.Fatal(err)
	}
	dry.Release()
}

func TestAgreementIsRemembered(t *testing.T) {
	s := stacktest.New(t, nil)
	v := s.Open()
	p, err := v.Plan(t.Context(), stack.Request{})
	if err != nil {
		t.Fatal(err)
	}
	all, undecided := v.Effects(p)
	if len(all) == 0 || len(undecided) != len(all) {
		t.Fatalf("%d effects, %d undecided", len(all), len(undecided))
	}
	if again, _ := v.Effects(p); &again[0] != &all[0] {
		t.Error("the effects of one plan were worked out twice")
	}
	if err := s.Machine().Agree(t.Context(), "test", reconcile.ProjectOwner(s.Path("p")), all); err != nil {
		t.Fatal(err)
	}
	v = s.Open()
	if p, err = v.Plan(t.Context(), stack.Request{}); err != nil {
		t.Fatal(err)
	}
	if _, undecided = v.Effects(p); len(undecided) != 0 {
		t.Errorf("undecided after a yes: %+v", undecided)
	}
}

func TestEffectsThatChangeWhileThePersonIsAskedAreStale(t *testing.T) {
	s := stacktest.New(t, nil)
	v := s.Open()
	p, err := v.Plan(t.Context(), stack.Request{})
	if err != nil {
		t.Fatal(err)
	}
	v.Effects(p)
	if err := v.EffectsUnchanged(p); err != nil {
		t.Errorf("nothing changed: %v", err)
	}
	s.Write("p/.claude/settings.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}`)
	if err := v.EffectsUnchanged(p); !errors.Is(err, reconcile.ErrStale) {
		t.Errorf("after an edit: %v", err)
	}
	if err := error(stack.EffectsError("2 effects wait")); !errors.Is(err, reconcile.ErrUndecided) || !strings.HasSuffix(err.Error(), "; nothing was changed") {
		t.Error(err)
	}
}

func TestProjectsOwnRuntimeIsALaunchEffect(t *testing.T) {
	s := stacktest.New(t, map[string]string{
		stacktest.ProjectSpec:      "package aisync\n\nproject: {name: \"p\", runtimes: [\"mine\"], sources: rules: \"../rules\", bundles: [\"rules//x\"]}\n",
		"rules/runtimes/mine.toml": "id = \"mine\"\nproject_install_dir = \".mine\"\n",
	})
	v := s.Open()
	runtimes := v.Spec.Catalog.Runtimes
	for i := range runtimes {
		runtimes[i].Command = "mine"
	}
	got := stack.Launches(v.Spec.Project, runtimes, "")
	if len(got) != 1 || got[0].Runtime != "mine" || got[0].Command != "mine" {
		t.Errorf("%+v", got)
	}
	if got := stack.Launches(v.Spec.Project, nil, "claude"); len(got) != 0 {
		t.Errorf("a runtime of the catalog: %+v", got)
	}
}

func TestSaveLocksWritesBothLocks(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.HostSpec: stacktest.ModelHost(t, "")})
	h, err := stack.HoldLoaded(t.Context(), s.Machine(), stack.ScopeAll, stack.LockRequest{Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	if err := h.Declare(t.Context(), h.WritingResolver(pin.Lock)); err != nil {
		t.Fatal(err)
	}
	if err := h.SaveLocks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Read("p/aisync.lock"); !strings.Contains(got, "format_version") {
		t.Errorf("the project's lock holds %q", got)
	}
	if len(h.Locks()) != 2 {
		t.Errorf("%d locks", len(h.Locks()))
	}
}
