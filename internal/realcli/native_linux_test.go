package realcli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Claude Code loads a native plugin itself, each part once, in its next version after
// an update; doctor sees what it does not tell; and nothing is left of one that is
// removed.
func TestNativePluginLoadsOnce(t *testing.T) {
	needWholeRun(t)
	for _, s := range []scope{{"project", false, true}, {"host", true, false}} {
		t.Run(s.name, func(t *testing.T) {
			w, p := newNativeWorld(t, s)
			source := filepath.Join(w.home, "published/claude")
			formats[1].publish(t, source)
			w.write(source, ".claude-plugin/plugin.json", `{"name": "whole", "version": "1.0.0", "description": "One of everything"}`)
			w.aisync("add", "--scope", s.name, "plugin", "whole@"+source, "--native")
			w.aisync("apply", "--yes", "--trust")
			w.run(w.project, nil, "claude", "plugin", "validate", w.native())
			id := "whole@aisync"
			if s.project {
				id += "-try"
				w.doctor(t, "has not taken the plugin "+id+" yet")
				w.question(p, p.ask("Say a word.")) // a headless session registers the marketplace, and loads it from then on
			}
			w.once(t, p, mark("claude", "skill"))
			w.doctor(t, "")

			for _, c := range []struct {
				name, says string
				args       []string
			}{
				{"disabled", "disables it", []string{"claude", "plugin", "disable", id}},
				{"another version", "loads another version", []string{"sh", "-c", "echo more >>" + w.native() + "/whole/skills/claude-look/SKILL.md"}},
				{"absent", "cannot be read", []string{"rm", "-r", w.native() + "/whole"}},
				{"marketplace", "does not name its marketplace", []string{"sh", "-c", `f=` + filepath.Dir(w.native()) + `/settings.json; sed -i s/directory/file/ "$f"`}},
			} {
				w.run(w.project, nil, c.args...)
				fix := w.doctor(t, c.says)
				if strings.HasPrefix(fix, "aisync ") {
					fix += " --yes --trust"
				}
				w.run(w.project, nil, "sh", "-c", fix)
				if w.doctor(t, ""); t.Failed() {
					t.Fatalf("%s: %s did not help", c.name, fix)
				}
			}

			w.write(source, "skills/claude-look/SKILL.md", "---\nname: claude-look\ndescription: Use it for "+mark("claude", "next")+".\n---\n\n# Look\n")
			w.aisync("apply", "--yes", "--trust")
			w.once(t, p, mark("claude", "next"))
			w.inOrder()

			w.without(s)
			w.aisync("apply", "--yes", "--trust")
			for m, n := range mostOf(w.question(p, p.ask("Say a word."))) {
				t.Errorf("%s is there %d times after the plugin is removed", m, n)
			}
			w.nothingLeft(t, id)
			if t.Failed() {
				w.keep()
			}
		})
	}
}

// Copilot CLI loads the plugins that Claude Code's settings in a project enable, so it
// gets them once by these, and nothing of them translated.
func TestNativePluginLoadsOnceInCopilot(t *testing.T) {
	needPrograms(t)
	w := newWorld(t, scope{}, []string{"claude", "copilot"})
	w.scope = scope{"project", false, true}
	w.write(w.project, "aisync.cue", "package aisync\n\nproject: {\n\tname: \"try\"\n\truntimes: [\"claude\", \"copilot\"]\n}\n")
	source := filepath.Join(w.home, "published/claude")
	formats[1].publish(t, source)
	w.write(source, ".claude-plugin/plugin.json", `{"name": "whole", "version": "1.0.0"}`)
	w.aisync("add", "--scope", "project", "plugin", "whole@"+source, "--native")
	w.aisync("apply", "--yes", "--trust")
	p := lookUp(t, "copilot")
	p.say = nil
	first := mostOf(w.question(p, p.ask("Say a word.")))
	started := w.ran("claude", "start")
	w.use(p, p.shell("true"))
	for what, n := range map[string]int{
		"skill": first[mark("claude", "skill")], "subagent": first[mark("claude", "agent")], "MCP server": first[mark("claude", "tool")],
		"hook at start": started, "hook of a tool": w.ran("claude", "shell"),
	} {
		if n != 1 {
			t.Errorf("the %s of the plugin is there %d times, want 1", what, n)
		}
	}
}

