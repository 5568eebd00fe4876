package realcli

import (
	"path/filepath"
	"slices"
	"testing"

	"aisync.dev/aisync/internal/fakemodel"
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

// A hook of a tool runs when the model uses that tool, whatever the program
// calls it, and not before.
func TestHookRunsBeforeShell(t *testing.T) {
	needPrograms(t)
	w := newWorld(t, scope{"both", true, true}, everyone())
	w.program(w.project, "project-may", "echo "+mark("project", "may")+"\n")
	w.aisync("apply", "--yes", "--trust")
	for _, id := range everyone() {
		p := lookUp(t, id)
		if p.Project.Events == nil {
			continue
		}
		t.Run(id, func(t *testing.T) {
			w := w.with(t)
			w.ran("host", "shell")
			w.ran("project", "shell")
			w.question(p, p.ask("Say a word."))
			if w.ran("host", "shell")+w.ran("project", "shell") > 0 {
				t.Error("a hook ran that is for the shell alone, and nothing used the shell")
			}
			requests := w.use(p, p.shell("./project-may now")) // which the bundle allows
			for _, scope := range w.scopes() {
				n := w.ran(scope, "shell")
				parts.add(id, scope, "hooks", n == 1)
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
	w := newWorld(t, scope{"both", true, true}, everyone())
	w.aisync("apply", "--yes", "--trust")
	for _, id := range everyone() {
		p := lookUp(t, id)
		for _, scope := range w.scopes() {
			at := p.User
			if scope == "project" {
				at = p.Project
			}
			if at.Commands == nil || id == "codex" {
				continue
			}
			t.Run(id+"/"+scope, func(t *testing.T) {
				name := scope + "-fix"
				argv := p.ask("/" + name)
				if p.invoke != nil {
					argv = p.invoke(p, name)
				}
				right := mostOf(w.with(t).question(p, argv))[mark(scope, "fix")] == 1
				parts.add(id, scope, "commands", right)
				if !right {
					w.with(t).keep()
					t.Errorf("%q did not send the text of the command", argv)
				}
			})
		}
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
			w := newWorld(t, s, everyone())
			w.program(w.project, s.name+"-may", "echo "+mark(s.name, "may")+"\n")
			w.program(w.project, s.name+"-not", "echo "+mark(s.name, "not")+"\n")
			w.aisync("apply", "--yes", "--trust")
			for _, id := range everyone() {
				p := lookUp(t, id)
				p.flags = slices.DeleteFunc(slices.Clone(p.flags), func(f string) bool { return f == "--yolo" })
				if (s.host && p.User.Permissions == nil) || (s.project && p.Project.Permissions == nil) {
					continue
				}
				t.Run(id, func(t *testing.T) {
					w := w.with(t)
					ran := func(what string) bool {
						requests := w.use(p, p.shell("./"+s.name+"-"+what+" now"))
						return mostOf(requests)[mark(s.name, what)] > 0
					}
					// On a machine that is busy a program now and then gives up a
					// question of its own: what is allowed has two tries.
					may, not := ran("may"), ran("not")
					if !may {
						may = ran("may")
					}
					parts.add(id, s.name, "permissions", may && !not)
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
			parts.add(id, "project", "ignore", open == 1 && hidden == 0)
			if open != 1 || hidden != 0 {
				t.Errorf("the open file is there %d times, the hidden one %d times", open, hidden)
				w.keep()
			}
		})
	}
}
