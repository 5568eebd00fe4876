package ledger

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// lockless writes as the original does: it takes no lock, reads worktrees.json
// and writes it in place, appends to the rest, and neither looks back nor knows
// of another. It can lose its claim; that is why it says which it has
// audited, not which it has.
func lockless(root, agent string, _ uint64, n int, out io.Writer) error {
	l := at(root)
	appendTo := func(file, text string) error {
		f, err := os.OpenFile(l.path(file), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(text)
		return err
	}
	audit := func(action string, members ...pair) error {
		return appendTo(auditFile, string(line(l.stamp(), action, members))+"\n")
	}
	if err := os.MkdirAll(l.path(agentsDir, agent), 0o700); err != nil {
		return err
	}
	if err := appendTo(l.agentPath(agent, inboxFile), ""); err != nil {
		return err
	}
	for i := range n {
		var err error
		switch i % 3 {
		case 0:
			path := filepath.Join(root, fmt.Sprintf("%s-%d", agent, i))
			claims := map[string]any{} // what it cannot read it takes for empty
			if b, err := os.ReadFile(l.path(claimsFile)); err == nil {
				_ = json.Unmarshal(b, &claims)
			}
			if len(claims) == 0 && i > 0 {
				continue // half written: even the original's users would try again
			}
			claims[path] = map[string]string{"agent": agent, "since": l.stamp()}
			b, _ := json.MarshalIndent(claims, "", "  ")
			if err = os.WriteFile(l.path(claimsFile), append(b, '\n'), 0o600); err == nil {
				err = audit("claim", pair{"agent", agent}, pair{"path", path}, pair{"force", false})
			}
			fmt.Fprintf(out, "claimed %s-%d\n", agent, i)
		case 1:
			id := newID()
			if err = appendTo(l.agentPath("a0", inboxFile), block(l.stamp(), agent, "a0", "note", id, "", "x")); err == nil {
				err = audit("send", pair{"from", agent}, pair{"to", "a0"}, pair{"type", "note"}, pair{"body", "x"}, pair{"messageId", id})
			}
			fmt.Fprintln(out, "sent", id)
		case 2:
			body := fmt.Sprintf("%s-%d", agent, i)
			if err = appendTo(boardFile, block(l.stamp(), agent, "", "note", "", "", body)); err == nil {
				err = audit("note", pair{"from", agent}, pair{"type", "note"}, pair{"body", body})
			}
			fmt.Fprintln(out, "noted", body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Claims that a writer without a lock has overwritten are found by Verify and
// come back with Repair; all else is not even touched.
func TestUnlockedWriterLosesNothing(t *testing.T) {
	l := fresh(t)
	if err := l.ensureAgent("a0"); err != nil {
		t.Fatal(err)
	}
	_, operations := size()
	parts := append(slices.Repeat([]string{"ours"}, 3), "lockless") // two of them would tear the file between themselves
	did := together(t, l, parts, 3*operations)
	found, err := l.Verify()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d claims were overwritten or given twice", len(found))
	for _, d := range found {
		if d.Kind != "claim" {
			t.Errorf("%+v", d)
		}
	}
	if _, _, err := l.Repair("pi"); err != nil {
		t.Fatal(err)
	}
	account(t, l, did, false)
}

// What it writes between our reading and our writing goes to the file that ours
// replaces.
func TestWritesToReplacedFileAreMerged(t *testing.T) {
	l := fresh(t)
	theirs := `{"/theirs":{"agent":"codex","since":"2026-11-21T07:47:44.919Z"}}`
	l.hook = func(op, file string) error {
		if op == "rename" && file == claimsFile {
			l.hook = nil
			return os.WriteFile(l.path(claimsFile), []byte(theirs), 0o600)
		}
		return nil
	}
	rec, _, err := l.claim("pi", "/ours", false)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Action string }
	if err := json.Unmarshal(rec, &r); err != nil || r.Action != "claim" {
		t.Errorf("%s %v", rec, err)
	}
	claims, err := l.Claims()
	if err != nil || len(claims) != 2 || claims[0].Agent != "codex" || claims[1].Agent != "pi" {
		t.Errorf("%+v %v", claims, err)
	}
}

// A message that arrives between the reading of an inbox and its end is neither
// lost nor taken for read.
func TestMessageDuringClearIsDelivered(t *testing.T) {
	for _, moment := range []string{"rename", "append", "remove"} {
		l := fresh(t)
		if _, err := l.Send(Message{"pi", "codex", "note", "early", ""}); err != nil {
			t.Fatal(err)
		}
		inbox, err := os.OpenFile(l.path("agents/codex/inbox.md"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		l.hook = func(op, _ string) error {
			if op == moment {
				l.hook = nil
				_, err := inbox.WriteString(block(l.stamp(), "pi", "codex", "note", "msg_latelatelate", "", "late"))
				return err
			}
			return nil
		}
		got, err := l.Inbox(Reading{Agent: "codex", Clear: true})
		if err != nil {
			t.Fatal(err)
		}
		again, err := l.Inbox(Reading{Agent: "codex", Since: true})
		if err != nil {
			t.Fatal(err)
		}
		if all := entries(got + again); len(all) != 2 {
			t.Errorf("at %s: %d messages of 2: %q, then %q", moment, len(all), got, again)
		}
		inbox.Close()
	}
}
