package ensemble

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/ledger"
)

// desk is a ledger and a way to type commands.
type desk struct {
	*testing.T
	root string
	l    *ledger.Ledger
	in   string
	done chan struct{}
}

func newDesk(t *testing.T) *desk {
	l, _, err := ledger.Init(t.TempDir(), "pi")
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t, l.Root, l, "", make(chan struct{})}
}

func (d *desk) run(words ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	code = Run(Program{Args: words, In: strings.NewReader(d.in), Out: &o, Err: &e, Getenv: func(string) string { return "" }, Dir: d.root, Done: d.done})
	return o.String(), e.String(), code
}

func (d *desk) send(to, body string) {
	if _, err := d.l.Send(ledger.Message{From: "codex", To: to, Type: "note", Body: body}); err != nil {
		d.Error(err)
	}
}

func TestInboxWaitsForMail(t *testing.T) {
	for name, words := range map[string][]string{
		"unread":                      {"inbox", "--agent", "pi", "--since-last-read", "--wait=30"},
		"any":                         {"inbox", "--agent", "pi", "--wait=30s", "--no-clear"},
		"an agent that comes later":   {"inbox", "--agent", "claude", "--wait=30s", "--peek"},
		"an inbox that was cleared":   {"inbox", "--agent", "cleared", "--wait=30"},
		"an agent that read its mail": {"inbox", "--agent", "reader", "--since-last-read", "--wait"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			for _, agent := range []string{"cleared", "reader"} {
				d.send(agent, "old")
				if out, _, _ := d.run("inbox", "--agent", agent, map[string]string{"cleared": "--clear", "reader": "--since-last-read"}[agent]); !strings.Contains(out, "old") {
					t.Fatal(out)
				}
			}
			go func() {
				time.Sleep(200 * time.Millisecond)
				d.send("another", "not for it")
				d.send(words[2], "new")
			}()
			begin := time.Now()
			out, errs, code := d.run(words...)
			if code != 0 || !strings.Contains(out, "new") || strings.Contains(out, "not for it") || strings.Contains(out, "old") {
				t.Errorf("%d %q %q", code, out, errs)
			}
			if took := time.Since(begin); took > lookAgain*3/4 {
				t.Errorf("it took %s: the change was not reported", took)
			}
		})
	}
}

func TestInboxWaitShowsWhatIsThere(t *testing.T) {
	d := newDesk(t)
	d.send("pi", "early")
	if out, errs, code := d.run("inbox", "--agent", "pi", "--wait=30"); code != 0 || !strings.Contains(out, "early") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	before, err := os.ReadFile(filepath.Join(d.root, ledger.Dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := d.run("inbox", "--agent", "pi", "--wait=0.2")
	if code != 124 || out != "" || errs != "no mail for pi came in 0.2 seconds\n" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if after, err := os.ReadFile(filepath.Join(d.root, ledger.Dir, "audit.jsonl")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a wait without mail has written: %s %v", after, err)
	}
	if _, errs, code := d.run("inbox", "--agent", "pi", "--wait=soon"); code != 1 || !strings.Contains(errs, "want a number of seconds") {
		t.Errorf("%d %q", code, errs)
	}
	if _, errs, code := d.run("inbox", "--agent", "pi", "--wait", "30"); code != 1 || !strings.Contains(errs, "write --wait=30\n") {
		t.Errorf("%d %q", code, errs)
	}
	time.AfterFunc(100*time.Millisecond, func() { close(d.done) })
	if _, errs, code := d.run("inbox", "--agent", "pi", "--wait=60"); code != 1 || errs != "interrupted\n" {
		t.Errorf("%d %q", code, errs)
	}
}

func TestSendReadsItsText(t *testing.T) {
	d := newDesk(t)
	const text = "`date` $(rm x) \"quoted\"\n\n## a heading\n"
	if err := os.WriteFile(filepath.Join(d.root, "note.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.in = text
	for _, c := range []struct {
		words []string
		want  string // of the message's body; "": refused
		errs  string
	}{
		{[]string{"send", "pi", "-", "--from", "codex"}, strings.TrimSpace(text), ""},
		{[]string{"send", "pi", "--file", "note.md"}, strings.TrimSpace(text), ""},
		{[]string{"send", "pi", "--file=" + filepath.Join(d.root, "note.md")}, strings.TrimSpace(text), ""},
		{[]string{"send", "pi", "--file", "-"}, strings.TrimSpace(text), ""},
		{[]string{"send", "pi", "--", "-"}, "-", ""},
		{[]string{"send", "pi", "a", "-"}, "a -", ""},
		{[]string{"send", "pi", "--file", "note.md", "words"}, "", "give one of them"},
		{[]string{"send", "pi", "--file", "none.md"}, "", "read the text: open"},
		{[]string{"send", "pi", "--file", "."}, "", "read the text: read"},
	} {
		out, errs, code := d.run(c.words...)
		messages, err := d.l.Messages(0, false)
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			if code != 1 || !strings.Contains(errs, c.errs) {
				t.Errorf("%q: %d %q %q", c.words, code, out, errs)
			}
			continue
		}
		if code != 0 || strings.TrimSpace(messages[len(messages)-1].Body) != c.want {
			t.Errorf("%q: %d %q %+v", c.words, code, errs, messages[len(messages)-1])
		}
		time.Sleep(2 * time.Millisecond) // of two messages of one time the order is by id
	}
	for name, in := range map[string]string{"is no UTF-8": "a\xff", "has more than 4 MiB": strings.Repeat("x", MaxBody+1), "required": " \n"} {
		d.in = in
		if _, errs, code := d.run("send", "pi", "-"); code != 1 || !strings.Contains(errs, name) {
			t.Errorf("%s: %d %.200q", name, code, errs)
		}
	}
}
