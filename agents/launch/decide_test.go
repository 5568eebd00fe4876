package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
)

func newProject(t *testing.T, contexts ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(contexts, project.Protocols) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#+TITLE: Session context\n\n* Summary\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDecideRole(t *testing.T) {
	agent := roster.Agent{PID: 10, Runtime: "claude", Known: true}
	named := roster.Agent{PID: 11, Runtime: "codex", Known: true, ID: "pearl.p.codex.0001"}
	helper := roster.Agent{PID: 12, Runtime: "claude", Known: true, ID: "helper-0001", Helper: true}
	unread := roster.Agent{PID: 13, Runtime: "claude"}
	const one, two, three = project.Singleton, project.Contexts + "/pearl.p.codex.0002.org", project.Contexts + "/helper-0009.org"
	for _, c := range []struct {
		name     string
		contexts []string
		here     []roster.Agent
		ask      Ask
		want     string // role and id
		err      string
	}{
		{name: "alone", want: "primary"},
		{name: "alone, asks for an id", ask: Ask{NewID: true}, want: "agent"},
		{name: "beside a primary", here: []roster.Agent{agent}, want: "agent"},
		{name: "beside an agent", here: []roster.Agent{named}, want: "agent"},
		{name: "beside one whose environment cannot be read", here: []roster.Agent{unread}, want: "agent"},
		{name: "a helper", here: []roster.Agent{agent}, ask: Ask{Helper: true}, want: "helper"},
		{name: "a helper without a primary", ask: Ask{Helper: true}, want: "primary"},
		{name: "beside a helper whose primary has gone", here: []roster.Agent{helper}, want: "primary"},
		{name: "a second helper", here: []roster.Agent{helper}, ask: Ask{Helper: true}, want: "helper"},
		{name: "an id of one's own", ask: Ask{ID: "mine"}, want: "agent mine"},
		{name: "a helper's id", ask: Ask{ID: "helper-7"}, want: "helper helper-7"},
		{name: "a bad id", ask: Ask{ID: "../x"}, err: "agent id"},
		{name: "an id that lives", here: []roster.Agent{named}, ask: Ask{ID: named.ID}, err: "runs already"},
		{name: "after a crash", contexts: []string{one}, err: ErrUndecided.Error()},
		{name: "after a crash, anew", contexts: []string{one}, ask: Ask{Fresh: true}, want: "primary"},
		{name: "after a crash, recovered", contexts: []string{one}, ask: Ask{Recover: true}, want: "primary recovers"},
		{name: "after an agent with an id crashed", contexts: []string{two}, ask: Ask{Recover: true}, want: "agent pearl.p.codex.0002 recovers"},
		{name: "after two crashed", contexts: []string{one, two}, ask: Ask{Recover: true}, err: "--recover=primary, --recover=pearl.p.codex.0002"},
		{name: "after two crashed, one chosen", contexts: []string{one, two}, ask: Ask{Recover: true, RecoverID: Primary}, want: "primary recovers"},
		{name: "nothing to recover", ask: Ask{Recover: true}, err: "nothing to recover"},
		{name: "not one that crashed", contexts: []string{one}, ask: Ask{Recover: true, RecoverID: "x"}, err: "no crashed session"},
		{name: "beside others a crash is no question", contexts: []string{two}, here: []roster.Agent{agent}, want: "agent"},
		{name: "a helper that crashed is no question", contexts: []string{three}, want: "primary"},
		{name: "after a primary and its helper crashed", contexts: []string{one, three}, ask: Ask{Recover: true}, want: "primary recovers"},
		{name: "a helper recovered", contexts: []string{three}, ask: Ask{Recover: true}, want: "helper helper-0009 recovers"},
		{name: "its old id is recovery", contexts: []string{two}, ask: Ask{ID: "pearl.p.codex.0002"}, want: "agent pearl.p.codex.0002 recovers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := newProject(t, c.contexts...)
			d, err := Decide(root, roster.Roster{Root: root, Agents: c.here}, c.ask)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			got := strings.TrimSpace(d.Role + " " + d.ID)
			if d.Recover != nil {
				got += " recovers"
			}
			if err != nil || got != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestConcurrentIDsAreUnique(t *testing.T) {
	root := newProject(t)
	var next sync.Mutex
	n := 0
	// Of 600 names, drawn over and over: each is offered to many.
	narrow := func(taken func(string) bool) string {
		for {
			next.Lock()
			n = (n*7 + 11) % 601
			id := fmt.Sprintf("helper-%04x", n)
			n++
			next.Unlock()
			if !taken(id) {
				return id
			}
		}
	}
	ids := make([]string, 500)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			d := Decision{Role: "helper"}
			var err error
			if i%2 == 0 {
				err = d.MakeID(root, "pearl", "claude")
			} else {
				d.ID, err = Reserve(root, func(string) bool { return false }, narrow)
			}
			if err != nil {
				t.Error(err)
			}
			ids[i] = d.ID
		})
	}
	wg.Wait()
	slices.Sort(ids)
	if got := len(slices.Compact(ids)); got != 500 {
		t.Errorf("%d ids", got)
	}
}

func TestHoldIsExclusive(t *testing.T) {
	root := newProject(t)
	for round := range 20 {
		holds := make([]*Hold, 30)
		var wg sync.WaitGroup
		for i := range holds {
			wg.Go(func() {
				h, err := HoldID(root, "")
				if err != nil && !errors.Is(err, ErrHeld) {
					t.Error(err)
				}
				holds[i] = h
			})
		}
		wg.Wait()
		n := 0
		for _, h := range holds {
			if h != nil {
				n++
			}
		}
		if n != 1 || !Held(root, "") {
			t.Fatalf("round %d: %d hold it", round, n)
		}
		for _, h := range holds {
			h.Release()
		}
		if Held(root, "") {
			t.Fatal("held after it was released")
		}
	}
}

func TestClearFreesPrimary(t *testing.T) {
	root := newProject(t, project.Singleton)
	d, err := Decide(root, roster.Roster{Root: root}, Ask{Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := Clear(root, d, time.Date(2026, 5, 28, 9, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	kept, _ := filepath.Glob(filepath.Join(root, project.Sessions, "2026-05-28-09-00-*crashed.org"))
	if _, err := os.Lstat(filepath.Join(root, project.Singleton)); err == nil || len(kept) != 1 {
		t.Errorf("the crashed session was not archived: %v %v", err, kept)
	}

	helper := session.ByID(root, "helper-0001")
	if err := os.MkdirAll(filepath.Dir(helper.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(helper.Path, []byte("* Summary\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := session.SyncCopy(root, true); err != nil {
		t.Fatal(err)
	}
	if copied, err := session.Copied(root); copied == "" || err != nil {
		t.Fatalf("no copy was made: %v", err)
	}
	if err := Clear(root, Decision{Role: Primary}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(root, project.Singleton)); err == nil {
		t.Error("the copy is still there")
	}

	if err := os.Symlink("elsewhere.org", filepath.Join(root, project.Singleton)); err != nil {
		t.Fatal(err)
	}
	if err := Clear(root, Decision{Role: Primary}, time.Now()); !errors.Is(err, session.ErrLink) {
		t.Errorf("a link was not refused: %v", err)
	}
}
