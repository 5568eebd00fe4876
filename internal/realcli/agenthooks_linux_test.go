package realcli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"aisync.dev/aisync/agents/hook"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/fakemodel"
	"aisync.dev/aisync/schema/spec"
)

// deliveredFile says at which events the ledger reached each program.
const deliveredFile = "../../catalog/delivered.json"

// ledgerWorld is a project with a ledger, of which the programs know by their
// hooks. A script before aisync in PATH notes each hook, and writes mail at three
// of them, so that each text can have come by one event only.
func ledgerWorld(w *world) (env string) {
	w.write(w.project, "aisync.cue", fmt.Sprintf("package aisync\n\nproject: {\n\tname: \"try\"\n\truntimes: [%s]\n\tagents: ledger: true\n}\n",
		strings.Join(each(w.set, `"%s"`), ", ")))
	w.aisync("apply", "--yes", "--trust")
	real := w.find("aisync")
	w.program(filepath.Join(w.home, "noting"), "aisync", `
say() { `+real+` ledger send "$to" "$2" --type "$1" --from lead >/dev/null; }
[ "$1" = hook ] || exec `+real+` "$@"
to=$4
echo "$2" >>"$HOME/hooks-$to"
if [ -n "$NOTE_MAIL" ]; then
	case $2 in
	Stop) [ -e "$HOME/stopped-$to" ] || { : >"$HOME/stopped-$to"; say handoff `+mark("mail", "stop")+`; } ;;
	esac
fi
`+real+` "$@"
code=$?
if [ -n "$NOTE_MAIL" ]; then
	case $2 in
	SessionStart) say note `+mark("mail", "prompt")+` ;;
	PreToolUse) say note `+mark("mail", "tool")+` ;;
	esac
fi
exit $code
`)
	return "PATH=" + filepath.Join(w.home, "noting") + ":" + strings.Join(w.path(), ":")
}

// hooked are the programs that run hooks of a project.
func hooked() []string {
	return slices.DeleteFunc(everyone(), func(id string) bool { return runtimeOf(id).Project.Events == nil })
}

