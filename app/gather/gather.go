// Package gather reads what agent programs, rulesync and ruler already hold in
// a folder, and says which bundle and which MCP servers it comes to. It takes
// every byte over as it stands where the form allows that, says of each file
// what became of it, and writes nothing. Start reading at From.
package gather

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// Origin is whose files are read.
type Origin string

// Origins is all of them, in the order in which they are looked for.
var Origins = []Origin{"rulesync", "ruler", "claude", "cursor", "copilot", "agents"}

// Options say what is read and where it goes.
type Options struct {
	From []Origin // none: what is there, see From
	Home bool     // the folder is a person's home: user scope
	Name string   // of the bundle; of no use for a home, whose bundle is the source's core
}

// Result is what was found.
type Result struct {
	From     []Origin // that were read
	Files    []File   // of the bundle source, sorted by path
	Servers  []Server // sorted by name
	Runtimes []string // whose files they are, sorted
	Taken    []Taken  // what came from where
	Kept     []Kept   // what stays as it is
}

// File is one file of the bundle source.
type File struct {
	Path string // slash-separated, within the source
	Text []byte
	Mode fs.FileMode // 0644, or 0755 for a program
}

// Server is an MCP server and the file that it stands in.
type Server struct {
	spec.MCPServer
	From string
}

// Taken is one thing that was taken over.
type Taken struct {
	What string `json:"what"` // rule, skill, command, agent, hooks, settings, …
	From string `json:"from"` // below the folder
	To   string `json:"to"`   // below the bundle source, or "mcp: NAME" for a spec
	Note string `json:"note,omitempty"`
}

// Kept is something that is left alone, and why.
type Kept struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// From reads dir. With no origin named it reads the sources of rulesync and
// ruler where there are any, because they write the files of the programs, and
// else what each program has. A link is followed as long as it stays in dir.
func From(dir string, o Options) (*Result, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	g := &gatherer{root: root, Options: o, out: &Result{}, files: map[string]File{}}
	if g.From == nil {
		g.From = g.present()
	}
	for _, origin := range g.From {
		g.out.From = append(g.out.From, origin)
		switch origin {
		case "rulesync":
			g.rulesync()
		case "ruler":
			g.ruler()
		case "claude":
			g.claude()
		case "cursor":
			g.cursor()
		case "copilot":
			g.copilot()
		case "agents":
			g.agents()
		default:
			return nil, fmt.Errorf("nothing is known of %q", origin)
		}
	}
	g.settle()
	g.leftOut()
	return g.out, g.err
}

// gatherer is one From.
type gatherer struct {
	Options
	root    *os.Root
	bits    fsys.Bits
	out     *Result
	files   map[string]File // of the bundle, by path
	texts   []text          // rules, commands and agents, before it is decided what is one
	skills  []skill
	ignores []string // lines
	err     error    // of the file system, the first
}

// places are what shows that an origin has anything here.
var places = map[Origin][]string{
	"rulesync": {".rulesync"},
	"ruler":    {".ruler"},
	"claude":   {"CLAUDE.md", ".claude", ".mcp.json"},
	"cursor":   {".cursorrules", ".cursor", ".cursorignore"},
	"copilot":  {".github/copilot-instructions.md", ".github/instructions", ".github/prompts", ".github/agents", ".github/skills", ".github/mcp.json", ".github/hooks", ".vscode/mcp.json"},
	"agents":   {"AGENTS.md", "GEMINI.md", "QWEN.md", ".agents", ".codex", ".gemini", ".qwen", ".opencode", "opencode.json", "opencode.jsonc"},
}

// homePlaces is places in user scope.
var homePlaces = map[Origin][]string{
	"rulesync": {".rulesync"},
	"ruler":    {".config/ruler"},
	"claude":   {".claude", ".claude.json"},
	"cursor":   {".cursor"},
	"copilot":  {".copilot"},
	"agents":   {".agents", ".codex", ".gemini", ".qwen", ".config/opencode"},
}

func (g *gatherer) has(o Origin) bool {
	in := places
	if g.Home {
		in = homePlaces
	}
	return slices.ContainsFunc(in[o], func(p string) bool { _, err := g.root.Lstat(p); return err == nil })
}

func (g *gatherer) present() []Origin {
	for _, source := range Origins[:2] {
		if g.has(source) {
			return []Origin{source}
		}
	}
	return slices.DeleteFunc(slices.Clone(Origins), func(o Origin) bool { return !g.has(o) })
}

// leftOut says what of other origins is there and was not asked for.
func (g *gatherer) leftOut() {
	for _, o := range Origins {
		if slices.Contains(g.From, o) || !g.has(o) {
			continue
		}
		why := "of " + string(o) + ", which was not asked for"
		if slices.Contains(g.From, "rulesync") || slices.Contains(g.From, "ruler") {
			why = "taken to be written by " + string(g.From[0]) + ": take it away when this is applied, or it is read twice; if it is your own: aisync import --from " + string(o)
		}
		in := places
		if g.Home {
			in = homePlaces
		}
		for _, p := range in[o] {
			if _, err := g.root.Lstat(p); err == nil {
				g.keep(p, why)
			}
		}
	}
}

// common is where the bundle keeps what is for every runtime, own what is for
// one alone. The core of a source has its rules in a folder of another name.
func (g *gatherer) common(elem ...string) string {
	if !g.Home {
		return path.Join("languages", g.Name, "common", path.Join(elem...))
	}
	if elem[0] == "rules" {
		elem = append([]string{"agent-rules"}, elem[1:]...)
	}
	return path.Join(elem...)
}

func (g *gatherer) own(runtime string, elem ...string) string {
	at := path.Join("runtimes", runtime, path.Join(elem...))
	if g.Home {
		return at
	}
	return path.Join("languages", g.Name, at)
}

func (g *gatherer) runtime(ids ...string) {
	for _, id := range ids {
		if id != "" && !slices.Contains(g.out.Runtimes, id) {
			g.out.Runtimes = append(g.out.Runtimes, id)
		}
	}
}

func (g *gatherer) keep(p, why string) { g.out.Kept = append(g.out.Kept, Kept{p, why}) }

func (g *gatherer) took(what, from, to, note string) {
	g.out.Taken = append(g.out.Taken, Taken{what, from, to, note})
}

// put adds a file to the bundle. It reports false where another of that path is
// there already and differs.
func (g *gatherer) put(to string, content []byte, mode fs.FileMode) bool {
	if had, ok := g.files[to]; ok {
		return string(had.Text) == string(content)
	}
	g.files[to] = File{to, content, mode}
	return true
}

// settle decides what is one and what is several, and sorts.
func (g *gatherer) settle() {
	g.settleTexts()
	g.settleSkills()
	if len(g.ignores) > 0 {
		g.put(g.common("ignore"), []byte(strings.Join(g.ignores, "\n")+"\n"), 0o644)
	}
	for _, f := range g.files {
		g.out.Files = append(g.out.Files, f)
	}
	sort.Slice(g.out.Files, func(i, j int) bool { return g.out.Files[i].Path < g.out.Files[j].Path })
	sort.Slice(g.out.Servers, func(i, j int) bool { return g.out.Servers[i].Name < g.out.Servers[j].Name })
	slices.Sort(g.out.Runtimes)
}
