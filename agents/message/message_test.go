package message

import (
	"context"
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
)

const (
	me   = "pearl.org-drill.claude.a83f"
	them = "pearl.org-drill.local-qwen30b.19ca"
)

var noon = time.Date(2026, 5, 28, 12, 30, 0, 0, time.UTC)

func newProject(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, project.Protocols), "")
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func to(t *testing.T, address string) Message {
	t.Helper()
	a, err := Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return Message{From: Address{"pearl", "org-drill", me}, To: a, SenderRuntime: "claude", TargetRuntime: "local-openai",
		Model: "Qwen3-Coder-30B-A3B-Instruct-Q6_K", Subject: "Parser done", Body: "  See todo.org.\n\n#+TARGET_AGENT_ID: nobody\n", Sent: noon}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]Address{
		"velox.archsetup":              {"velox", "archsetup", ""},
		me:                             {"pearl", "org-drill", me},
		"velox.archsetup.helper-1f3a":  {"velox", "archsetup", "helper-1f3a"},
		"velox.archsetup.alice":        {"velox", "archsetup", "alice"},
		"velox.archsetup.alice.of.two": {"velox", "archsetup", "alice.of.two"},
		"pearl.app.claude.1f3a4b5c":    {"pearl", "app", "pearl.app.claude.1f3a4b5c"},
		" velox.archsetup ":            {"velox", "archsetup", ""},
	} {
		a, err := Parse(text)
		if err != nil || a != want {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
		if b, err := Parse(a.String()); err != nil || b != a {
			t.Errorf("%q is written %q, which is %+v", text, a.String(), b)
		}
	}
	for _, text := range []string{"", "pearl", "pearl.", ".app", "a..b", "pearl.app.", "../../etc.x", "pearl.a/b", "pearl.app.a b", "pearl.app.a/../b", "pearl.app\n.x"} {
		if a, err := Parse(text); err == nil {
			t.Errorf("%q: %+v", text, a)
		}
	}
}

func TestMessageHasSeedFields(t *testing.T) {
	root := newProject(t)
	file, err := Deliver(root, to(t, them))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := file, filepath.Join(root, "inbox/from-agents/2026-05-28-1230-from-"+me+"-parser-done.org"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := `#+TITLE: Parser done
#+FROM: pearl.org-drill.claude.a83f
#+TO: pearl.org-drill.local-qwen30b.19ca
#+DATE: 2026-05-28T12:30:00+00:00
#+SENDER_AGENT_ID: pearl.org-drill.claude.a83f
#+SENDER_RUNTIME: claude
#+TARGET_AGENT_ID: pearl.org-drill.local-qwen30b.19ca
#+TARGET_RUNTIME: local-openai
#+MODEL: Qwen3-Coder-30B-A3B-Instruct-Q6_K

  See todo.org.

#+TARGET_AGENT_ID: nobody
`
	if string(text) != want {
		t.Errorf("%s", text)
	}
	r, err := Read(root, them, filepath.Base(file), false)
	if err != nil || r.From.Agent != me || r.To.Agent != them || r.Body != "  See todo.org.\n\n#+TARGET_AGENT_ID: nobody" || !r.Sent.Equal(noon) || r.Subject != "Parser done" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A header that a sender injects becomes one line of the field's text.
func TestLineBreakCannotForgeHeader(t *testing.T) {
	root := newProject(t)
	m := to(t, them)
	m.Subject, m.Model = "x\n#+TARGET_AGENT_ID: "+me, "m\r\n\r\nbody"
	file, err := Deliver(root, m)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Read(root, them, filepath.Base(file), false); err != nil || r.To.Agent != them || r.Model != "m body" {
		t.Errorf("%+v, %v", r, err)
	}
}

func names(rs []Received) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Subject)
	}
	return out
}

