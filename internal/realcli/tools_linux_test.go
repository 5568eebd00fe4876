package realcli

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/fakemodel"
	"aisync.dev/aisync/schema/spec"
)

// use asks p, whose model uses a tool before it answers.
func (w *world) use(p program, c fakemodel.Call) []fakemodel.Request {
	w.t.Helper()
	w.call.Store(&c)
	defer w.call.Store(nil)
	requests := w.question(p, p.ask("Use a tool."))
	if len(requests) == 0 || requests[len(requests)-1].Turn == 0 {
		w.t.Errorf("the tool %s was not used", c.Tool)
	}
	return requests
}

// takes is how often the text of a skill is there once the model of p took it by its
// name.
func (w *world) takes(p program, skill, text string) int {
	w.t.Helper()
	return mostOf(w.use(p, p.skill(skill)))[text]
}

// A hook of a tool runs when the model uses that tool, whatever the program
// calls it, and not before.
func TestHookRunsBeforeShell(t *testing.T) {
	needPrograms(t)
	for _, id := range everyone() {
		p := lookUp(t, id)
		if p.Project.Events == nil {
			continue
		}
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, scope{"both", true, true}, everyone())
			w.program(w.project, "project-may", "echo "+mark("project", "may")+"\n")
			w.aisync("apply", "--yes", "--trust")
			w.question(p, p.ask("Say a word."))
			if w.ran("host", "shell")+w.ran("project", "shell") > 0 {
				t.Error("a hook ran that is for the shell alone, and nothing used the shell")
			}
			requests := w.use(p, p.shell("./project-may now")) // which the bundle allows
			for _, scope := range w.scopes() {
				n := w.ran(scope, "shell")
				parts.add(t, id, scope, "hooks", n == 1)
				if n != 1 {
					t.Errorf("%s: its hook of PreToolUse ran %d times, want 1", scope, n)
				}
			}
			if mostOf(requests)[mark("project", "may")] == 0 {
				t.Errorf("what the shell said did not come back:\n%s", requests[len(requests)-1].Body)
			}
			w.keep()
		})
	}
}

// A command is a text that a person calls by its name. Codex takes its own only
// from a person who types, so this proves nothing about it.
func TestCommandBecomesText(t *testing.T) {
	needPrograms(t)
	for _, id := range everyone() {
		p := lookUp(t, id)
		if p.User.Commands == nil && p.Project.Commands == nil || id == "codex" {
			continue
		}
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, scope{"both", true, true}, everyone())
			w.aisync("apply", "--yes", "--trust")
			for scope, at := range map[string]spec.Scope{"host": p.User, "project": p.Project} {
				if at.Commands == nil {
					continue
				}
				t.Run(scope, func(t *testing.T) {
					name := scope + "-fix"
					argv := p.ask("/" + name)
					if p.invoke != nil {
						argv = p.invoke(p, name)
					}
					right := mostOf(w.with(t).question(p, argv))[mark(scope, "fix")] == 1
					parts.add(t, id, scope, "commands", right)
					if !right {
						w.with(t).keep()
						t.Errorf("%q did not send the text of the command", argv)
					}
				})
			}
		})
	}
}

// A rule for some files costs nothing until one of them is read.
func TestPathRuleLoadsWithFiles(t *testing.T) {
	needPrograms(t)
	for _, id := range everyone() {
		p := lookUp(t, id)
		if p.Project.RulesForm == "" || p.read == nil {
			continue
		}
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, scope{"both", true, true}, []string{id})
			w.write(w.project, "src/main.zig", "// nothing\n")
			w.aisync("apply", "--yes", "--trust")
			requests := w.use(p, p.read(filepath.Join(w.project, "src/main.zig")))
			for _, scope := range w.scopes() {
				m := mark(scope, "zig")
				first, all := marks(string(requests[0].Body))[m], mostOf(requests)[m]
				if first != 0 || all != 1 {
					t.Errorf("%s is there %d times at first and %d times in the end, want 0 and 1", m, first, all)
				}
			}
			w.keep()
		})
	}
}

// What is allowed runs without a question, which no person could answer here; what
// is denied does not run. Each scope for itself: where both say something, some
// programs take the project's word alone.
func TestPermissionsHold(t *testing.T) {
	needPrograms(t)
	for _, s := range []scope{{"host", true, false}, {"project", false, true}} {
		t.Run(s.name, func(t *testing.T) {
			for _, id := range everyone() {
				p := lookUp(t, id)
				p.flags = slices.DeleteFunc(slices.Clone(p.flags), func(f string) bool { return f == "--yolo" })
				if (s.host && p.User.Permissions == nil) || (s.project && p.Project.Permissions == nil) {
					continue
				}
				t.Run(id, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, s, everyone())
					w.program(w.project, s.name+"-may", "echo "+mark(s.name, "may")+"\n")
					w.program(w.project, s.name+"-not", "echo "+mark(s.name, "not")+"\n")
					w.aisync("apply", "--yes", "--trust")
					ran := func(what string) bool {
						c := p.shell("./" + s.name + "-" + what + " now")
						if what == "not" && p.mute {
							w.call.Store(&c)
							defer w.call.Store(nil)
							w.model.Take()
							w.run(w.project, p.environ(w.model.URL), p.ask("Use a tool.")...)
							requests := w.model.Take()
							if len(requests) == 0 {
								t.Error("it asked its model nothing")
							}
							return mostOf(requests)[mark(s.name, what)] > 0
						}
						requests := w.use(p, c)
						return mostOf(requests)[mark(s.name, what)] > 0
					}
					// On a machine that is busy a program now and then gives up a
					// question of its own: what is allowed has two tries.
					may, not := ran("may"), ran("not")
					if !may {
						may = ran("may")
					}
					parts.add(t, id, s.name, "permissions", may && !not)
					if !may || not {
						t.Errorf("what is allowed ran: %v; what is denied ran: %v", may, not)
						w.keep()
					}
				})
			}
		})
	}
}

