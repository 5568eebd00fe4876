package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/internal/proof"
)

// errCrash is what a hook answers where a change of a file is to fail.
var errCrash = errors.New("the disk is gone")

// steps are the commands that change files, each on a ledger that prepared made.
var steps = []struct {
	name string
	do   func(l *Ledger) error
}{
	{"init", func(l *Ledger) error { _, err := l.begin("newcomer"); return err }},
	{"note", func(l *Ledger) error { _, err := l.Note("pi", "noted"); return err }},
	{"send", func(l *Ledger) error {
		_, err := l.Send(Message{"pi", "newcomer", "handoff", "## 2026-01-01T00:00:00.000Z — x → y [note]\n<!-- reply", ""})
		return err
	}},
	{"answer", func(l *Ledger) error {
		_, err := l.Send(Message{"codex", "pi", "result", "here", "msg_00000000aaaaaaaa"})
		return err
	}},
	{"ack", func(l *Ledger) error { _, err := l.Ack("codex", "msg_00000000aaaaaaaa", "seen"); return err }},
	{"done", func(l *Ledger) error { _, err := l.Done("codex", "msg_00000000aaaaaaaa", ""); return err }},
	{"read", func(l *Ledger) error { _, err := l.Inbox(Reading{Agent: "codex", Since: true}); return err }},
	{"clear", func(l *Ledger) error { _, err := l.Inbox(Reading{Agent: "codex", Clear: true}); return err }},
	{"claim", func(l *Ledger) error { _, err := l.ClaimAll2("newcomer", "x", "y"); return err }},
	{"take over", func(l *Ledger) error { _, _, err := l.claim("codex", "mine", true); return err }},
	{"release", func(l *Ledger) error { _, _, err := l.Release("pi", "mine", false); return err }},
	{"retire", func(l *Ledger) error { _, err := l.Retire(Retirement{"pi", "codex", "gone"}); return err }},
	{"compact", func(l *Ledger) error { _, _, err := l.Compact(time.Now().Add(time.Hour), "pi"); return err }},
	{"repair", func(l *Ledger) error { _, _, err := l.Repair("pi"); return err }},
}

// ClaimAll2 is ClaimAll of two paths.
func (l *Ledger) ClaimAll2(agent, a, b string) ([]json.RawMessage, error) {
	done, err := l.ClaimAll(agent, []string{a, b}, false)
	return done.Records, err
}

