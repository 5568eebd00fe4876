package realcli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/plugin"
	"aisync.dev/aisync/schema/spec"
)

// format is a form in which others publish. testdata/published holds a source in
// it with one of each part that the form has, below the address that says so.
type format struct {
	id, name string
	add      []string // what a person types to have it, with {at} for its folder
}

var formats = []format{
	{"skills", "Agent Skills", []string{"skill", "{at}", "skills-look"}},
	{"claude", "Claude Code's plugin", []string{"plugin", "claude@{at}"}},
	{"market", "Claude Code's marketplace", []string{"plugin", "market@{at}"}},
	{"codex", "Codex's plugin", []string{"plugin", "codex@{at}"}},
	{"cursor", "Cursor's plugin", []string{"plugin", "cursor@{at}"}},
	{"gemini", "Gemini CLI's extension", []string{"plugin", "gemini@{at}"}},
	{"open", "Agent Plugins, in Copilot's marketplace", []string{"plugin", "open@{at}"}},
	{"copilot", "Copilot's prompts, agents and instructions", []string{"bundle", "copilot//.", "--source", "{at}"}},
}

// typed is the command line that adds the source at a folder.
func (f format) typed(s scope, at string) (args []string) {
	for _, a := range f.add {
		if s.host {
			a = strings.TrimSuffix(a, "//.") // a host has all parts of a source
		}
		args = append(args, strings.ReplaceAll(a, "{at}", at))
	}
	return args
}

// publish writes the source of f into the folder at.
func (f format) publish(t *testing.T, at string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile(filepath.Join("testdata/published", f.id+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	fill := []string{"{id}", f.id, "{self}", self}
	for _, what := range []string{"skill", "body", "command", "agent", "tool", "rule", "style", "other"} {
		fill = append(fill, "{"+what+"}", mark(f.id, what))
	}
	for _, file := range archive.Files {
		name := filepath.Join(at, strings.ReplaceAll(file.Name, "{id}", f.id))
		text := strings.NewReplacer(fill...).Replace(string(file.Data))
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// publishedParts are what plugins and the like hold, in the words of their publishers.
var publishedParts = []string{"skills", "commands", "subagents", "hooks", "MCP servers", "rules", "output styles"}

// partAt is the part that a file of a source is about; "" for a file that only
// serves others.
func partAt(rel string) string {
	if _, below, ok := strings.Cut(rel, "plugins/"); ok {
		_, rel, _ = strings.Cut(below, "/")
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(rel, plugin.CopilotFolder+"/"), "/")
	return map[string]string{
		"skills": "skills", "commands": "commands", "prompts": "commands", "agents": "subagents", "hooks": "hooks",
		".mcp.json": "MCP servers", "mcp.json": "MCP servers", "gemini-extension.json": "MCP servers",
		"rules": "rules", "instructions": "rules", "GEMINI.md": "rules", "output-styles": "output styles",
	}[first]
}

// reading is what aisync makes of a source.
type reading struct {
	has   map[string]bool   // parts that the source has
	takes map[string]bool   // parts that aisync takes of it
	left  map[string]string // parts that it leaves out, and why
}

// read is what aisync takes of the source of f.
func (f format) read(t *testing.T) reading {
	t.Helper()
	dir := t.TempDir()
	f.publish(t, dir)
	r := reading{map[string]bool{}, map[string]bool{}, map[string]string{}}
	if err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		if part := partAt(filepath.ToSlash(rel)); err == nil && !e.IsDir() && part != "" {
			r.has[part] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "plugins", f.id) // in a marketplace
	if _, err := os.Stat(at); err != nil {
		at = dir
	}
	tree, err := new(bundle.Sources).Open(context.Background(), spec.Source{Name: f.id, URL: at})
	if err != nil {
		t.Fatal(err)
	}
	top, err := tree.Top()
	if err != nil {
		t.Fatal(err)
	}
	core, err := tree.Core()
	if err != nil {
		t.Fatal(err)
	}
	n := top.Neutral
	for part, found := range map[string]int{
		"skills": len(n.Skills), "commands": len(n.Commands), "subagents": len(n.Agents), "hooks": len(n.Hooks), "MCP servers": len(n.Servers), "rules": len(core.Rules),
	} {
		r.takes[part] = found > 0
	}
	for _, p := range slices.Concat(top.Problems, core.Problems) {
		rel, err := filepath.Rel(at, p.Path)
		if err != nil {
			t.Fatal(err)
		}
		r.left[partAt(filepath.ToSlash(rel))] = "`" + filepath.ToSlash(rel) + "` " + p.Text
	}
	return r
}

// What aisync does not take of a source, it says: no part is silently absent.
func TestPublishedPartsAreTakenOrNamed(t *testing.T) {
	for _, f := range formats {
		r := f.read(t)
		for part := range r.has {
			if !r.takes[part] && r.left[part] == "" {
				t.Errorf("%s: aisync leaves the %s out and says nothing about them", f.name, part)
			}
		}
	}
}

// seenPublished are the parts that programs were seen to load, by format and part.
type seenPublished map[string]map[string][]string

func (s seenPublished) add(f format, part, id string) {
	if s[f.id] == nil {
		s[f.id] = map[string][]string{}
	}
	s[f.id][part] = append(s[f.id][part], id)
	slices.Sort(s[f.id][part])
}

const publishedFile = "testdata/published.json"

// compare wants the committed file to say what was seen, no more and no less; with
// -update it writes it.
func (s seenPublished) compare(t *testing.T) {
	t.Helper()
	want, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(publishedFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(publishedFile); err != nil || string(got) != string(want) {
		t.Errorf("%s is not what was seen (error %v); -update writes it:\n%s", publishedFile, err, want)
	}
}
