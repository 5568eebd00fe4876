package ensemble

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/process/processtest"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/catalog"
)

// visible is a table of all processes of a machine.
type visible struct{ process.Table }

func (visible) Namespace() string { return process.Initial }

const (
	ownPID   = 50
	claudeID = "vm.app.claude.1f3a"
)

// newTeam is a project with a ledger where the process ownPID calls, which is a
// person's unless a process is its parent. The seats claude (the primary, process
// 7) and codex (gone) are there.
func newTeam(t *testing.T, parent int, more ...processtest.P) *user {
	t.Helper()
	u := newUser(t)
	u.env["USER"] = "craig"
	u.must("init", "--agent", "craig")
	u.tool = true
	all := append([]processtest.P{
		{PID: ownPID, Parent: parent, Args: []string{"aisync"}, Cwd: u.dir},
		{PID: 7, Args: []string{"claude"}, Cwd: u.dir},
	}, more...)
	for i := range all {
		if all[i].Cwd == "" {
			all[i].Cwd = u.dir
		}
	}
	u.here = visible{process.At(processtest.Table(t, all...), ownPID)}
	if err := os.MkdirAll(filepath.Join(u.dir, seat.Records), 0o700); err != nil {
		t.Fatal(err)
	}
	u.seat(seat.Seat{Name: "claude", Runtime: "claude", ID: claudeID, Primary: true, PID: 7, Start: 7})
	u.seat(seat.Seat{Name: "codex", Runtime: "codex", Ended: true})
	return u
}

func (u *user) room() *seat.Room { return seat.At(u.here, u.dir, time.Now()) }

func (u *user) seat(s seat.Seat) {
	u.t.Helper()
	r := u.room()
	s.Place = r.Here()
	if err := r.Write(s.Name, s); err != nil {
		u.t.Fatal(err)
	}
}

func TestSendKnowsNames(t *testing.T) {
	for _, c := range []struct{ to, into, says string }{
		{"claude", "claude", ""},
		{claudeID, "claude", ""},
		{"primary", "primary", ""},
		{"craig", "craig", ""},
		{"codex", "codex", "codex is not at work now; the next agent of that name gets the message\n"},
		{"worker", "worker", ""}, // wrote a note
		{"qwen", "qwen", ""},     // runs, without hooks
		{"clade", "", "unknown agent \"clade\": names here are claude, codex (not at work), craig, qwen, primary, all; for an agent that comes later, run: aisync ledger init --agent clade\n"},
		{"past", "", "unknown agent \"past\""}, // was retired
		{"../x", "", "Invalid agent name: ../x. "},
	} {
		u := newTeam(t, 1, processtest.P{PID: 9, Args: []string{"qwen"}})
		u.must("note", "done", "--from", "worker")
		u.must("init", "--agent", "past")
		u.must("note", "bye", "--from", "past")
		u.must("retire", "past", "--by", "craig")
		out, errs, code := u.run("send", c.to, "hello")
		if c.into == "" {
			if code != 1 || out != "" || !strings.HasPrefix(errs, c.says) {
				t.Errorf("%s: exit %d, %q %q", c.to, code, out, errs)
			}
			if _, err := os.Stat(filepath.Join(u.dir, ".pi-ensemble/agents", c.to)); err == nil && c.to != "past" {
				t.Errorf("%s: an inbox was made", c.to)
			}
			continue
		}
		if code != 0 || errs != c.says || !strings.HasPrefix(out, "sent to "+c.into+": msg_") {
			t.Errorf("%s: exit %d, %q %q", c.to, code, out, errs)
		}
		if text, err := os.ReadFile(filepath.Join(u.dir, ".pi-ensemble/agents", c.into, "inbox.md")); err != nil || !strings.Contains(string(text), "hello") {
			t.Errorf("%s: %q, error %v", c.to, text, err)
		}
	}
}