// prepared is a ledger with something of everything.
func prepared(t *testing.T) *Ledger {
	t.Helper()
	l, _, err := Init(t.TempDir(), "pi")
	if err != nil {
		t.Fatal(err)
	}
	send := func(from, to, kind, body string) {
		t.Helper()
		if _, err := l.Send(Message{from, to, kind, body, ""}); err != nil {
			t.Fatal(err)
		}
	}
	send("pi", "codex", "note", "body-1")
	if _, err := l.Inbox(Reading{Agent: "codex", Clear: true}); err != nil {
		t.Fatal(err)
	}
	send("pi", "codex", "question", "body-2")
	send("codex", "pi", "note", "body-3")
	if _, err := l.Note("pi", "body-4"); err != nil {
		t.Fatal(err)
	}
	for agent, path := range map[string]string{"pi": "mine", "codex": "theirs"} {
		if _, _, err := l.claim(agent, path, false); err != nil {
			t.Fatal(err)
		}
	}
	// One message has the name that the steps know.
	for _, f := range []string{auditFile, "agents/codex/inbox.md"} {
		s := text(t, l, f)
		id := anyID.FindAllString(s, -1)
		if f == auditFile {
			id = id[1:]
		}
		if err := os.WriteFile(l.path(f), []byte(strings.ReplaceAll(s, id[0], "msg_00000000aaaaaaaa")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// damaged is what repair has something to do with.
func damaged(t *testing.T, l *Ledger) {
	t.Helper()
	if err := os.WriteFile(l.path(claimsFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.path("agents/pi/inbox.md"), []byte(inboxHeader("pi")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func copied(t *testing.T, l *Ledger) *Ledger {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(l.Root)); err != nil {
		t.Fatal(err)
	}
	// Claims and archives name the root that they were made in.
	for _, f := range []string{claimsFile, auditFile} {
		if err := os.WriteFile(filepath.Join(root, Dir, f), []byte(strings.ReplaceAll(text(t, l, f), l.Root, root)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return at(root)
}

// everything is the text of all files that hold messages and notes.
func everything(t *testing.T, l *Ledger) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(l.path(), func(path string, d os.DirEntry, err error) error {
		if d.IsDir() && d.Name() == ".backup" {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".md") {
			text, err := os.ReadFile(path)
			b.Write(text)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// whole checks that a ledger goes on after step was interrupted: the next
// command works, the step can be done again, Repair leaves nothing to mend, and
// what was there is there.
func whole(t *testing.T, l *Ledger, step string, again func(*Ledger) error) {
	t.Helper()
	if _, err := l.Note("codex", "next"); err != nil {
		t.Fatalf("the next command: %v", err)
	}
	if step != "retire" { // one that is gone cannot go again
		if err := again(l); err != nil {
			t.Fatalf("once more: %v", err)
		}
	}
	if _, _, err := l.Repair("codex"); err != nil {
		t.Fatalf("repair: %v", err)
	}
	if d, err := l.Verify(); err != nil || len(d) > 0 {
		t.Fatalf("after the repair: %+v %v", d, err)
	}
	all := everything(t, l)
	for i := 1; i <= 4; i++ {
		if n := strings.Count(all, fmt.Sprint("\nbody-", i, "\n")); n != 1 {
			t.Errorf("body-%d is there %d times:\n%s", i, n, all)
		}
	}
	var actions []string
	for e, err := range l.Events() {
		if err != nil || e.Malformed != nil {
			t.Fatal(err, e.Malformed)
		}
		actions = append(actions, e.Action)
	}
	if len(actions) < 9 || !slices.Equal(actions[:9], []string{"init", "send", "inbox_clear", "send", "send", "note", actions[6], actions[7], actions[8]}) {
		t.Errorf("the audit trail has lost something: %v", actions)
	}
	claims, err := l.Claims()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, c := range claims {
		paths = append(paths, filepath.Base(c.Path))
	}
	if !slices.Contains(paths, "theirs") {
		t.Errorf("an untouched claim is gone: %v", paths)
	}
}

func TestLedgerSurvivesFailedWrites(t *testing.T) {
	proved, faults := proof.Start(t, 15), 0
	base := prepared(t)
	for _, step := range steps {
		points := 0
		for n := 1; ; n++ {
			l := copied(t, base)
			if step.name == "repair" {
				damaged(t, l)
			}
			left, where := n, ""
			l.hook = func(op, file string) error {
				if left--; left == 0 {
					where = op + " " + file
					return errCrash
				}
				return nil
			}
			err := step.do(l)
			l.hook = nil
			if where == "" {
				if err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
				break
			}
			points++
			if !errors.Is(err, errCrash) {
				t.Errorf("%s, at %s: says %v", step.name, where, err)
			}
			if step.name == "repair" {
				if _, _, err := l.Repair("pi"); err != nil { // before anything else can go on
					t.Errorf("repair, again: %v", err)
				}
			}
			whole(t, l, step.name, step.do)
			if t.Failed() {
				t.Fatalf("%s, failed at %s", step.name, where)
			}
		}
		t.Logf("%s: %d changes", step.name, points)
		if points == 0 {
			t.Errorf("%s: changes nothing", step.name)
		}
		faults += points
	}
	proved("faults", faults)
}

// killed does one step and is killed before its n-th change of a file. Killed
// or not, it prints where.
func killed(root, name string, _ uint64, n int, out io.Writer) error {
	l := at(root)
	l.hook = func(string, string) error {
		if n--; n == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
	for _, s := range steps {
		if s.name == name {
			defer fmt.Fprintln(out, "done")
			return s.do(l)
		}
	}
	return fmt.Errorf("no step %s", name)
}

func TestAKillAtAnyWriteLosesNothing(t *testing.T) {
	proved, kills := proof.Start(t, 15), 0
	base := prepared(t)
	for _, step := range steps {
		for n := 1; ; n++ {
			l := copied(t, base)
			if step.name == "repair" {
				damaged(t, l)
			}
			out, err := run(l, "killed", step.name, 0, n)
			if out[0] == "done" {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if step.name == "repair" {
				if _, _, err := l.Repair("pi"); err != nil {
					t.Errorf("repair, again: %v", err)
				}
			}
			whole(t, l, step.name, step.do)
			if t.Failed() {
				t.Fatalf("%s, killed at its change %d", step.name, n)
			}
			kills++
		}
	}
	proved("kills", kills)
}
