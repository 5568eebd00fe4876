package reconcile_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/internal/proof"
	. "aisync.dev/aisync/reconcile"
)

// recorded is one command, step by step; the machine is then as after it.
func (m *machine) recorded(run func(s session) error) (*crash.Recording, int) {
	m.Helper()
	r, err := crash.Record(m.root, m.project)
	if err != nil {
		m.Fatal(err)
	}
	m.hook = r.Hook
	s := m.open()
	s.engine.Parallel = 1
	err = run(s)
	m.hook = nil
	steps, rerr := r.End()
	if err := errors.Join(err, rerr); err != nil {
		m.Fatal(err)
	}
	return r, steps
}

// first is a machine that aisync has not seen, and what is asked of it: with
// force, so that what the person has is replaced.
func first(m *machine) Input {
	m.project = tempDir(m.T)
	m.write("~/.claude/settings.json", "{\n  // mine\n  \"theme\": \"dark\"\n}\n")
	m.write(".gitignore", "*.o\n")
	m.write("~/prior", "theirs\n")
	m.write("~/update", "an old one of theirs\n")
	m.link("elsewhere", "~/l")
	return with(want([]Owner{HostOwner, m.owner()},
		whole("file:~/update", HostOwner, "new\n"), whole("file:made/deep/f", m.owner(), "hello\n"), whole("file:~/prior", HostOwner, "ours\n"),
		linked("link:~/l", HostOwner, "b"), folder("dir:.ai/new", m.owner()), line("file:.gitignore", m.owner(), ".ai/new/"),
		key("file:~/.claude/settings.json", HostOwner, "/y/z", "2"),
	), Choice{Force: true})
}

// The power goes at each step of a command, and of what was not synced by then
// the disk has what it has: each target holds its old or its new bytes, what the
// person had is there or comes back, and the next command converges.
func TestALossOfPowerLosesNothingAndTheNextCommandConverges(t *testing.T) {
	stride, seeds := 17, uint64(0)
	if os.Getenv("AISYNC_TEST_ROUNDS") != "" {
		stride, seeds = 1, 2
	}
	done := proof.Start(t, 1)
	tried := 0
	for _, c := range []struct {
		name    string
		arrange func(m *machine) Input
		undo    bool // the command is a rollback of the apply
	}{{"the first apply", first, false}, {"a later apply", mixed, false}, {"a rollback", first, true}, {"a rollback of a later apply", mixed, true}} {
		m := newMachine(t)
		in := c.arrange(m)
		applied := ""
		start, command := m.tree(), func(s session) error {
			_, err := s.engine.Apply(m.Context(), s.env, s.store, m.plan(s, in), s.opt)
			applied = s.id
			return err
		}
		if c.undo {
			m.apply(in)
			applied = fmt.Sprintf("apply%04d", m.applies)
			command = func(s session) error {
				p, _, err := s.engine.RollbackPlan(m.Context(), s.env.ReadEnv, s.store, applied, Choice{})
				if err != nil {
					return err
				}
				s.opt.RollbackOf = applied
				_, err = s.engine.Apply(m.Context(), s.env, s.store, p, s.opt)
				return err
			}
		}
		before := m.values()
		r, steps := m.recorded(command)
		after := m.values()
		undone := func() error {
			err := m.undo(applied, Choice{})
			if errors.Is(err, ErrNoApply) || err != nil && strings.Contains(err.Error(), "undone already") {
				err = nil
			}
			return err
		}
		if err := undone(); err != nil || m.tree() != start {
			t.Fatalf("%s: %v\n%s\nwant\n%s", c.name, err, m.tree(), start)
		}
		m.apply(in)
		made := m.tree()
		m.apply(want(in.Owners))
		gone := m.tree()
		known, seen := map[uint64]bool{}, 0
		try := func(l crash.Loss) bool {
			if seen++; seen%stride != 0 {
				return true
			}
			tried++
			fail := func(format string, args ...any) bool {
				t.Errorf("%s, %s: %s", c.name, l.Text, fmt.Sprintf(format, args...))
				return false
			}
			if err := l.Put(); err != nil {
				return fail("%v", err)
			}
			for name, now := range m.values() {
				if now != before[name] && now != after[name] {
					return fail("%s is %q; want %q or %q", name, now, before[name], after[name])
				}
			}
			if c.undo || tried%3 == 0 {
				if err := undone(); err != nil || m.tree() != start {
					return fail("rolled back: %v\n%s\nwas\n%s", err, m.tree(), start)
				}
			}
			if _, _, err := m.try(in); err != nil || m.tree() != made {
				return fail("it did not converge: %v\n%s\nwant\n%s", err, m.tree(), made)
			}
			m.settled(in)
			if _, _, err := m.try(want(in.Owners)); err != nil || m.tree() != gone {
				return fail("all is dropped: %v\n%s\nwant\n%s", err, m.tree(), gone)
			}
			return true
		}
		for step := range steps + 1 {
			if !r.Losses(step, seeds, known, try) {
				break
			}
		}
		if maps.Equal(before, after) || seen < 100 {
			t.Errorf("%s: %d states", c.name, seen)
		}
	}
	done("states", tried)
}
