package realcli

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/fakemodel"
)

// treeEnv names a folder with a project tree that TestTree judges.
const treeEnv = "AISYNC_TEST_TREE"

// treeParts are the parts of a tree that a program is asked about. docs/peers.md
// says which mark or file stands for each.
var treeParts = []string{
	"first rule", "second rule", "scoped rule", "skill", "command", "subagent", "MCP server",
	"hook at start", "hook before shell", "permissions", "hidden file",
}

// What became of a part in a program.
const (
	loaded   = "loaded"    // once, and where a file is its scope, with that file
	twice    = "twice"     // more than once
	missing  = "not"       // not at all
	always   = "always"    // a scoped rule: once, before a file of its scope is read
	late     = "late"      // a rule for all files: once, but only when a file is read
	named    = "named"     // a scoped rule: a text names its file to the model, the program does not load it
	untested = "not tried" // the program has no way to try it without a person
)

// TestTree prints what each program loads of the tree in $AISYNC_TEST_TREE, which
// any tool may have written.
func TestTree(t *testing.T) {
	needPrograms(t)
	dir := os.Getenv(treeEnv)
	if dir == "" {
		t.Skip("make test-tree TREE=DIR runs it")
	}
	w := newTreeWorld(t, everyone())
	w.copyTree(dir)
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s", "")
	cells := map[string]map[string]string{}
	for _, id := range everyone() {
		t.Run(id, func(t *testing.T) { cells[id] = w.with(t).judgeTree(id, treeParts...) })
		fmt.Fprintf(&b, " %-9s", id)
	}
	for _, part := range treeParts {
		fmt.Fprintf(&b, "\n%-18s", part)
		for _, id := range everyone() {
			fmt.Fprintf(&b, " %-9s", cells[id][part])
		}
	}
	fmt.Println(b.String())
}

// newTreeWorld is a home in which each program is set up to ask the fake model and
// trusts the project, which is empty. Of aisync there is nothing in the project.
func newTreeWorld(t *testing.T, set []string) *world {
	t.Helper()
	w := newWorld(t, scope{}, set)
	w.aisync("apply", "--scope", "host", "--yes")
	for _, id := range set {
		w.trusts(id)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.program(w.tools(), "tree-mcp", fmt.Sprintf("exec %q fake-mcp treesrv %s\n", self, mark("tree", "tool")))
	w.program(w.tools(), "tree-hook", "timeout 5 cat >/dev/null\necho >>\""+w.home+"/tree-hook-$1\"\n")
	return w
}

// tools is a folder in PATH with the programs that a tree may name.
func (w *world) tools() string { return filepath.Join(filepath.Dir(w.home), "tools") }

// copyTree copies the tree at dir into the project, adds the files that the questions
// are about, and says yes to what each program asks about it.
func (w *world) copyTree(dir string) {
	w.t.Helper()
	if err := os.RemoveAll(w.project); err != nil {
		w.t.Fatal(err)
	}
	if err := os.CopyFS(w.project, os.DirFS(dir)); err != nil {
		w.t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.project, ".git")); err != nil {
		w.t.Fatal(err)
	}
	w.run(w.project, nil, "git", "init", "-q", "-b", "main")
	w.write(w.project, "src/main.zig", "// "+mark("tree", "open")+"\n")
	w.write(w.project, "hidden.txt", mark("tree", "hidden")+"\n")
	w.program(w.project, "tree-may", "echo "+mark("tree", "may")+"\n")
	w.program(w.project, "tree-not", "echo "+mark("tree", "not")+"\n")
	w.answers()
}

// asked runs a question, whose model uses the tool of c first where there is one,
// and returns what the program sent. A program that fails sent what it sent.
func (w *world) asked(p program, c *fakemodel.Call, argv ...string) []fakemodel.Request {
	w.t.Helper()
	w.call.Store(c)
	defer w.call.Store(nil)
	w.allows(p)
	w.model.Take()
	path := "PATH=" + strings.Join(append([]string{w.tools()}, w.path()...), ":")
	r := w.try(w.project, append(p.environ(w.model.URL), path), argv...)
	times.add(p.Package.ID, r.took)
	if !strings.Contains(r.out, answer) {
		w.t.Logf("%q was not answered, exit code %d:\n%.2000s", argv, r.code, r.out)
	}
	return w.model.Take()
}