// Each event of the ledger's hooks does in each program what the catalog says,
// no more and no less.
func TestLedgerReachesPrograms(t *testing.T) {
	needPrograms(t)
	seen := map[string][]string{}
	var mu sync.Mutex
	t.Run("programs", func(t *testing.T) {
		for _, id := range hooked() {
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				got := eventsOf(t, id)
				mu.Lock()
				defer mu.Unlock()
				seen[id] = got
			})
		}
	})
	if len(seen) != len(hooked()) {
		return // a part was asked for
	}
	delivered := map[string]catalog.Delivery{}
	for _, p := range Agents {
		if slices.Contains(hooked(), p.ID) {
			delivered[p.ID] = catalog.Delivery{Version: p.Version, Events: seen[p.ID]}
		}
	}
	want, err := json.MarshalIndent(map[string]any{"format_version": 1, "runtimes": delivered}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(deliveredFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(deliveredFile); err != nil || string(have) != string(want) {
		t.Errorf("%s is not what was seen (error %v); run with -update:\n%s", deliveredFile, err, want)
	}
}

// eventsOf are the events at which the ledger reached the program.
func eventsOf(t *testing.T, id string) []string {
	p := lookUp(t, id)
	w := newWorld(t, scope{"project", false, true}, []string{id})
	w.write(w.project, "held.txt", "kept\n")
	path := ledgerWorld(w)
	p = p.allowed()
	switch id { // in this network a sandbox cannot start, and no person allows the command
	case "claude":
		p.flags = append(slices.Clone(p.flags), "--allowedTools=Bash")
	case "codex":
		p.flags = append(slices.Clone(p.flags), "-c", `sandbox_mode="danger-full-access"`)
	}
	w.aisync("ledger", "claim", "held.txt", "--agent", "lead")
	w.aisync("ledger", "claim", "moved.txt", "--agent", "lead")
	ask := func(command string, env ...string) (bodies []string, all string) {
		t.Helper()
		c := p.shell(command)
		w.call.Store(&c)
		w.model.Take()
		w.allows(p)
		r := w.try(w.project, append(append(p.environ(w.model.URL), path), env...), p.ask("Use a tool.")...)
		times.add(id, r.took)
		t.Logf("%s: exit code %d, %.1f s\n%s", command, r.code, r.took.Seconds(), r.out)
		for _, q := range w.model.Take() {
			bodies = append(bodies, string(q.Body))
		}
		return bodies, strings.Join(bodies, "\n")
	}
	var got []string
	add := func(event string, ok bool) {
		if ok {
			got = append(got, event)
		}
		form, _ := catalog.HookFormOf(id)
		says := form.TellsAt(event)
		switch event {
		case "PreToolUse":
			says = form.Refuses
		case "Stop":
			says = form.GoesOn
		case "SessionEnd", "PreCompact":
			says = ok
		}
		if ok != says {
			t.Errorf("%s: delivered %v, the catalog says %v", event, ok, says)
			w.keep()
		}
	}

	bodies, all := ask("echo new >other.txt; python3 -c 'open(\"moved.txt\",\"w\").write(\"x\")'", "NOTE_MAIL=1")
	hooks, _ := os.ReadFile(filepath.Join(w.home, "hooks-"+id))
	t.Logf("hooks: %s", strings.Join(strings.Fields(string(hooks)), " "))
	const primed = "Your name there is "
	first := ""
	for _, b := range bodies {
		if strings.Contains(b, "Use a tool.") {
			first = b
			break
		}
	}
	add("SessionStart", strings.Contains(first, primed+id) && startedByHook(id))
	add("UserPromptSubmit", strings.Contains(first, mark("mail", "prompt")) || strings.Contains(first, primed+id) && !startedByHook(id))
	if _, err := os.Stat(filepath.Join(w.project, "other.txt")); err != nil {
		t.Errorf("a command that writes what nothing claims did not run: %v", err)
	}
	add("PostToolUse", strings.Contains(all, mark("mail", "tool")) && strings.Contains(all, "files changed that lead claims: moved.txt"))
	add("Stop", strings.Contains(all, mark("mail", "stop")))
	// What did not reach the model is still there to be read.
	for _, m := range []string{mark("mail", "prompt"), mark("mail", "tool"), mark("mail", "stop")} {
		unread := w.aisync("ledger", "inbox", "--agent", id, "--since-last-read", "--peek").out
		if strings.Contains(string(hooks), "PreToolUse") && m == mark("mail", "prompt") && !strings.Contains(all, m) && !strings.Contains(unread, m) {
			t.Errorf("%s is marked as read, and the model never saw it:\n%s", m, unread)
		}
	}

	_, all = ask("echo spoiled >held.txt")
	text, err := os.ReadFile(filepath.Join(w.project, "held.txt"))
	add("PreToolUse", err == nil && string(text) == "kept\n" && strings.Contains(all, "held.txt is claimed by lead"))

	// A claim of the agent's ends with the session.
	w.aisync("ledger", "claim", "own.txt", "--agent", id)
	ask("true")
	ended := !strings.Contains(w.aisync("ledger", "claims").out, "own.txt")
	add("SessionEnd", ended)
	slices.SortFunc(got, func(a, b string) int { return slices.Index(hook.Events, a) - slices.Index(hook.Events, b) })
	return got
}

// In a project of all programs each one takes part once, by its hooks: it has one
// seat, and its model is told a thing once. A program that also calls the hooks of
// another is in the catalog, and no other does.
func TestEachProgramTakesPartOnce(t *testing.T) {
	needWholeRun(t)
	for _, id := range hooked() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			p := lookUp(t, id)
			w := newWorld(t, scope{"project", false, true}, everyone())
			path := ledgerWorld(w)
			if id == "claude" {
				p.flags = append(slices.Clone(p.flags), "--allowedTools=Bash")
			}
			c := p.shell("true")
			w.call.Store(&c)
			w.allows(p)
			r := w.try(w.project, append(p.environ(w.model.URL), path, "NOTE_MAIL=1"), p.ask("Use a tool.")...)
			for _, other := range everyone() {
				_, err := os.Stat(filepath.Join(w.home, "hooks-"+other))
				if want := other == id || catalog.CallsHooksOf(runtimeOf(id), runtimeOf(other)); (err == nil) != want {
					t.Errorf("%s calls the hooks of %s: %v, the catalog says %v", id, other, err == nil, want)
				}
			}
			if seats := w.aisync("who").out; strings.Count(seats, ", free") != 1 || !strings.Contains(seats, "\n  "+id+" ") {
				t.Errorf("more seats than one:\n%s", seats)
			}
			once := []string{mark("mail", "prompt"), mark("mail", "tool"), "Your name there is "}
			for _, q := range w.model.Take() { // the later ones have all that came before
				for _, text := range once {
					if n := strings.Count(string(q.Body), text); n > 1 {
						t.Errorf("the model is told %d times: %s\n%s", n, text, q.Body)
					}
				}
			}
			if t.Failed() {
				t.Logf("exit code %d\n%s", r.code, r.out)
				w.keep()
			}
		})
	}
}