// The compatible program delivers to every name, and warns as before.
func TestEnsembleSendsToEveryName(t *testing.T) {
	u := newTeam(t, 1)
	u.tool = false
	for _, to := range []string{"clade", "all", claudeID} {
		if out, errs, code := u.run("send", to, "--to-runtime", "claude", "hello"); code != 0 || !strings.HasPrefix(out, "sent to "+to+": ") || !strings.HasPrefix(errs, "warning: "+to+" is a new agent; the others are ") {
			t.Errorf("%s: exit %d, %q %q", to, code, out, errs)
		}
	}
	if !strings.Contains(u.audit(), `"to":"all","type":"handoff","body":"--to-runtime claude hello"`) {
		t.Error(u.audit())
	}
}

func TestSendToAllAndToARuntime(t *testing.T) {
	u := newTeam(t, 1, processtest.P{PID: 9, Args: []string{"qwen"}}, processtest.P{PID: 10, Args: []string{"claude"}, Env: []string{"PI_ENSEMBLE_AGENT=reviewer"}})
	if got := id.ReplaceAllString(u.must("send", "all", "hello"), "ID"); got != "sent to claude: ID\nsent to qwen: ID\nsent to reviewer: ID\n" {
		t.Errorf("%q", got)
	}
	if got := id.ReplaceAllString(u.must("send", "all", "hello", "--from", "reviewer"), "ID"); got != "sent to claude: ID\nsent to qwen: ID\n" {
		t.Errorf("from one of them: %q", got)
	}
	var recs []struct{ To, Body string }
	if err := json.Unmarshal([]byte(u.must("send", "--to-runtime", "claude", "to", "both", "--json")), &recs); err != nil || len(recs) != 2 || recs[1].To != "reviewer" || recs[1].Body != "to both" {
		t.Errorf("%+v, error %v", recs, err)
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"send", "--to-runtime", "codex", "hello"}, "no other agent of the runtime codex is at work here, so nothing was sent; names here are claude, codex (not at work), craig, qwen, reviewer, primary, all\n"},
		{[]string{"send", "all", "hello", "--reply-to", "msg_0123456789abcdef"}, "--reply-to answers one agent; name the sender of that message\n"},
		{[]string{"send", "all"}, "message body is required\n"},
	} {
		if _, errs, code := u.run(c.words...); code != 1 || !strings.HasPrefix(errs, c.want) {
			t.Errorf("%v: exit %d, %q", c.words, code, errs)
		}
	}
}

func TestWhoCalls(t *testing.T) {
	shell := processtest.P{PID: 40, Parent: 7, Args: []string{"sh"}}
	inner := processtest.P{PID: 41, Parent: 40, Args: []string{"codex"}}
	for _, c := range []struct {
		name   string
		parent int
		env    map[string]string
		tool   bool
		want   string
	}{
		{"a person", 1, nil, true, "craig"},
		{"a person with a name", 1, map[string]string{"PI_ENSEMBLE_AGENT": "lead"}, true, "lead"},
		{"an agent with a seat", 40, nil, true, "claude"},
		{"an agent with a seat, as ensemble", 40, nil, false, "claude"},
		{"an agent with a name", 40, map[string]string{"PI_ENSEMBLE_AGENT": "lead"}, true, "lead"},
		{"an agent by its id", 40, map[string]string{"PI_ENSEMBLE_AGENT": claudeID, "AI_AGENT_ID": claudeID}, true, "claude"},
		{"an agent in a sandbox, by its id", 1, map[string]string{"AI_AGENT_ID": claudeID}, true, "claude"},
		{"an agent without a seat", 41, nil, true, "codex"},
		{"an agent without a seat, as ensemble", 41, nil, false, "claude"},
		{"an agent without a seat that inherits a name", 41, map[string]string{"PI_ENSEMBLE_AGENT": "claude"}, true, "codex"},
		{"an agent that inherits a seat", 41, map[string]string{"PI_ENSEMBLE_AGENT": "claude"}, true, "codex"},
	} {
		u := newTeam(t, c.parent, shell, inner)
		if c.name == "an agent that inherits a seat" {
			u.seat(seat.Seat{Name: "codex", Runtime: "codex", PID: 41, Start: 41})
		}
		for k, v := range c.env {
			u.env[k] = v
		}
		u.tool = c.tool
		if _, errs, code := u.run("note", "hello"); code != 0 || !strings.Contains(u.audit(), `"from":"`+c.want+`"`) {
			t.Errorf("%s: exit %d %q; want %s in %s", c.name, code, errs, c.want, u.audit())
		}
	}
}