// A file that no agent shall read is not read.
func TestAnIgnoredFileIsNotRead(t *testing.T) {
	needPrograms(t)
	w := newWorld(t, scope{"project", false, true}, everyone())
	w.write(w.project, "hidden.txt", mark("file", "hidden")+"\n")
	w.write(w.project, "open.txt", mark("file", "open")+"\n")
	w.aisync("apply", "--yes", "--trust")
	for _, id := range everyone() {
		p := lookUp(t, id)
		if p.Project.Ignore == "" {
			continue
		}
		t.Run(id, func(t *testing.T) {
			w := w.with(t)
			open := mostOf(w.use(p, p.read(filepath.Join(w.project, "open.txt"))))[mark("file", "open")]
			hidden := mostOf(w.use(p, p.read(filepath.Join(w.project, "hidden.txt"))))[mark("file", "hidden")]
			parts.add(t, id, "project", "ignore", open == 1 && hidden == 0)
			if open != 1 || hidden != 0 {
				t.Errorf("the open file is there %d times, the hidden one %d times", open, hidden)
				w.keep()
			}
		})
	}
}

// A file that is denied by a permission is not read, wherever below the project
// it lies; one with a name that only ends like its own is read.
func TestADeniedReadHolds(t *testing.T) {
	needWholeRun(t)
	w := newWorld(t, scope{"project", false, true}, everyone())
	w.write(w.project, "rulesets/languages/demo/ignore", "hidden.txt\n/secrets/\n/top.txt\nsub/deep.txt\n*.key\n")
	files := map[string]bool{
		"hidden.txt": true, "sub/hidden.txt": true, "secrets/a/b.txt": true, "top.txt": true, "sub/deep.txt": true, "my.key": true,
		"unhidden.txt": false, "stop.txt": false,
	}
	name := func(file string) string { return strings.NewReplacer("/", "", ".", "").Replace(file) }
	for file := range files {
		w.write(w.project, file, mark("file", name(file))+"\n")
	}
	w.aisync("apply", "--yes", "--trust")
	for _, id := range everyone() {
		p := lookUp(t, id)
		if p.Project.Ignore != "" || p.Project.Permissions == nil || p.read == nil {
			continue
		}
		t.Run(id, func(t *testing.T) {
			w := w.with(t)
			for _, file := range slices.Sorted(maps.Keys(files)) {
				read := mostOf(w.use(p, p.read(filepath.Join(w.project, file))))[mark("file", name(file))] > 0
				if read == files[file] {
					t.Errorf("%s was read: %v", file, read)
					w.keep()
				}
			}
		})
	}
}

// A subagent has the tools that its author left it, in the form of each program
// that shows them.
func TestASubagentKeepsItsLimits(t *testing.T) {
	needPrograms(t)
	w := newWorld(t, scope{"project", false, true}, everyone())
	w.write(w.project, "rulesets/languages/demo/agents/project-judge.md", "---\nname: project-judge\ndescription: Judges.\ntools: Read, Grep\n---\n\nJudge.\n")
	w.write(w.project, "hidden.txt", "x\n")
	w.aisync("apply", "--yes", "--trust")
	p := lookUp(t, "opencode")
	out := w.run(w.project, p.environ(w.model.URL), p.Runtime.Command, "debug", "agent", "project-judge").out
	var agent struct {
		Permission []struct{ Permission, Pattern, Action string }
		Tools      map[string]bool
	}
	if err := json.NewDecoder(strings.NewReader(out[strings.Index(out, "{"):])).Decode(&agent); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for tool, want := range map[string]bool{"read": true, "grep": true, "glob": true, "bash": false, "edit": false, "write": false, "webfetch": false, "task": false} {
		if got, known := agent.Tools[tool]; known && got != want {
			t.Errorf("%s: %v\n%s", tool, got, out)
		}
	}
	if agent.Tools["bash"] || !agent.Tools["read"] {
		t.Errorf("tools %v", agent.Tools)
	}
	hidden := ""
	for _, rule := range agent.Permission {
		if rule.Permission == "read" && (rule.Pattern == "*" || rule.Pattern == "hidden.txt") {
			hidden = rule.Action
		}
	}
	if hidden != "deny" {
		t.Errorf("the subagent may read hidden.txt: %s", out)
	}
}
