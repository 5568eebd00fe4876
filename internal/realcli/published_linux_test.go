package realcli

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge"
)

// Each program has each part of what others publish that it has a place for, once:
// it sends it to its model, runs it, or turns a name into its text. What a project
// takes is recorded.
func TestPublishedPartsLoadOnce(t *testing.T) {
	needWholeRun(t)
	scopes := []scope{{"project", false, true}}
	if everyWay {
		scopes = append(scopes, scope{"host", true, false})
	}
	for _, s := range scopes {
		t.Run(s.name, func(t *testing.T) {
			w := newPublishedWorld(t, s)
			readings := map[string]reading{}
			for _, f := range formats {
				readings[f.id] = f.read(t)
				at := filepath.Join(w.home, "published", f.id)
				f.publish(t, at)
				w.aisync(append([]string{"add", "--scope", s.name}, f.typed(s, at)...)...)
			}
			w.aisync("apply", "--yes", "--trust")
			w.consent()
			seen, asked := seenPublished{}, 0
			for _, id := range everyone() {
				t.Run(id, func(t *testing.T) {
					asked++
					w.with(t).judgePublished(id, readings, seen)
				})
			}
			w.inOrder()
			if s.project && asked == len(everyone()) { // else -run left some out
				seen.compare(t)
			}
			if t.Failed() {
				w.keep()
			}
		})
	}
}

// newPublishedWorld is a home and, in the scope of a project, a project for every
// program, whose specs take nothing yet.
func newPublishedWorld(t *testing.T, s scope) *world {
	t.Helper()
	w := newWorld(t, scope{}, everyone())
	if w.scope = s; s.host {
		return w
	}
	w.write(w.project, "aisync.cue", fmt.Sprintf("package aisync\n\nproject: {\n\tname: \"try\"\n\truntimes: [%s]\n}\n", strings.Join(each(w.set, "%q"), ", ")))
	return w
}

// consent is answers in a project of aisync's, which sees them.
func (w *world) consent() {
	w.t.Helper()
	if !w.scope.project {
		return
	}
	w.answers()
	if r := w.aisync("plan"); strings.Contains(r.out, "not trusted: subagents") {
		w.t.Errorf("aisync does not see the answers to gemini:\n%s", r.out)
	}
}

// answers is what a person answers each program of the set that asks before it
// loads servers and subagents of a project.
func (w *world) answers() {
	w.t.Helper()
	local := filepath.Join(w.project, ".claude/settings.local.json")
	doc, err := os.ReadFile(local)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	yes, err := merge.Edit(merge.JSON, doc, []merge.Op{{Key: "/enableAllProjectMcpServers", Value: merge.Value("true")}}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(filepath.Dir(local), filepath.Base(local), string(yes.Doc))
	if slices.Contains(w.set, "qwen") {
		w.run(w.project, nil, "qwen", "mcp", "approve", "--all")
	}
	files, err := filepath.Glob(filepath.Join(w.project, ".gemini/agents/*.md"))
	if err != nil {
		w.t.Fatal(err)
	}
	answers := map[string]string{} // by the names in the texts
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		answers[nameInText.FindStringSubmatch(string(text))[1]] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	text, err := json.Marshal(map[string]any{w.project: answers})
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(w.home, ".gemini/acknowledgments/agents.json", string(text))
}

var nameInText = regexp.MustCompile(`(?m)^name: "?([^"\n]+)"?$`)

// judgePublished asks the program id for its part of each format, and notes what
// was right.
func (w *world) judgePublished(id string, readings map[string]reading, seen seenPublished) {
	w.t.Helper()
	p := lookUp(w.t, id).allowed()
	p.say = nil // consent has said it
	at := p.Project
	if w.scope.host {
		at = p.User
	}
	hooks := func(event string) map[string]int {
		ran := map[string]int{}
		for _, f := range formats {
			ran[f.id] = w.ran(f.id, event)
		}
		return ran
	}
	hooks("start")
	first := mostOf(w.question(p, p.ask("Say a word.")))
	started := hooks("start")
	hooks("shell")
	w.use(p, p.shell("true"))
	shell := hooks("shell")
	for _, f := range formats {
		takes := readings[f.id].takes
		once := func(part string, place bool, got ...int) {
			want := 0
			if place && takes[part] {
				want = 1
			}
			if slices.ContainsFunc(got, func(n int) bool { return n != want }) {
				w.t.Errorf("the %s of %s: %v times, want %d", part, f.name, got, want)
			} else if want == 1 {
				seen.add(f, part, id)
			}
		}
		skills := first[mark(f.id, "skill")]
		if p.skill != nil && takes["skills"] {
			skills = w.takes(p, f.id+"-look", mark(f.id, "body"))
		}
		once("skills", at.Skills != "", skills)
		once("rules", at.Rules != "" || at.RulesBlock != "", first[mark(f.id, "rule")])
		once("subagents", at.Agents != nil, first[mark(f.id, "agent")])
		tool := first[mark(f.id, "tool")]
		if p.find != nil && takes["MCP servers"] {
			tool = mostOf(w.use(p, p.find(f.id+"srv")))[mark(f.id, "tool")]
		}
		once("MCP servers", at.MCP != nil, min(1, tool)) // some name a tool twice
		once("hooks", at.Events != nil && len(at.Events.Refuses) == 0, started[f.id], shell[f.id])
		for _, what := range []string{"body", "style", "other", "command"} {
			if first[mark(f.id, what)] != 0 {
				w.t.Errorf("the %s of %s is there unasked", what, f.name)
			}
		}
		if at.Commands == nil || !takes["commands"] || id == "codex" { // which takes commands from a person who types alone
			continue
		}
		argv := p.ask("/" + f.id + "-fix")
		if p.invoke != nil {
			argv = p.invoke(p, f.id+"-fix")
		}
		once("commands", true, mostOf(w.question(p, argv))[mark(f.id, "command")])
	}
	w.t.Logf("saw %v", first)
	w.listPublished(p, readings)
}

// listPublished runs the commands by which p lists what it has, or checks it.
func (w *world) listPublished(p program, readings map[string]reading) {
	w.t.Helper()
	dir, env := w.project, p.environ(w.model.URL)
	if w.scope.host {
		dir, env = w.home, append(env, p.any...)
	}
	for _, v := range p.Validators {
		name := p.Runtime.Command + " " + strings.Join(v.Args, " ")
		r := w.try(dir, env, append([]string{p.Runtime.Command}, v.Args...)...)
		if r.code != 0 || v.Bad != "" && regexp.MustCompile(v.Bad).MatchString(r.out) {
			w.t.Errorf("%s: exit code %d\n%s", name, r.code, r.out)
		}
		for _, f := range formats {
			for _, want := range said[name] {
				part := map[string]string{"srv": "MCP servers", "tool": "MCP servers", "look": "skills", "skill": "skills"}[namedPart.FindString(want)]
				if want = fill(want, f.id); (v.InProject || w.scope.host) && readings[f.id].takes[part] && !strings.Contains(r.out, want) {
					w.t.Errorf("%s does not say %q:\n%s", name, want, r.out)
				}
			}
		}
	}
}

var namedPart = regexp.MustCompile("srv|tool|look|skill")
