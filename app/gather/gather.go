// Package gather reads what agent programs, rulesync and ruler already keep in
// a folder, and returns the bundle and the MCP servers that it amounts to. It
// keeps bytes unchanged where the format allows, reports on each file, and
// writes nothing. Call From.
package gather

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// Origin is the owner of the files to read.
type Origin string

// Origins are all origins, in the order of the search.
var Origins = []Origin{"rulesync", "ruler", "claude", "cursor", "copilot", "agents", "windsurf", "cline", "roo", "kiro"}

// Options say what is read and where it goes.
type Options struct {
	From []Origin // none: all present ones, see From
	Home bool     // the folder is a person's home: user scope
	Name string   // of the bundle; unused for a home, whose bundle is the source's core

	Share    bool              // what one program has is for all: translated where it must be
	Runtimes []string          // runtimes that the spec will have beside those that are found
	Aside    map[string]string // files, skills and servers ("mcp: NAME") to leave alone, and why
	// Without are the runtimes that do not get what is taken from a file, because
	// something else lies where aisync would write it.
	Without map[string][]string
	// Ours reports whether aisync's records own a file, or with a pointer the
	// entry of a settings file; nil: nothing.
	Ours func(name, pointer string) bool

	Paths []string // other absolute paths of the folder, as links may spell it

	ClaudeState string // physical path of ~/.claude.json, which names servers of single projects; "" is none
}

// Result is everything found.
type Result struct {
	From     []Origin // origins that were read
	Files    []File   // of the bundle source, sorted by path
	Servers  []Server // sorted by name
	Runtimes []string // runtimes of the files, sorted
	Taken    []Taken  // files taken, and their places
	Kept     []Kept   // files left alone

	// Unclaimed are files and folders that several programs read, none of which
	// is known to be in use here: see Readers.
	Unclaimed []string
}

// File is one file of the bundle source.
type File struct {
	Path string // slash-separated, within the source
	Text []byte
	Mode fs.FileMode // 0644, or 0755 for a program
}

// Server is an MCP server and the file that it comes from.
type Server struct {
	spec.MCPServer
	From string

	limited bool // its source says for which runtimes it is
}

// Taken is one thing that was taken.
type Taken struct {
	What string `json:"what"` // rule, skill, command, agent, hooks, settings, …
	From string `json:"from"` // below the folder
	To   string `json:"to"`   // below the bundle source, or "mcp: NAME" for a spec
	Note string `json:"note,omitempty"`
}

// Kept is something left alone, and why.
type Kept struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// From reads dir. With no origin in o it reads the sources of rulesync and
// ruler if there are any, because these write the programs' files, and
// otherwise the files of each program; those of programs that the catalog does
// not have only if they are asked for. It follows a link that stays in dir and
// leads to entries of the link's owner; others are kept aside by name.
func From(dir string, o Options) (*Result, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	g := &gatherer{root: linkRoot{root, append(o.Paths, dir)}, Options: o, out: &Result{}, files: map[string]File{}, folded: map[string]string{}, raw: map[string]string{}}
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
		case "windsurf", "cline", "roo", "kiro":
			g.foreign(origin)
		default:
			return nil, fmt.Errorf("unknown origin %q", origin)
		}
	}
	g.nested()
	g.settle()
	g.leftOut()
	return g.out, g.err
}

// Present returns the origins that have files in a project's folder.
func Present(dir string) ([]Origin, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return (&gatherer{root: linkRoot{root, []string{dir}}, out: &Result{}}).present(), nil
}

// gatherer is one run of From.
type gatherer struct {
	Options
	root   linkRoot
	bits   fsys.Bits
	out    *Result
	files  map[string]File   // of the bundle, by path
	texts  []text            // rules, commands and agents, before equal ones are merged
	folded map[string]string // the same paths, by their lower case
	skills []skill
	links  []link // to texts and skills that are read where they lie
	lists  []ignoreList
	err    error // the first error of the file system

	serversFound []foundServer
	raw          map[string]string // configuration files as read, by name
	variables    map[string]string // names in the spec, by the values that stay out of it
	leaks        int               // files that hold a secret
}

