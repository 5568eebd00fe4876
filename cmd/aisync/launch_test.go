package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/tmuxtest"
)

// fakeAgent stands for an agent program: a process of its name that runs what it
// is told to, as a child of its own. $OFFICE/KEY.do is what, $OFFICE/KEY.done
// what that printed; KEY is primary, helper or the runtime.
const fakeAgent = `#!/bin/sh
key=${AI_RUNTIME}
[ -n "$AI_AGENT_ID" ] || key=primary
[ -z "$AI_HELPER" ] || key=helper
[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo >"$AISYNC_OFFICE/$key.terminal"
echo $$ >"$AISYNC_OFFICE/$key.pid"
while [ ! -e "$AISYNC_OFFICE/$key.stop" ]; do
	if [ -e "$AISYNC_OFFICE/$key.do" ]; then
		mv "$AISYNC_OFFICE/$key.do" "$AISYNC_OFFICE/$key.run"
		sh "$AISYNC_OFFICE/$key.run" >"$AISYNC_OFFICE/$key.out" 2>&1
		mv "$AISYNC_OFFICE/$key.out" "$AISYNC_OFFICE/$key.done"
	fi
	sleep 0.02
done
rm "$AISYNC_OFFICE/$key.stop" "$AISYNC_OFFICE/$key.pid"
`

// office is a scratch machine with a tmux server of its own, two agent programs
// and one project in which they work.
type office struct {
	dir string
	env []string
}

func newOffice(t *testing.T, project string) office {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("needs tmux")
	}
	dir, err := os.MkdirTemp("", "office") // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	o := office{dir: dir}
	for name, text := range map[string]string{
		"bin/claude": fakeAgent, "bin/codex": fakeAgent,
		"home/code/" + project + "/.ai/protocols.org": "* Read this first\n",
		"home/code/" + project + "/todo.org":          "* Inbox\n* Later\n",
		"tmux/.keep":                                  "",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o.env = []string{
		"HOME=" + dir + "/home", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "PATH=" + dir + "/bin:" + os.Getenv("PATH"), "TMUX_TMPDIR=" + dir + "/tmux", "SHELL=/bin/sh", "TERM=screen", "LANG=C.UTF-8",
		"AISYNC_OFFICE=" + dir, "TMPDIR=" + dir, quickRaceExit,
	}
	t.Cleanup(func() {
		tmuxtest.End(t, tmuxtest.Default(dir+"/tmux"))
		_ = os.RemoveAll(dir)
	})
	return o
}

func (o office) project() string {
	found, _ := filepath.Glob(filepath.Join(o.dir, "home/code/*"))
	return found[0]
}