// runtimeOf returns what the catalog says of a program.
func runtimeOf(id string) spec.Runtime {
	all := catalog.Runtimes()
	return all[slices.IndexFunc(all, func(rt spec.Runtime) bool { return rt.ID == id })]
}

// startedByHook reports whether the catalog says that a program takes the text of
// SessionStart; else the text comes with the prompt.
func startedByHook(id string) bool {
	form, _ := catalog.HookFormOf(id)
	return form.TellsAt("SessionStart")
}

// A session that Claude Code compacts loses what its model knew of the ledger: the
// next request tells it anew. One that goes on without that is told nothing twice.
func TestCompactionTellsAnew(t *testing.T) {
	needPrograms(t)
	const id = "claude"
	p := lookUp(t, id)
	w := newWorld(t, scope{"project", false, true}, []string{id})
	env := append(p.environ(w.model.URL), ledgerWorld(w))
	noted := filepath.Join(w.home, "hooks-"+id)
	for i, step := range []struct{ prompt, hook string }{
		{"First question.", "SessionStart"},
		{"Second question.", "SessionStart"},
		{"/compact", "PreCompact"},
		{"Third question.", "UserPromptSubmit"},
	} {
		if i > 0 {
			p.flags = []string{"--continue"}
		}
		_ = os.Remove(noted) // the first step finds none
		w.model.Take()
		r := w.try(w.project, env, p.ask(step.prompt)...)
		hooks, _ := os.ReadFile(noted)
		if !strings.Contains(string(hooks), step.hook) {
			t.Errorf("%s: exit code %d, hooks %s\n%s", step.prompt, r.code, strings.Join(strings.Fields(string(hooks)), " "), r.out)
		}
		told := 0
		for _, q := range w.model.Take() {
			if strings.Contains(string(q.Body), step.prompt) {
				told = strings.Count(string(q.Body), "Your name there is ")
			}
		}
		if step.prompt != "/compact" && told != 1 {
			t.Errorf("%s: the request says %d times who the agent is", step.prompt, told)
		}
	}
	if t.Failed() {
		w.keep()
	}
}

// What becomes of a task of a team that a session of Claude Code leads stands on
// the blackboard.
func TestTeamTasksAreMirrored(t *testing.T) {
	needPrograms(t)
	const id = "claude"
	p := lookUp(t, id)
	w := newWorld(t, scope{"project", false, true}, []string{id})
	env := append(p.environ(w.model.URL), ledgerWorld(w), "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1", "CLAUDE_CODE_TASK_LIST_ID=try",
		"ENABLE_TOOL_SEARCH=false", "CLAUDE_CODE_ENABLE_TASKS=1", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1") // the model gets the tools at once
	for _, step := range []struct {
		call fakemodel.Call
		want string
	}{
		{call("TaskCreate", "subject", "description", "stays in the team")("Review the parser"), "team task 1 created: Review the parser\n"},
		{call("TaskUpdate", "taskId", "status", "completed")("1"), "team task 1 completed: Review the parser\n"},
	} {
		w.call.Store(&step.call)
		r := w.try(w.project, env, p.ask("Use a tool.")...)
		board := w.aisync("ledger", "board").out
		if !strings.Contains(board, step.want) || strings.Contains(board, "stays in the team") {
			hooks, _ := os.ReadFile(filepath.Join(w.home, "hooks-"+id))
			t.Errorf("%s: exit code %d, hooks %s\n%s\n%s", step.call.Tool, r.code, strings.Join(strings.Fields(string(hooks)), " "), board, r.out)
			w.keep()
		}
	}
}

// A teammate that a session of Claude Code starts in a pane gets these flags. That it
// is idle stands on the blackboard.
func TestIdleTeammateIsMirrored(t *testing.T) {
	needPrograms(t)
	const id = "claude"
	p := lookUp(t, id)
	p.flags = []string{"--agent-id", "scout@try", "--agent-name", "scout", "--team-name", "try"}
	w := newWorld(t, scope{"project", false, true}, []string{id})
	r := w.try(w.project, append(p.environ(w.model.URL), ledgerWorld(w), "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1"), p.ask("Say a word.")...)
	if board := w.aisync("ledger", "board").out; strings.Count(board, "teammate scout is idle\n") != 1 {
		hooks, _ := os.ReadFile(filepath.Join(w.home, "hooks-"+id))
		t.Errorf("exit code %d, hooks %s\n%s\n%s", r.code, strings.Join(strings.Fields(string(hooks)), " "), board, r.out)
		w.keep()
	}
}
