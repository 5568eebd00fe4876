package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	anyTime  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	anyStamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z`)
)

// neutral replaces what differs between two runs: the root, the times, and the
// ids of messages, which are numbered in the order of the audit trail.
func neutral(t *testing.T, l *Ledger) func(string) string {
	t.Helper()
	names := map[string]string{}
	for _, id := range anyID.FindAllString(text(t, l, auditFile), -1) {
		if names[id] == "" {
			names[id] = fmt.Sprintf("msg_%016d", len(names)+1)
		}
	}
	return func(s string) string {
		s = anyID.ReplaceAllStringFunc(s, func(id string) string { return names[id] })
		s = anyTime.ReplaceAllString(s, "2026-11-21T07:47:44.919Z")
		s = anyStamp.ReplaceAllString(s, "2026-11-21T07-47-44-919Z")
		return strings.ReplaceAll(s, l.Root, "/project")
	}
}

// The golden files are the original's format, made by hand from what it was
// seen to write: nothing updates them.
func TestFilesMatchOriginalBytes(t *testing.T) {
	l := fresh(t)
	l.Trace = true
	var last string
	did := func(rec []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if m := anyID.FindString(string(rec)); m != "" {
			last = m
		}
	}
	send := func(from, to, kind, body, replyTo string) string {
		t.Helper()
		rec, err := l.Send(Message{from, to, kind, body, replyTo})
		did(rec, err)
		return last
	}
	claim := func(agent, path string, force bool) {
		t.Helper()
		rec, _, err := l.claim(agent, path, force)
		did(rec, err)
	}
	read := func(r Reading) {
		t.Helper()
		_, err := l.Inbox(r)
		did(nil, err)
	}
	rec, err := l.Note("pi", "  Decision: the parser stays\n")
	did(rec, err)
	first := send("pi", "claude-lead", "handoff", "Please review", "")
	second := send("claude-lead", "pi", "result", "Saved at docs/review.md", first)
	send("pi", "claude-lead", "note", "Two\nlines — “quoted” \\ and\ta tab", "")
	question := send("codex", "pi", "question", "Which branch?", second)
	rec, err = l.Ack("pi", question, "")
	did(rec, err)
	rec, err = l.Ack("pi", question, " received ")
	did(rec, err)
	rec, err = l.Done("pi", question, "resolved")
	did(rec, err)
	claim("codex", "src", false)
	claim("codex", "src/", false)
	claim("claude-lead", "./src", true)
	claim("pi", "/elsewhere", false)
	claim("pi", "a", false)
	rec, _, err = l.Release("pi", "a", false)
	did(rec, err)
	read(Reading{Agent: "pi", Since: true})
	read(Reading{Agent: "pi", Clear: true})
	_, err = l.Board()
	did(nil, err)
	_, err = l.ClaimsText()
	did(nil, err)
	_, err = l.Status()
	did(nil, err)
	_, err = l.Doctor()
	did(nil, err)
	claim("codex", "b", false)
	rec, err = l.Retire(Retirement{"codex", "pi", "gone"})
	did(rec, err)

	tell := neutral(t, l)
	seen := map[string]bool{}
	err = filepath.WalkDir(l.path(), func(path string, d os.DirEntry, err error) error {
		rel := strings.TrimPrefix(path, l.path()+"/")
		if err != nil || rel == lockFile || strings.HasPrefix(rel, "agents/.retired") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", rel, info.Mode().Perm())
		}
		if d.IsDir() {
			return nil
		}
		name := strings.ReplaceAll(rel, "/", "-")
		seen[name] = true
		want, err := os.ReadFile(filepath.Join("testdata/original", name))
		if err != nil {
			return err
		}
		if diff := cmp.Diff(string(want), tell(text(t, l, rel))); diff != "" {
			t.Errorf("%s:\n%s", rel, diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	goldens, err := os.ReadDir("testdata/original")
	if err != nil || len(goldens) != len(seen) {
		t.Errorf("%d of %d files, %v", len(seen), len(goldens), err)
	}
	if d, err := l.Verify(); err != nil || len(d) > 0 {
		t.Error(d, err)
	}
}

// older copies a ledger that alpha.12 wrote into a new folder.
func older(t *testing.T) *Ledger {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, Dir), os.DirFS("testdata/alpha12")); err != nil {
		t.Fatal(err)
	}
	l, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// There were no answers that close a message, no names of retired agents, and
// --reply-to was a part of the body. One line was torn by a kill.
func TestAlpha12LedgerContinues(t *testing.T) {
	l := older(t)
	before := text(t, l, auditFile)
	inbox := text(t, l, "agents/claude/inbox.md")
	s, err := l.Status()
	if err != nil || len(s.Agents) != 2 || string(s.Version) != "1" {
		t.Fatalf("%+v %v", s, err)
	}
	if a := s.Agents[0]; a.Agent != "claude" || a.Pending != 2 || a.Unread != 1 || a.Stale != 1 {
		t.Errorf("%+v", a)
	}
	o, err := l.Overview(5)
	if err != nil || o.OpenMessages.Len() != 1 || o.Malformed != 1 || len(o.Claims) != 1 || len(o.Recent) != 5 {
		t.Errorf("%+v %v", o, err)
	}
	all, err := l.Messages(0, false)
	if err != nil || len(all) != 3 || all[0].Status != "acked" || all[1].Status != "done" || !strings.HasSuffix(all[1].Body, "--reply-to msg_aaaaaaaaaaaaaaaa") {
		t.Errorf("%+v %v", all, err)
	}
	for _, check := range []func() error{
		func() error { _, err := l.Doctor(); return err },
		func() error { _, err := l.Stale(1); return err },
		func() error { _, err := l.Timeline(0); return err },
	} {
		if err := check(); err != nil {
			t.Error(err)
		}
	}
	if text(t, l, auditFile) != before {
		t.Error("reading has written")
	}
	rec, err := l.Send(Message{"codex", "claude", "result", "done at last", "msg_aaaaaaaaaaaaaaaa"})
	if err != nil {
		t.Fatal(err)
	}
	if now := text(t, l, auditFile); !strings.HasPrefix(now, before+"\n"+string(rec)+"\n") { // the torn line is ended first
		t.Error(now)
	}
	if !strings.HasPrefix(text(t, l, "agents/claude/inbox.md"), inbox) {
		t.Error("what was in the inbox has changed")
	}
	if got, err := l.Inbox(Reading{Agent: "claude", Since: true}); err != nil || !strings.Contains(got, "done at last") || strings.Contains(got, "first one") {
		t.Error(got, err)
	}
	if open, err := l.Messages(0, true); err != nil || len(open) != 0 {
		t.Error(open, err)
	}
	d, err := l.Verify()
	if err != nil || len(d) != 1 || d[0].Kind != "audit" {
		t.Error(d, err)
	}
}

func TestNewerLedgerIsReadOnly(t *testing.T) {
	l := fresh(t)
	for _, v := range []string{"2", "10", "99999999999999999999"} {
		if err := os.WriteFile(l.path(configFile), []byte("version: "+v+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := text(t, l, auditFile)
		if _, err := l.Note("pi", "x"); err == nil || text(t, l, auditFile) != before {
			t.Errorf("version %s: %v", v, err)
		}
		if _, err := l.Overview(1); err != nil {
			t.Errorf("version %s: %v", v, err)
		}
	}
}