// person types a command in the project.
func (o office) person(command string) (string, error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env = o.project(), o.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// agent has an agent run a command.
func (o office) agent(t *testing.T, key, command string) string {
	t.Helper()
	o.wait(t, key+".pid")
	at := func(ext string) string { return filepath.Join(o.dir, key+ext) }
	if err := os.WriteFile(at(".new"), []byte(command+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(at(".new"), at(".do")); err != nil {
		t.Fatal(err)
	}
	o.wait(t, key+".done")
	out, err := os.ReadFile(at(".done"))
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(at(".done"))
	return string(out)
}

// leaves has an agent end its session, or with a signal crash.
func (o office) leaves(t *testing.T, key string, crash bool) {
	t.Helper()
	pid, err := os.ReadFile(filepath.Join(o.dir, key+".pid"))
	if err != nil {
		t.Fatal(err)
	}
	if crash {
		if out, err := o.person("kill -9 " + string(pid)); err != nil {
			t.Fatal(out)
		}
		_ = os.Remove(filepath.Join(o.dir, key+".pid"))
	} else if err := os.WriteFile(filepath.Join(o.dir, key+".stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// Its launcher ends a moment later, and its window with it.
	for range 500 {
		if _, err := o.person("kill -0 " + string(pid)); err != nil {
			time.Sleep(150 * time.Millisecond)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not end", key)
}

func (o office) wait(t *testing.T, file string) {
	t.Helper()
	for range 1000 {
		if _, err := os.Stat(filepath.Join(o.dir, file)); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	panes, _ := o.person("for w in $(tmux list-windows -a -F '#{window_id}'); do tmux capture-pane -p -t $w; done")
	t.Fatalf("%s does not come; the windows show:\n%s", file, panes)
}

func (o office) must(t *testing.T, command string) string {
	t.Helper()
	out, err := o.person(command)
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return strings.TrimSpace(out)
}

const windowNames = `tmux list-windows -a -F '#{window_name}' | sort | paste -sd ' '`

func TestTwoRuntimesShareProject(t *testing.T) {
	for _, project := range []string{"org-drill", "Übung 1.d"} {
		t.Run(project, func(t *testing.T) {
			o := newOffice(t, project)
			if got := o.must(t, "ai -q ."); got != "primary" {
				t.Fatalf("the first is %q", got)
			}
			id := o.must(t, "ai -q --runtime codex .")
			if !regexp.MustCompile(`^[a-z0-9_-]+\.[a-z0-9_-]+\.codex\.[0-9a-f]{4}$`).MatchString(id) {
				t.Fatalf("the second is %q", id)
			}
			if got, want := o.must(t, windowNames), project+":claude "+project+":codex"; got != want {
				t.Errorf("windows %s, want %s", got, want)
			}
			one, two := o.agent(t, "primary", "aisync session start"), o.agent(t, "codex", "aisync session start")
			if want := o.project() + "/.ai/session-context.org\n"; one != want {
				t.Errorf("the primary's session file is %q", one)
			}
			if want := o.project() + "/.ai/session-context.d/" + id + ".org\n"; two != want {
				t.Errorf("the other's session file is %q", two)
			}
			head, err := os.ReadFile(strings.TrimSpace(two))
			if err != nil || !strings.Contains(string(head), "#+AGENT_ID: "+id+"\n#+RUNTIME: codex\n") {
				t.Errorf("its header: %s, %v", head, err)
			}
			who := o.must(t, "aisync who")
			for _, says := range []string{id + " ", "claude ", "live ", "primary ", "claims: none"} {
				if !strings.Contains(who, says) {
					t.Errorf("who does not say %q:\n%s", says, who)
				}
			}
		})
	}
}

func TestHelperOutlivesPrimary(t *testing.T) {
	o := newOffice(t, "notes")
	o.must(t, "ai -q .")
	o.wait(t, "primary.pid")
	helper := o.must(t, "ai -q --helper notes")
	if !identity.IsHelper(helper) {
		t.Fatalf("the helper is %q", helper)
	}
	o.agent(t, "helper", "aisync session start")
	if out := o.agent(t, "primary", "aisync session gate; echo code $?"); !strings.Contains(out, helper) || !strings.Contains(out, "code 1") {
		t.Errorf("the gate is open: %s", out)
	}
	o.leaves(t, "primary", false)
	if out := o.agent(t, "helper", "aisync session close"); !strings.HasPrefix(out, "orphan:") {
		t.Errorf("it does not close the door: %s", out)
	}
	out := o.must(t, "ai notes")
	if !strings.Contains(out, "the helper "+helper+" is still at work here") || !strings.Contains(out, "\nprimary\n") {
		t.Errorf("the next primary is told: %s", out)
	}
	o.wait(t, "primary.pid")
	if got := o.must(t, windowNames); got != "notes notes:"+helper {
		t.Errorf("windows %s", got)
	}
}

func TestCrashIsReportedAndRecovered(t *testing.T) {
	o := newOffice(t, "notes")
	o.must(t, "ai -q .")
	o.agent(t, "primary", "aisync session start; echo half done >>.ai/session-context.org")
	o.leaves(t, "primary", true)
	out, err := o.person("ai .")
	if err == nil || !strings.Contains(out, "the last session here did not end: primary") {
		t.Fatalf("%v: %s", err, out)
	}
	if got := o.must(t, "ai -q --recover ."); got != "primary" {
		t.Fatalf("it is %q", got)
	}
	if out := o.agent(t, "primary", `cat "$(aisync session path)"`); !strings.Contains(out, "half done") {
		t.Errorf("it lost what was there: %s", out)
	}
}

func TestConcurrentLaunchesHaveOnePrimary(t *testing.T) {
	o := newOffice(t, "notes")
	out := o.must(t, "ai -q . & ai -q --runtime codex . & wait")
	if said := strings.Fields(out); len(said) != 2 || (said[0] == "primary") == (said[1] == "primary") {
		t.Errorf("of two, these were said to be started: %q", said)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		roster := o.must(t, "aisync who --json")
		if n := strings.Count(roster, `"pid"`); n == 2 {
			if ids := strings.Count(roster, `"id": "`); ids != 1 {
				t.Errorf("started as %q; %d have an id:\n%s", out, ids, roster)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("they do not come: %s\n%s", out, roster)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// desk types into a terminal, which is a pane of another tmux server.
func (o office) desk(t *testing.T, command string) (types func(keys ...string), shows func(text string)) {
	t.Helper()
	o.must(t, "tmux -L desk new-session -d -x 100 -y 30 -c . "+command)
	t.Cleanup(func() { _, _ = o.person("tmux -L desk kill-server") })
	types = func(keys ...string) {
		for _, k := range keys {
			o.must(t, "tmux -L desk send-keys "+k)
		}
	}
	shows = func(text string) {
		t.Helper()
		var screen string
		for range 500 {
			if screen, _ = o.person("tmux -L desk capture-pane -p"); strings.Contains(screen, text) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("the terminal does not show %q:\n%s", text, screen)
	}
	return types, shows
}

func TestPersonChoosesAndRecoversProject(t *testing.T) {
	o := newOffice(t, "org-drill")
	other := filepath.Join(o.dir, "home/projects/archsetup/.ai")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "protocols.org"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	types, shows := o.desk(t, "'cd; unset TMUX TMUX_PANE; exec sh'")
	types("'ai --no-tmux' Enter")
	shows("project (2 of 2):")
	types("drill")
	shows("project (1 of 2): drill")
	types("Enter")
	o.agent(t, "primary", "aisync session start")
	o.wait(t, "primary.terminal")
	o.leaves(t, "primary", true)
	types("'ai org-drill' Enter")
	shows("Resume the session of primary? [y/N]")
	types("y Enter")
	o.wait(t, "primary.pid")
	for range 300 { // it is shown here: this terminal is a client of its server
		if got := o.must(t, "tmux list-clients -F '#{session_name} #{window_name}'"); got == "ai org-drill" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the window is not shown")
}

func TestAgentStartsHelper(t *testing.T) {
	o := newOffice(t, "notes")
	o.must(t, "ai -q .")
	out := o.agent(t, "primary", "ai -q --helper .")
	if !identity.IsHelper(strings.TrimSpace(out)) {
		t.Fatalf("the helper of an agent is %q", out)
	}
	if got, want := o.agent(t, "helper", "echo $AI_AGENT_ID $AI_HELPER; aisync session path"), strings.TrimSpace(out)+" 1\n"+o.project()+"/.ai/session-context.d/"+strings.TrimSpace(out)+".org\n"; got != want {
		t.Errorf("it is told %q, want %q", got, want)
	}
	if out, err := o.person("ai --attach nothing"); err == nil {
		t.Errorf("attached to nothing: %s", out)
	}
}

// What varies from run to run and from machine to machine, as docs/agents.md
// has it.
var varying = []struct {
	pattern *regexp.Regexp
	is      string
}{
	{regexp.MustCompile(`((?:^|[^0-9a-z])helper-|\.(?:claude|codex)\.)[0-9a-f]{4}\b`), "${1}1f3a"},
	{regexp.MustCompile(`\bprocess \d+`), "process 4242"},
	{regexp.MustCompile(`\d+s ago`), "2s ago"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d-\d\d-\d\d`), "2026-05-28-09-30"},
	{regexp.MustCompile(`\[\d{4}-\d\d-\d\d \w{3} \d\d:\d\d:\d\d\]`), "[2026-05-28 Thu 09:30:12]"},
	{regexp.MustCompile(` {3,}`), "  "},
}

func (o office) likeTheDocs(text string) string {
	text = strings.ReplaceAll(text, o.dir+"/home", "/home/me")
	text = strings.ReplaceAll(text, identity.Host()+".", "pearl.")
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.is)
	}
	return text
}

// The blocks of docs/agents.md that are marked walk are one session, run here
// with real processes in a real tmux; -update writes what it prints.
func TestTwoAgentsWalkthrough(t *testing.T) {
	const name = "../../docs/agents.md"
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	o := newOffice(t, "org-drill")
	commands := 0
	is := regexp.MustCompile("(?ms)^```walk\n.*?^```$").ReplaceAllStringFunc(string(doc), func(block string) string {
		var got strings.Builder
		for line := range strings.Lines(block) {
			who, command, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "$ ")
			if !ok || !regexp.MustCompile(`^[a-z]*$`).MatchString(who) {
				continue // what a command prints
			}
			commands++
			got.WriteString(line)
			switch {
			case strings.HasPrefix(command, "exit"):
				o.leaves(t, who, strings.Contains(command, "crash"))
			case who != "":
				got.WriteString(o.agent(t, who, command))
			default:
				out, _ := o.person(command) // some shall fail: what they print is compared
				got.WriteString(out)
				if strings.HasPrefix(command, "ai ") {
					time.Sleep(400 * time.Millisecond) // the program starts
				}
			}
		}
		return "```walk\n" + o.likeTheDocs(got.String()) + "```"
	})
	if *update {
		if err := os.WriteFile(name, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spaces := regexp.MustCompile(` +`)
	if got, want := spaces.ReplaceAllString(is, " "), spaces.ReplaceAllString(string(doc), " "); got != want && !*update {
		t.Errorf("docs/agents.md is not true (-want +got; if it is right, run the test with -update):\n%s", cmp.Diff(want, got))
	}
	if commands < 10 {
		t.Errorf("only %d commands were found", commands)
	}
}
