package ledger

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A pipe, a folder or a link that leads nowhere in place of a file is reported,
// and no operation waits for it.
func TestFilesThatAreNone(t *testing.T) {
	kinds := map[string]func(path string) error{
		"pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	}
	for _, file := range []string{configFile, boardFile, claimsFile, auditFile, "agents/b/inbox.md", "agents/b/state.json", "audit.2036-01.jsonl"} {
		for kind, put := range kinds {
			t.Run(file+" is a "+kind, func(t *testing.T) {
				l := fresh(t)
				for _, to := range []string{"a", "b"} {
					if _, err := l.Send(Message{From: "pi", To: to, Type: "note", Body: "x"}); err != nil {
						t.Fatal(err)
					}
				}
				path := l.path(file)
				if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				if err := put(path); err != nil {
					t.Fatal(err)
				}
				done := make(chan string, 1)
				go func() {
					h, err := l.Doctor()
					said := ""
					for _, c := range h.Checks {
						if c.Status == "fail" || c.Status == "warn" {
							said += c.Name + ": " + c.Message + "\n"
						}
					}
					if err != nil {
						said += "error: " + err.Error()
					}
					_, _ = l.Status()
					_, _ = l.Overview(5)
					_, _ = l.Verify()
					_, _ = l.Stale(1)
					_, _ = l.Claims()
					_, _ = l.Send(Message{From: "pi", To: "b", Type: "note", Body: "y"})
					_, _ = l.Inbox(Reading{Agent: "b", Clear: true})
					done <- said
				}()
				select {
				case said := <-done:
					if !strings.Contains(said, "file") && !strings.Contains(said, "folder") {
						t.Errorf("doctor does not report it:\n%s", said)
					}
				case <-time.After(20 * time.Second):
					t.Fatal("waits")
				}
				// Another agent's mail is not concerned by what is broken of b.
				if strings.HasPrefix(file, "agents/b/") {
					s, err := l.Status()
					if err != nil || len(s.Agents) < 3 || s.Agents[0].Agent != "a" || s.Agents[0].Unread != 1 || s.Agents[1].Problem == "" {
						t.Errorf("status: %+v, %v", s.Agents, err)
					}
					if file == "agents/b/inbox.md" {
						if _, err := l.Retire(Retirement{Agent: "b", By: "pi"}); err == nil {
							t.Error("an agent whose inbox is unreadable was retired")
						}
					}
				}
			})
		}
	}
}

// Mail that was not shown is mail that was not read.
func TestDeliveryIsAtLeastOnce(t *testing.T) {
	full := errors.New("no space")
	for _, r := range []Reading{{Agent: "b"}, {Agent: "b", Since: true}, {Agent: "b", Clear: true}, {Agent: "b", Clear: true, Since: true}} {
		l := fresh(t)
		if _, err := l.Send(Message{From: "pi", To: "b", Type: "note", Body: "first"}); err != nil {
			t.Fatal(err)
		}
		if err := l.Deliver(r, func(string) error { return full }); !errors.Is(err, full) {
			t.Errorf("%+v: %v", r, err)
		}
		shown := ""
		show := func(content string) error { shown += content; return nil }
		if err := l.Deliver(r, show); err != nil || strings.Count(shown, "\nfirst\n") != 1 {
			t.Errorf("%+v: then: %q, %v", r, shown, err)
		}
		shown = ""
		if err := l.Deliver(Reading{Agent: "b", Since: true}, show); err != nil || shown != "" {
			t.Errorf("%+v: once more: %q, %v", r, shown, err)
		}
	}
}