// Of a plugin that the host and the project both ask for, Claude Code loads the host's,
// once; doctor says so where they differ.
func TestNativePluginOfTheHostComesFirst(t *testing.T) {
	needPrograms(t)
	w := newWorld(t, scope{}, []string{"claude"})
	w.scope = scope{"both", true, true}
	w.write(w.project, "aisync.cue", "package aisync\n\nproject: {\n\tname: \"try\"\n\truntimes: [\"claude\"]\n}\n")
	for _, name := range []string{"project", "host"} {
		source := filepath.Join(w.home, "published", name)
		formats[1].publish(t, source)
		w.write(source, ".claude-plugin/plugin.json", `{"name": "whole", "version": "1.0.0"}`)
		w.write(source, "skills/claude-look/SKILL.md", "---\nname: claude-look\ndescription: Use it for "+mark(name, "skill")+".\n---\n\n# Look\n")
		w.aisync("add", "--scope", name, "plugin", "whole@"+source, "--native")
	}
	w.aisync("apply", "--yes", "--trust")
	p := lookUp(t, "claude")
	p.say = nil
	for range 2 {
		w.ran("claude", "start")
		first := mostOf(w.question(p, p.ask("Say a word.")))
		if n := w.ran("claude", "start"); n != 1 || first[mark("host", "skill")] != 1 || first[mark("project", "skill")] != 0 {
			t.Errorf("the hook ran %d times; loaded: %v", n, first)
		}
	}
	w.doctor(t, "as the host's spec has it")
}

func newNativeWorld(t *testing.T, s scope) (*world, program) {
	t.Helper()
	w := newWorld(t, scope{}, []string{"claude"})
	w.without(s)
	p := lookUp(t, "claude")
	p.say = nil
	return w, p
}

// without writes specs that take no plugin.
func (w *world) without(s scope) {
	w.t.Helper()
	w.scope = scope{}
	w.specs()
	if w.scope = s; s.project {
		w.write(w.project, "aisync.cue", "package aisync\n\nproject: {\n\tname: \"try\"\n\truntimes: [\"claude\"]\n}\n")
	}
}

// native is the folder of the native plugins.
func (w *world) native() string {
	if w.scope.host {
		return filepath.Join(w.home, ".claude/aisync-plugins")
	}
	return filepath.Join(w.project, ".claude/aisync-plugins")
}

// once asks p, and wants each part of the plugin once, with a mark for its skill.
func (w *world) once(t *testing.T, p program, skill string) {
	t.Helper()
	w.ran("claude", "start")
	first := mostOf(w.question(p, p.ask("Say a word.")))
	started := w.ran("claude", "start")
	w.ran("claude", "shell")
	w.use(p, p.shell("true"))
	command := mostOf(w.question(p, p.ask("/whole:claude-fix")))
	for what, n := range map[string]int{
		"skill": first[skill], "subagent": first[mark("claude", "agent")], "MCP server": first[mark("claude", "tool")],
		"hook at start": started, "hook of a tool": w.ran("claude", "shell"), "command": command[mark("claude", "command")],
	} {
		if n != 1 {
			t.Errorf("the %s of the plugin is there %d times, want 1", what, n)
		}
	}
	if len(first) != 3 {
		t.Errorf("there are other parts of it: %v", first)
	}
}

// doctor wants the one finding about native plugins that says says, or none, and
// returns its fix.
func (w *world) doctor(t *testing.T, says string) string {
	t.Helper()
	r := w.try(w.project, nil, "aisync", "doctor", "--json")
	var report struct {
		Checks []struct {
			Name     string
			Findings []struct{ What, Fix string }
		}
	}
	if err := json.Unmarshal([]byte(r.out[strings.Index(r.out, "{"):strings.LastIndex(r.out, "}")+1]), &report); err != nil {
		t.Fatalf("%v\n%s", err, r.out)
	}
	for _, c := range report.Checks {
		switch {
		case c.Name != "native-plugins":
		case says == "" && len(c.Findings) == 0:
			return ""
		case says != "" && len(c.Findings) == 1 && strings.Contains(c.Findings[0].What, says):
			return c.Findings[0].Fix
		default:
			t.Fatalf("doctor says of native plugins %v, want %q", c.Findings, says)
		}
	}
	t.Fatalf("doctor has no such check:\n%s", r.out)
	return ""
}

// nothingLeft looks for what the program may have noted about a plugin.
func (w *world) nothingLeft(t *testing.T, id string) {
	t.Helper()
	if _, err := os.Stat(w.native()); err == nil {
		t.Errorf("%s is left", w.native())
	}
	_, market, _ := strings.Cut(id, "@")
	for _, name := range []string{".claude.json", ".claude/settings.json", ".claude/plugins/known_marketplaces.json", ".claude/plugins/installed_plugins.json"} {
		for _, dir := range []string{w.home, w.project} {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && strings.Contains(string(text), `"`+market+`"`) || strings.Contains(string(text), id) {
				t.Errorf("%s has %s:\n%s", filepath.Join(dir, name), id, text)
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(w.home, ".claude/plugins/*/*aisync*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}
