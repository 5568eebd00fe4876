package hook

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/hook/shell"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// bench is a project with a ledger, and a clock.
type bench struct {
	*testing.T
	root   string
	ledger *ledger.Ledger
	env    map[string]string
	now    time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, _, err := ledger.Init(root, "person")
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, root, l, map[string]string{"HOME": root + "/home", "USER": "person"}, time.Now()}
}

// lone hides that an agent may run this test.
type lone struct{ process.Table }

func (lone) Self() int { return 1 }

// answer is what a hook wrote.
type answer struct {
	Specific struct {
		Event    string `json:"hookEventName"`
		Context  string `json:"additionalContext"`
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	} `json:"hookSpecificOutput"`
	Decision, Reason string
	Context          string `json:"additionalContext"`
	Permission       string `json:"permissionDecision"`
	Why              string `json:"permissionDecisionReason"`
	errs             string
}

func (b *bench) call(runtime, event string, in map[string]any) answer {
	b.Helper()
	if in["cwd"] == nil {
		in["cwd"] = b.root
	}
	text, err := json.Marshal(in)
	if err != nil {
		b.Fatal(err)
	}
	return b.raw(runtime, event, string(text), nil)
}

func (b *bench) raw(runtime, event, in string, out interface{ Write([]byte) (int, error) }) answer {
	b.Helper()
	all := catalog.Runtimes()
	i := slices.IndexFunc(all, func(r spec.Runtime) bool { return r.ID == runtime })
	var written, errs bytes.Buffer
	if out == nil {
		out = &written
	}
	b.now = b.now.Add(time.Second)
	code := Call{
		Shell: shell.Reader{Environ: os.Environ()},
		Event: event, Runtime: all[i], Runtimes: all, Getenv: func(n string) string { return b.env[n] }, Dir: b.root,
		In: strings.NewReader(in), Out: out, Err: &errs, Table: lone{process.System()}, Now: b.now,
	}.Answer()
	if code != 0 {
		b.Errorf("%s: exit code %d", event, code)
	}
	var a answer
	if written.Len() > 0 {
		if err := json.Unmarshal(written.Bytes(), &a); err != nil {
			b.Fatalf("%s: %v\n%s", event, err, written.String())
		}
	}
	a.errs = errs.String()
	return a
}

// edit asks whether an agent may edit a file.
func (b *bench) edit(session, path string) answer {
	b.Helper()
	return b.call("claude", "PreToolUse", map[string]any{"session_id": session, "tool_name": "Edit", "tool_input": map[string]any{"file_path": path}})
}

func (b *bench) shell(event, session, command string) answer {
	b.Helper()
	return b.call("claude", event, map[string]any{"session_id": session, "tool_name": "Bash", "tool_input": map[string]any{"command": command}})
}

func (b *bench) start(session string) answer {
	b.Helper()
	return b.call("claude", "SessionStart", map[string]any{"session_id": session, "source": "startup"})
}

func (b *bench) owners() map[string]string {
	b.Helper()
	claims, err := b.ledger.Claims()
	if err != nil {
		b.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range claims {
		out[strings.TrimPrefix(c.Path, b.root+"/")] = c.Agent
	}
	return out
}

func (b *bench) claim(agent, path string) {
	b.Helper()
	if _, err := b.ledger.ClaimAll(agent, []string{path}, false); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) send(m ledger.Message) {
	b.Helper()
	if _, err := b.ledger.Send(m); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) unread(agent string) int {
	b.Helper()
	all, err := b.ledger.Unread(agent)
	if err != nil {
		b.Fatal(err)
	}
	return len(all)
}

// folderAsInbox puts a folder in place of the inbox of an agent.
func (b *bench) folderAsInbox(agent string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Join(b.root, ledger.Dir, "agents", agent, "inbox.md"), 0o700); err != nil {
		b.Fatal(err)
	}
}

// lives makes the record of an agent that of a process that runs, or has ended.
func (b *bench) lives(name string, running bool) {
	b.Helper()
	pid, begun := os.Getpid(), uint64(0)
	if !running {
		cmd := exec.Command("true")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		pid, begun = cmd.Process.Pid, 1
	} else if p, err := process.System().Read(pid); err == nil {
		begun = p.Start
	}
	c := Call{root: b.root, project: b.root, Table: process.System(), Now: b.now}
	r, err := c.readRecord(name)
	if err != nil {
		b.Fatal(err)
	}
	r.PID, r.Start, r.Place, r.Kept = pid, begun, keeper.Here(process.System()), false
	found, err := keeper.List(process.System(), b.root)
	for _, f := range found {
		if f.Session == r.Session {
			err = keeper.Forget(b.root, f.Name)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	if err := c.seats().Write(r.Name, r); err != nil {
		b.Fatal(err)
	}
}
