package realcli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// snapshots are public repositories as they were found, what a person types to
// have a part of each, and where that lies in it.
var snapshots = []struct {
	name, repo string
	add        []string
	folder     string
	skills     []string // patterns of their names
	command    string   // one of its commands, if it has any
	hook       string   // a skill whose file a hook brings in at the start
}{
	{name: "superpowers", repo: "obra/superpowers", add: []string{"plugin", "superpowers@obra/superpowers"}, folder: ".", skills: []string{"*"}, hook: "using-superpowers"},
	{name: "wshobson-agents", repo: "wshobson/agents", add: []string{"plugin", "python-development@wshobson/agents"}, folder: "plugins/python-development", skills: []string{"*"}, command: "python-scaffold"},
	{name: "claude-plugins-official", repo: "anthropics/claude-plugins-official", add: []string{"plugin", "hookify@claude-plugins-official"}, folder: "plugins/hookify", skills: []string{"*"}, command: "hookify"},
	{name: "vercel-agent-skills", repo: "vercel-labs/agent-skills", add: []string{"skill", "vercel-labs/agent-skills", "react-best-practices", "web-*"}, folder: ".", skills: []string{"react-best-practices", "web-*"}},
}

// Each program has each skill and subagent of what others have published once, at
// its start, a command's text when it is named, and what a hook brings in.
func TestSnapshotsLoadOnce(t *testing.T) {
	needWholeRun(t)
	some := snapshots
	if !everyWay {
		some = snapshots[:1]
	}
	for _, s := range some {
		t.Run(s.name, func(t *testing.T) {
			archive, err := filepath.Abs("../../../shared/world/" + s.name + ".tar.gz")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(archive); errors.Is(err, fs.ErrNotExist) {
				t.Skip("the snapshots of repositories are not here")
			}
			w := newPublishedWorld(t, scope{"project", false, true})
			tree := filepath.Join(w.home, "tree")
			w.write(tree, ".keep", "")
			w.run(tree, nil, "tar", "-xzf", archive)
			top := filepath.Join(tree, s.folder)
			skills := w.markFiles(top, "skills/*/SKILL.md", "skill", s.skills)
			agents := w.markFiles(top, "agents/*.md", "agent", []string{"*"})
			w.markFiles(top, "commands/*.md", "command", []string{"*"})
			repos := filepath.Join(w.home, "repos")
			w.write(w.home, ".gitconfig", "[url \"file://"+repos+"/\"]\n\tinsteadOf = https://github.com/\n[user]\n\tname = x\n\temail = x\n")
			w.write(repos, filepath.Dir(s.repo)+"/.keep", "")
			for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A", "-f"}, {"commit", "-qm", "as found"}, {"clone", "-q", "--bare", ".", filepath.Join(repos, s.repo+".git")}} {
				w.run(tree, nil, append([]string{"git"}, args...)...)
			}
			w.run(w.project, []string{"AISYNC_OFFLINE="}, append([]string{"aisync", "add"}, s.add...)...)
			apply := []string{"apply", "--yes", "--trust"}
			for _, flagged := range regexp.MustCompile(`aisync apply (--accept \w+)\n`).FindAllStringSubmatch(w.aisync("plan").out, -1) {
				apply = append(apply, strings.Fields(flagged[1])...)
			}
			w.aisync(apply...)
			w.consent()
			for _, id := range everyone() {
				t.Run(id, func(t *testing.T) {
					w, p := w.with(t), lookUp(t, id)
					p.say = nil // consent has said it
					seen := mostOf(w.question(p, p.ask("Say a word.")))
					want := map[string]int{}
					for name, m := range skills {
						want[m] = 1
						if p.skill != nil {
							want[m] = 0 // its model is told the name alone
						}
						if id == "grok" && !wellNamed(t, filepath.Join(top, "skills", name)) {
							want[m] = 2 // once by each name: see catalog/runtimes/grok.cue
						}
						if name == s.hook && p.Project.Events != nil && len(p.Project.Events.Refuses) == 0 {
							want[m]++ // the hook brings its file in
						}
					}
					for _, m := range agents {
						if want[m] = 1; p.Project.Agents == nil {
							want[m] = 0
						}
					}
					for m, n := range want {
						if seen[m] != n {
							t.Errorf("%s is there %d times, want %d", m, seen[m], n)
						}
					}
					for m := range seen {
						if _, known := want[m]; !known {
							t.Errorf("%s is there unasked", m)
						}
					}
					if p.Project.Commands == nil || s.command == "" {
						return
					}
					argv := p.ask("/" + s.command)
					if p.invoke != nil {
						argv = p.invoke(p, s.command)
					}
					if m := markOf("command", s.command); mostOf(w.question(p, argv))[m] != 1 {
						t.Errorf("%q did not send the text of the command", argv)
					}
				})
			}
			w.inOrder()
			if t.Failed() {
				w.keep()
			}
		})
	}
}

// wellNamed reports whether the skill in a folder has the folder's name, as Agent Skills
// asks for.
func wellNamed(t *testing.T, folder string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^name:\s*["']?` + regexp.QuoteMeta(filepath.Base(folder)) + `["']?\s*$`).Match(text)
}

// description is where the text of a description begins in front matter.
var description = regexp.MustCompile(`(?m)\A---\n(?:.*\n)*?description:[ ]*(?:[|>][+-]?)?\s*["']?`)

// markFiles marks the files below dir that match glob and returns the marks of those
// whose names match one of patterns: skills and subagents in their descriptions, by
// which programs announce them, commands in their text.
func (w *world) markFiles(dir, glob, what string, patterns []string) map[string]string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, glob))
	if err != nil {
		w.t.Fatal(err)
	}
	marked := map[string]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if what == "skill" {
			name = filepath.Base(filepath.Dir(file))
		}
		text, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		m := markOf(what, name)
		at := description.FindIndex(text)
		switch {
		case what == "command":
			text = append(text, "\nKeep to "+m+".\n"...)
		case at == nil:
			w.t.Fatalf("%s has no description", file)
		default:
			text = bytes.Join([][]byte{text[:at[1]], text[at[1]:]}, []byte("Of "+m+", "))
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			w.t.Fatal(err)
		}
		for _, pattern := range patterns {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				marked[name] = m
			}
		}
	}
	return marked
}

// markOf is the mark of a file by its name.
func markOf(what, name string) string {
	return mark(what, strings.NewReplacer("-", "", "_", "").Replace(name))
}