// places show that an origin has files here.
var places = map[Origin][]string{
	"rulesync": {".rulesync"},
	"ruler":    {".ruler"},
	"claude":   {"CLAUDE.md", ".claude", ".mcp.json"},
	"cursor":   {".cursorrules", ".cursor", ".cursorignore"},
	"copilot":  {".github/copilot-instructions.md", ".github/instructions", ".github/prompts", ".github/agents", ".github/skills", ".github/mcp.json", ".github/hooks", ".vscode/mcp.json"},
	"agents":   {"AGENTS.md", "GEMINI.md", "QWEN.md", ".agents", ".codex", ".gemini", ".qwen", ".opencode", "opencode.json", "opencode.jsonc", ".pi", ".amp", ".goose"},
	"windsurf": {".windsurfrules", ".windsurf"},
	"cline":    {".clinerules"},
	"roo":      {".roorules", ".roo", ".roomodes"},
	"kiro":     {".kiro"},
}

// homePlaces are places in user scope.
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
	return slices.ContainsFunc(in[o], func(p string) bool {
		_, err := g.root.Lstat(p)
		g.fail(err)
		return err == nil
	})
}

func (g *gatherer) present() []Origin {
	for _, source := range Origins[:2] {
		if g.has(source) {
			return []Origin{source}
		}
	}
	return slices.DeleteFunc(slices.Clone(Origins), func(o Origin) bool { return !g.has(o) || foreigners[o] != "" && !g.Share })
}

// leftOut reports other origins with files here.
func (g *gatherer) leftOut() {
	for _, o := range Origins {
		if slices.Contains(g.From, o) || !g.has(o) {
			continue
		}
		why := "of " + string(o) + ", not asked for"
		if name := foreigners[o]; name != "" {
			why = "of " + name + ", which aisync does not write for; to make rules of it: aisync import --from " + string(o)
		} else if slices.Contains(g.From, "rulesync") || slices.Contains(g.From, "ruler") {
			why = "assumed to be written by " + string(g.From[0]) + ", so not imported; aisync plan names what a program would load twice; if you wrote it: aisync import --from " + string(o)
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

// common is the bundle's place for files of every runtime, own for those of
// one. The core of a source keeps its rules in a folder with another name.
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

func (g *gatherer) keep(p, why string) {
	g.out.Kept = append(g.out.Kept, Kept{secret.Mask(p), secret.Mask(why)})
}

func (g *gatherer) took(what, from, to, note string) {
	g.out.Taken = append(g.out.Taken, Taken{what, from, to, secret.Mask(note)})
}

// put adds a file to the bundle. It returns false if the bundle has a different
// file with that path.
func (g *gatherer) put(to string, content []byte, mode fs.FileMode) bool {
	if had, ok := g.files[to]; ok {
		return string(had.Text) == string(content)
	}
	if g.folded[strings.ToLower(to)] != "" {
		return false // a bundle has no two names that only case tells apart
	}
	g.folded[strings.ToLower(to)] = to
	g.files[to] = File{to, content, mode}
	return true
}

// settle merges equal texts and sorts the result.
func (g *gatherer) settle() {
	g.settleServers()
	g.settleTexts()
	g.settleSkills()
	g.settleIgnores()
	g.settleLinks()
	g.settleReaders()
	for _, f := range g.files {
		g.out.Files = append(g.out.Files, f)
	}
	sort.Slice(g.out.Files, func(i, j int) bool { return g.out.Files[i].Path < g.out.Files[j].Path })
	sort.Slice(g.out.Servers, func(i, j int) bool { return g.out.Servers[i].Name < g.out.Servers[j].Name })
	slices.Sort(g.out.Runtimes)
	g.settleRuntimes()
}