func TestInboxHidesTargetedMessages(t *testing.T) {
	root := newProject(t)
	for subject, address := range map[string]string{"1 all": "pearl.org-drill", "2 me": me, "3 them": them, "4 helper": "pearl.org-drill.helper-1f3a", "5 alice": "pearl.org-drill.alice"} {
		m := to(t, address)
		m.Subject = subject
		if _, err := Deliver(root, m); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(root, project.FromAgents)
	// As older senders, and people, write them.
	write(t, filepath.Join(dir, "z-6.org"), "#+title: 6 old\n\nno address at all\n")
	write(t, filepath.Join(dir, "z-7.org"), "#+TITLE: 7 by field\n#+TARGET_AGENT_ID: "+me)
	write(t, filepath.Join(dir, "z-8.org"), "just a text\n")
	write(t, filepath.Join(dir, ".message-half"), "#+TITLE: half\n")
	write(t, filepath.Join(dir, ".#z-6.org"), "#+TITLE: an editor's\n")
	write(t, filepath.Join(root, project.Inbox, "for-people.org"), "#+TITLE: people's\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "z-9.org")); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][]string{
		me:                           {"1 all", "2 me", "6 old", "7 by field", ""},
		them:                         {"1 all", "3 them", "6 old", ""},
		"helper-1f3a":                {"1 all", "4 helper", "6 old", ""},
		"alice":                      {"1 all", "5 alice", "6 old", ""},
		"pearl.org-drill.alice":      {"1 all", "5 alice", "6 old", ""},
		"":                           {"1 all", "6 old", ""}, // the primary
		"pearl.org-drill.claude.a83": {"1 all", "6 old", ""},
	} {
		got, err := Inbox(root, id, false)
		if err != nil || !slices.Equal(names(got), want) {
			t.Errorf("%q sees %q, %v; want %q", id, names(got), err, want)
		}
		all, err := Inbox(root, id, true)
		if err != nil || len(all) != 8 {
			t.Errorf("all: %q, %v", names(all), err)
		}
		for _, r := range all {
			_, err := Read(root, id, r.File, false)
			if r.Mine != (err == nil) || !r.Mine && !errors.Is(err, ErrNotMine) {
				t.Errorf("%q reads %q: %v", id, r.Subject, err)
			}
			if _, err := Read(root, id, strings.TrimSuffix(r.File, ".org"), true); err != nil {
				t.Errorf("%q takes over %q: %v", id, r.Subject, err)
			}
		}
	}
	for _, name := range []string{"", "..", "../for-people.org", "/etc/passwd", "z-9", ".message-half", "missing", "a/b"} {
		if r, err := Read(root, me, name, true); err == nil {
			t.Errorf("%q: %+v", name, r)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, project.Inbox, "for-people.org")); err != nil || string(text) != "#+TITLE: people's\n" {
		t.Errorf("people's inbox: %q, %v", text, err)
	}
	if found, err := os.ReadDir(filepath.Join(root, project.Inbox)); err != nil || len(found) != 2 {
		t.Errorf("people's inbox: %v, %v", found, err)
	}
}

func TestDeliverNamesNeverCollide(t *testing.T) {
	root := newProject(t)
	var wg sync.WaitGroup
	files := make([]string, 200)
	errs := make([]error, len(files))
	for n := range files {
		wg.Add(1)
		go func() {
			defer wg.Done()
			m := to(t, "pearl.org-drill")
			m.Body = fmt.Sprint(n)
			files[n], errs[n] = Deliver(root, m)
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	if n := len(slices.Compact(files)); n != 200 {
		t.Errorf("%d files", n)
	}
	bodies := map[string]bool{}
	got, err := Inbox(root, "", false)
	for _, r := range got {
		full, err := Read(root, "", r.File, false)
		if err != nil {
			t.Fatal(err)
		}
		bodies[full.Body] = true
	}
	if err != nil || len(bodies) != 200 {
		t.Errorf("%d messages, %v", len(bodies), err)
	}
}

func TestDeliverErrors(t *testing.T) {
	root := newProject(t)
	m := to(t, "pearl.org-drill")
	m.Body = " \n"
	if _, err := Deliver(root, m); err == nil {
		t.Error("a message without a text")
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, "inbox")); err != nil {
		t.Fatal(err)
	}
	if _, err := Deliver(root, to(t, "pearl.org-drill")); err == nil || !strings.Contains(err.Error(), "links out of the project") {
		t.Error(err)
	}
	if got, _ := filepath.Glob(filepath.Join(outside, "*", "*")); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func TestSyncedFolderDeliversMessages(t *testing.T) {
	box := Mailbox{Dir: t.TempDir()}
	root := newProject(t)
	name := strings.ToLower(filepath.Base(root)) // 001
	there, err := box.Post(context.Background(), to(t, "velox."+name))
	if err != nil || !strings.HasPrefix(there, filepath.Join(box.Dir, "velox", name)+"/") {
		t.Fatal(there, err)
	}
	for _, other := range []string{"velox.another", "pearl." + name} {
		if _, err := box.Post(context.Background(), to(t, other)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(filepath.Dir(there), ".syncthing.x.org.tmp"), "half")
	// A kill after the first of its two steps leaves the message in both places.
	text, err := os.ReadFile(there)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, project.FromAgents, filepath.Base(there)), string(text))
	if got, err := box.Collect("velox", root); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := box.Post(context.Background(), to(t, "velox."+name)); err != nil {
		t.Fatal(err)
	}
	second := strings.Replace(there, ".org", "-again.org", 1)
	write(t, second, string(text)+"more\n")
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := 0
	for range 8 { // all at once
		wg.Add(1)
		go func() {
			defer wg.Done()
			files, err := box.Collect("velox", root)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			got += len(files)
			mu.Unlock()
		}()
	}
	wg.Wait()
	in, err := Inbox(root, "", true)
	if err != nil || len(in) != 2 || got != 1 {
		t.Errorf("%d came, %q, %v", got, names(in), err)
	}
	left, err := filepath.Glob(filepath.Join(box.Dir, "*", "*", "*.org"))
	if err != nil || len(left) != 2 {
		t.Errorf("%q, %v", left, err)
	}
	if _, err := (Mailbox{Dir: filepath.Join(box.Dir, "gone")}).Post(context.Background(), to(t, "velox.x")); err == nil || !strings.Contains(err.Error(), "mailbox of velox") {
		t.Error(err)
	}
}

func TestParseMailbox(t *testing.T) {
	for place, want := range map[string]Mailbox{
		"~/Sync/agents":                  {Dir: "/home/me/Sync/agents"},
		"/srv/agents/":                   {Dir: "/srv/agents"},
		"ssh://velox/srv/agents":         {Dir: "/srv/agents", Host: "velox"},
		"ssh://me@velox:2222/~/my stuff": {Dir: "my stuff", Host: "velox", User: "me", Port: "2222"},
	} {
		if got, err := ParseMailbox(place, "/home/me"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", place, got, err)
		}
	}
	for _, place := range []string{"", "agents", "ssh://velox", "ssh://velox/", "ssh:///x", "ssh://-oProxyCommand=x/y", "ssh://-x@velox/y", "http://velox/x", "ssh://velox/x?y", "~other/x"} {
		if got, err := ParseMailbox(place, "/home/me"); err == nil {
			t.Errorf("%s: %+v", place, got)
		}
	}
}

// fakeSSH stands for ssh and the other machine: it runs the command in a separate
// folder, as a login shell would.
func fakeSSH(t *testing.T, script string) (home, log string) {
	t.Helper()
	bin := t.TempDir()
	home, log = t.TempDir(), filepath.Join(bin, "log")
	write(t, filepath.Join(bin, "ssh"), "#!/bin/sh\nprintf '%s\\n' \"$@\" >"+log+"\ncd "+home+"\n"+script)
	if err := os.Chmod(filepath.Join(bin, "ssh"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return home, log
}

func TestSSHDeliversMessages(t *testing.T) {
	home, log := fakeSSH(t, `for last; do :; done; exec sh -c "$last"`)
	box, err := ParseMailbox("ssh://me@velox:2222/~/it's my $HOME/agents", "/home/x")
	if err != nil {
		t.Fatal(err)
	}
	var went []string
	for range 3 {
		m := to(t, "velox.archsetup")
		m.Subject = "$(touch evil)"
		where, err := box.Post(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		went = append(went, where)
	}
	dir := "it's my $HOME/agents/velox/archsetup"
	base := "2026-05-28-1230-from-" + me + "-touch-evil"
	for n, suffix := range []string{".org", "-2.org", "-3.org"} {
		if want := "me@velox:" + dir + "/" + base + suffix; went[n] != want {
			t.Errorf("%s, want %s", went[n], want)
		}
		text, err := os.ReadFile(filepath.Join(home, dir, base+suffix))
		if err != nil || !strings.Contains(string(text), "#+TO: velox.archsetup\n") || !strings.HasSuffix(string(text), "nobody\n") {
			t.Errorf("%s, %v", text, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(home, dir)); err != nil || len(left) != 3 {
		t.Errorf("%v, %v", left, err)
	}
	said, err := os.ReadFile(log)
	if err != nil || !strings.HasPrefix(string(said), "-o\nBatchMode=yes\n-o\nConnectTimeout=10\n-p\n2222\n--\nme@velox\n") {
		t.Errorf("%s, %v", said, err)
	}
}

func TestSSHFailureIsExplained(t *testing.T) {
	fakeSSH(t, "echo 'ssh: connect to host velox port 22: No route to host' >&2; exit 255")
	_, err := (Mailbox{Dir: "/x", Host: "velox"}).Post(context.Background(), to(t, "velox.archsetup"))
	if err == nil || !strings.Contains(err.Error(), "velox") || !strings.Contains(err.Error(), "No route to host") {
		t.Error(err)
	}
}
