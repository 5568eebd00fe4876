package reconcile_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	. "aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// busy is a program that rewrites a file each time that an apply has written its
// new version of it beside, so many times.
type busy struct {
	m     *machine
	name  string
	text  func(n int) string
	times int
	slow  int // the text that is only a part of the next one; 0: none

	mu    sync.Mutex
	wrote int
}

func (b *busy) hook(next fsys.Hook) fsys.Hook {
	return func(op fsys.Op) error {
		b.mu.Lock()
		if op.Name == "fsync" && strings.Contains(op.Path, "/.settings.json.aisync-") && b.wrote < b.times {
			b.wrote++
			b.m.write(b.name, b.text(b.wrote))
			if b.slow == b.wrote { // the rest of it comes later
				b.wrote++
				n := b.wrote
				time.AfterFunc(15*time.Millisecond, func() { b.m.write(b.name, b.text(n)) })
			}
		}
		b.mu.Unlock()
		if next != nil {
			return next(op)
		}
		return nil
	}
}

func counted(n int) string { return fmt.Sprintf("{\n  \"starts\": %d\n}\n", n) }

func TestAProgramThatRewritesAFileDoesNotStarveAnApply(t *testing.T) {
	for _, c := range []struct {
		name  string
		times int
		text  func(n int) string
		says  string // "" where the apply gets through
	}{
		{"now and then", 3, counted, ""},
		{"and is seen half-way", 3, func(n int) string {
			if n == 2 {
				return `{"star`
			}
			return counted(n)
		}, ""},
		{"all the time", 1000, counted, "6 times in a row: a program rewrites it all the time; end that program, then run the command again"},
		{"with what is ours in it", 1000, func(n int) string { return fmt.Sprintf("{\n  \"x\": %d\n}\n", 100+n) }, "changed since the plan was made"},
		{"and leaves it broken", 1, func(int) string { return `{"star` }, "changed since the plan was made"},
	} {
		for _, absent := range []bool{false, true} {
			m := newMachine(t)
			m.write("~/settings.json", counted(0))
			if absent {
				_ = os.Remove(m.at("~/settings.json"))
			}
			in := want(host, key(settings, HostOwner, "/x", "1"), whole("file:~/after", HostOwner, "1\n"), whole("file:~/other", HostOwner, "2\n"))
			b := &busy{m: m, name: "~/settings.json", text: c.text, times: c.times}
			if c.name == "and is seen half-way" {
				b.slow = 2
			}
			m.hook = b.hook(nil)
			_, res, err := m.try(in)
			m.hook = nil
			if m.read("~/other") != "2\n" || m.read("~/after") != "1\n" {
				t.Errorf("%s: the rest is not done: %+v", c.name, res)
			}
			if c.says == "" {
				if err != nil || !strings.Contains(m.read("~/settings.json"), fmt.Sprintf(`"starts": %d`, b.wrote)) {
					t.Errorf("%s, absent %v: %v, after %d saves:\n%s", c.name, absent, err, b.wrote, m.read("~/settings.json"))
				}
				m.settled(in)
				if err := m.undo("", Choice{}); err != nil || m.read("~/settings.json") != c.text(b.wrote) {
					t.Errorf("%s, rolled back: %v\n%s", c.name, err, m.read("~/settings.json"))
				}
				continue
			}
			if !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), c.says) || b.wrote > 6 {
				t.Errorf("%s: %v, after %d saves", c.name, err, b.wrote)
			}
			if got := m.read("~/settings.json"); got != c.text(b.wrote) {
				t.Errorf("%s: the program's own text is not there:\n%s", c.name, got)
			}
			if strings.Contains(m.tree(), ".aisync-") {
				t.Errorf("%s: left behind:\n%s", c.name, m.tree())
			}
		}
	}
}

// A whole file that changed is another matter than the plan was about.
func TestAWholeFileThatIsRewrittenIsNotOverwritten(t *testing.T) {
	m := newMachine(t)
	m.apply(want(host, whole(settings, HostOwner, "old\n")))
	b := &busy{m: m, name: "~/settings.json", text: counted, times: 1}
	m.hook = b.hook(nil)
	if _, _, err := m.try(want(host, whole(settings, HostOwner, "new\n"))); !errors.Is(err, ErrStale) || m.read("~/settings.json") != counted(1) {
		t.Errorf("%v\n%s", err, m.read("~/settings.json"))
	}
}

// Killed at any operation of a second attempt, what the program saved last is
// there or kept, and destroy brings back what was there before.
func TestASecondAttemptMayBeKilled(t *testing.T) {
	arrange := func(t *testing.T) (*machine, Input) {
		m := newMachine(t)
		m.write("~/settings.json", "{\n  \"x\": 1\n}\n")
		m.apply(want(host, key(settings, HostOwner, "/x", "1"))) // adopted: it comes back in the end
		return m, want(host, key(settings, HostOwner, "/x", "2"))
	}
	text := func(n int) string { return fmt.Sprintf("{\n  \"x\": 1,\n  \"starts\": %d\n}\n", n) }
	for n := int64(1); ; n++ {
		m, in := arrange(t)
		hook, dead := dieAt(n)
		b := &busy{m: m, name: "~/settings.json", text: text, times: 2}
		m.hook = b.hook(hook)
		_, _, err := m.try(in)
		m.hook = nil
		if !dead.Load() {
			if err != nil || b.wrote != 2 || n < 20 {
				t.Fatalf("not killed at %d: %v, after %d saves", n, err, b.wrote)
			}
			return
		}
		m.apply(in)
		m.settled(in)
		for _, rec := range m.open().store.Records(HostOwner) {
			if prior := rec.Leaves[0].Prior; prior != "" {
				if _, err := m.open().store.Backup(prior); err != nil {
					t.Errorf("killed at %d: what was there before is on record, and not kept: %v", n, err)
				}
			}
		}
		if got, want := m.read("~/settings.json"), strings.Replace(text(b.wrote), `"x": 1`, `"x": 2`, 1); got != want && b.wrote > 0 {
			t.Errorf("killed at %d, after %d saves:\n%s", n, b.wrote, got)
		}
		m.apply(want(host))
		if got := m.read("~/settings.json"); b.wrote > 0 && got != text(b.wrote) {
			t.Errorf("killed at %d, after %d saves, all gone:\n%s\nwant\n%s", n, b.wrote, got, text(b.wrote))
		}
	}
}