// sandboxed is a table in a process namespace within the machine's.
type sandboxed struct{ process.Table }

func (sandboxed) Namespace() string { return "pid:[2]" }
func (sandboxed) Partial() string   { return "a sandbox" }

// In a sandbox an agent is known by its session, and gets no seat.
func TestWhoCallsFromASandbox(t *testing.T) {
	for _, c := range []struct {
		name string
		seat seat.Seat
		want string
	}{
		{"with a seat", seat.Seat{Name: "codex-3", Runtime: "codex", Session: "s1", PID: 9, Start: 9}, "codex-3"},
		{"without one", seat.Seat{Name: "qwen", Runtime: "qwen", Session: "s2", PID: 9, Start: 9}, "codex"},
		{"beside another", seat.Seat{Name: "codex", Runtime: "codex", Session: "s2", PID: 9, Start: 9}, "codex-sandboxed"},
	} {
		u := newTeam(t, 41, processtest.P{PID: 41, Args: []string{"codex"}}, processtest.P{PID: 9, Args: []string{c.seat.Runtime}})
		u.seat(c.seat)
		u.here = sandboxed{u.here.(visible).Table}
		u.env["CODEX_THREAD_ID"] = "s1"
		if c.seat.Name == "codex" { // of an agent that the sandbox does not see
			c.seat.Seen = time.Now()
			c.seat.Place = keeper.Place{Host: "far"}
			if err := u.room().Write("codex", c.seat); err != nil {
				t.Fatal(err)
			}
		}
		before, err := u.room().Files()
		if err != nil {
			t.Fatal(err)
		}
		if _, errs, code := u.run("note", "hello"); code != 0 || !strings.Contains(u.audit(), `"from":"`+c.want+`"`) {
			t.Errorf("%s: exit %d %q; want %s in %s", c.name, code, errs, c.want, u.audit())
		}
		if after, err := u.room().Files(); err != nil || !slices.Equal(before, after) {
			t.Errorf("%s: seats %v, then %v, error %v", c.name, before, after, err)
		}
	}
}

// The primary's reading leaves the person's mail alone.
func TestPrimaryAndPersonHaveTheirOwnMail(t *testing.T) {
	u := newTeam(t, 7)
	u.must("send", "craig", "for the person", "--from", "qwen")
	u.must("send", "primary", "for the primary", "--from", "craig")
	u.must("send", "claude", "for claude", "--from", "craig")
	out := u.must("inbox")
	if strings.Contains(out, "for the person") || !strings.Contains(out, "for the primary") || !strings.Contains(out, "for claude") {
		t.Errorf("%s", out)
	}
	var again struct{ Agent, Content string }
	if err := json.Unmarshal([]byte(u.must("inbox", "--since-last-read", "--json")), &again); err != nil || again.Agent != "claude" || again.Content != "" {
		t.Errorf("%+v, error %v", again, err)
	}
	u.must("send", "primary", "not shown", "--from", "craig")
	u.must("send", "claude", "neither", "--from", "craig")
	if code := Run(Program{Args: []string{"inbox"}, Out: full{}, Err: full{}, Getenv: func(k string) string { return u.env[k] }, Dir: u.dir, Plain: true, Table: u.here, Runtimes: catalog.Runtimes}); code != 1 {
		t.Errorf("exit %d on a full disk", code)
	}
	if out := u.must("inbox", "--since-last-read"); !strings.Contains(out, "not shown") || !strings.Contains(out, "neither") {
		t.Errorf("lost on a full disk: %s", out)
	}
	if out := u.must("inbox", "--agent", "craig"); !strings.Contains(out, "for the person") {
		t.Errorf("%s", out)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
