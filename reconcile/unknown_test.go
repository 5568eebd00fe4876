package reconcile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"aisync.dev/aisync/internal/crash"
	. "aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// fail makes the folder dir fail for s.
func (s *session) fail(dir fsys.LogicalPath) {
	s.env.FS = crash.FailReads(s.env.FS, dir, syscall.EIO)
	s.env.ReadEnv.FS = s.env.FS
}

func failingInput() Input {
	return want(host, whole("file:~/d/f", HostOwner, "ours\n"), key("file:~/d/settings.json", HostOwner, "/x", "1"), linked("link:~/d/l", HostOwner, "a"), folder("dir:~/d/folder", HostOwner), whole("file:~/other", HostOwner, "2\n"))
}

func TestWhatCannotBeObservedIsNotForgotten(t *testing.T) {
	for _, name := range []string{"destroy", "rollback"} {
		for _, late := range []bool{false, true} { // the disk fails between the plan and the apply
			m := newMachine(t)
			m.write("~/d/settings.json", "{\"mine\": 1}\n")
			bare := m.tree()
			m.apply(failingInput())
			s := m.open()
			plan := func() (*Plan, error) {
				if name == "destroy" {
					return m.plan(s, want(host)), nil
				}
				p, entry, err := s.engine.RollbackPlan(t.Context(), s.env.ReadEnv, s.store, "", Choice{})
				s.opt.RollbackOf = entry.ID
				return p, err
			}
			if !late {
				s.fail("/home/me/d")
			}
			p, err := plan()
			if err != nil {
				t.Fatal(err)
			}
			s.fail("/home/me/d")
			for _, c := range p.Changes {
				if a := c.Target.Resource.Address; (c.Action == Unclear) != (!late && strings.Contains(string(a), "~/d/")) {
					t.Errorf("%s, late %v: %s is %q (%s)", name, late, a, c.Action, c.Meaning())
				}
			}
			s.opt.KeepGoing = true
			_, _ = s.engine.Apply(t.Context(), s.env, s.store, p, s.opt)
			if m.read("~/other") != "" || m.read("~/d/f") != "ours\n" {
				t.Errorf("%s, late %v: what can be observed was not done, or more was:\n%s", name, late, m.tree())
			}
			var held []string
			for _, rec := range m.open().store.Records(HostOwner) {
				held = append(held, string(rec.Address))
			}
			if want := []string{"dir:~/d/folder", "file:~/d/f", "file:~/d/settings.json", "link:~/d/l"}; !slices.Equal(held, want) {
				t.Errorf("%s, late %v: on record are %q, want %q", name, late, held, want)
			}
			// The disk is well again.
			s = m.open()
			if p, err = plan(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.engine.Apply(t.Context(), s.env, s.store, p, s.opt); err != nil || m.tree() != bare {
				t.Errorf("%s, late %v, again: %v\n%s\nwant\n%s", name, late, err, m.tree(), bare)
			}
		}
	}
}

// What a killed apply left is not lost sight of because a disk fails when it is
// looked for.
func TestRecoveryOnAFailingDiskForgetsNothing(t *testing.T) {
	_, _, tree, ops := reference(t)
	for i, dir := range []fsys.LogicalPath{"/home/me/gone/deep", "/home/me/.claude", "made/deep", "made", "/home/me"} {
		for n := int64(1 + i%2); n <= ops; n += 2 {
			m := newMachine(t)
			in := mixed(m)
			bare := m.tree()
			m.kill(in, n)
			killed := fmt.Sprintf("apply%04d", m.applies)
			s := m.open()
			s.fail(dir)
			_, err := s.engine.Recover(t.Context(), s.env, s.store)
			if err != nil && !errors.Is(err, syscall.EIO) {
				t.Errorf("killed at %d: %v", n, err)
			}
			if n%4 < 2 {
				if err := m.undo(killed, Choice{}); err != nil && !errors.Is(err, ErrNoApply) || m.tree() != bare {
					t.Errorf("%s, killed at %d, rolled back: %v\n%s\nwas\n%s", dir, n, err, m.tree(), bare)
				}
				continue
			}
			m.apply(in)
			m.settled(in)
			if got := m.tree(); got != tree {
				t.Errorf("%s, killed at %d: %v\n%s\nwant\n%s", dir, n, err, got, tree)
			}
		}
	}
}