// judgeTree asks the program id about parts of what is in the project.
func (w *world) judgeTree(id string, parts ...string) map[string]string {
	w.t.Helper()
	p := lookUp(w.t, id)
	cells := map[string]string{}
	asks := func(some ...string) bool {
		return slices.ContainsFunc(some, func(part string) bool { return slices.Contains(parts, part) })
	}
	count := func(part string, n int) {
		cells[part] = []string{missing, loaded, twice}[min(n, 2)]
	}
	held := func(part string, right bool) {
		cells[part] = map[bool]string{true: loaded, false: missing}[right]
	}
	m := func(what string) string { return mark("tree", what) }
	use := func(p program, c fakemodel.Call) map[string]int {
		return mostOf(w.asked(p, &c, p.ask("Use a tool.")...))
	}

	w.ran("tree", "start")
	first := w.asked(p, nil, p.ask("Say a word.")...)
	count("hook at start", w.ran("tree", "start"))
	seen := mostOf(first)
	for part, what := range map[string]string{"first rule": "root", "second rule": "always", "skill": "skill", "subagent": "agent"} {
		count(part, seen[m(what)])
	}
	tools := first
	if p.find != nil {
		c := p.find("treesrv")
		tools = append(tools, w.asked(p, &c, p.ask("Use a tool.")...)...)
	}
	count("MCP server", offered(tools, m("tool")))
	w.t.Logf("saw %v", seen)

	open := false
	if asks("scoped rule", "second rule", "hidden file") {
		read := p.read
		switch id { // which read with tools that other tests do not use
		case "pi":
			read = call("read", "path")
		case "codex":
			read = func(file string) fakemodel.Call { return p.shell("cat " + file) }
		}
		c := read(filepath.Join(w.project, "src/main.zig"))
		reading := w.asked(p, &c, p.ask("Use a tool.")...)
		open = mostOf(reading)[m("open")] > 0
		cells["scoped rule"] = w.scopedIn(reading)
		if cells["second rule"] == missing && mostOf(reading)[m("always")] == 1 {
			cells["second rule"] = late
		}
	}
	if cells["hidden file"] = untested; asks("hidden file") && p.read != nil {
		hidden := use(p, p.read(filepath.Join(w.project, "hidden.txt")))[m("hidden")] > 0
		w.t.Logf("read src/main.zig: %v; hidden.txt: %v", open, hidden)
		held("hidden file", open && !hidden)
	}
	if asks("permissions") {
		p := p
		p.flags = slices.DeleteFunc(slices.Clone(p.flags), func(f string) bool { return slices.Contains(bypasses, f) })
		ran := func(what string) bool { return use(p, p.shell("./tree-"+what+" now"))[m(what)] > 0 }
		w.ran("tree", "shell")
		may := ran("may")
		count("hook before shell", w.ran("tree", "shell"))
		if !may {
			may = ran("may") // on a busy machine a program now and then gives up
		}
		not := ran("not")
		w.t.Logf("what is allowed ran: %v; what is denied ran: %v", may, not)
		held("permissions", may && !not)
	}
	// Some offer no shell that they would have to ask about.
	if asks("hook before shell") && cells["hook before shell"] != loaded {
		w.ran("tree", "shell")
		use(p, p.shell("./tree-may now"))
		count("hook before shell", w.ran("tree", "shell"))
	}
	if cells["command"] = untested; asks("command") && id != "codex" { // which takes commands from a person who types alone
		argv := p.ask("/tree-fix")
		if p.invoke != nil {
			argv = p.invoke(p, "tree-fix")
		}
		count("command", mostOf(w.asked(p, nil, argv...))[m("command")])
	}
	maps.DeleteFunc(cells, func(part, _ string) bool { return !slices.Contains(parts, part) })
	w.keep()
	return cells
}

// offered is under how many names a tool with the mark is offered to the model.
func offered(requests []fakemodel.Request, m string) int {
	names := map[string]bool{}
	for _, q := range requests {
		for _, tool := range q.Tools {
			if strings.Contains(tool, m) {
				names[tool] = true
			}
		}
	}
	if len(names) == 0 { // some send a text of what there is, and the tool when the model asks for it
		return min(1, mostOf(requests)[m])
	}
	return len(names)
}

// scopedIn says what became of the scoped rule in the requests of a session that
// read a file of its scope.
func (w *world) scopedIn(requests []fakemodel.Request) string {
	w.t.Helper()
	m := mark("tree", "scoped")
	before, all, unread := 0, mostOf(requests)[m], ""
	for _, q := range requests {
		if q.Turn == 0 { // some ask for a title too, before or beside it
			before = max(before, marks(string(q.Body))[m])
			unread += string(q.Body)
		}
	}
	switch {
	case all > 1:
		return twice
	case before == 1:
		return always
	case all == 1:
		return loaded
	}
	cell := missing
	if err := filepath.WalkDir(w.project, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		if rel, _ := filepath.Rel(w.project, name); err == nil && marks(string(b))[m] > 0 && strings.Contains(unread, filepath.ToSlash(rel)) {
			cell = named
		}
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return cell
}
