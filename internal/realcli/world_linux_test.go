package realcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/fakemodel"
	"aisync.dev/aisync/schema/spec"
)

// answer is what the model says: a program that prints it was answered.
const answer = "The fake model has spoken."

// scope says which specs ask for anything.
type scope struct {
	name          string
	host, project bool
}

// world is a fresh home and project that nothing of this machine shares, and a
// model server.
type world struct {
	t             *testing.T
	home, project string
	start         string   // where programs are started, below project
	set           []string // runtimes
	scope         scope
	model         *fakemodel.Server
	call          *atomic.Pointer[fakemodel.Call] // what the model answers with first; nil: nothing but words
	cache         Cache
}

func newWorld(t *testing.T, s scope, set []string) *world {
	t.Helper()
	call := new(atomic.Pointer[fakemodel.Call])
	w := newWorldOf(t, s, set, replies(call))
	w.call = call
	return w
}

// newWorldOf is newWorld with a model that answers as reply says.
func newWorldOf(t *testing.T, s scope, set []string, reply func(fakemodel.Request) fakemodel.Reply) *world {
	t.Helper()
	model, err := fakemodel.Start(reply)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	cache, err := DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w := &world{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), set: set, scope: s, model: model, cache: cache}
	t.Cleanup(w.end)
	w.write(w.project, ".keep", "")
	w.run(w.project, nil, "git", "init", "-q", "-b", "main")
	w.specs()
	return w
}

// replies is a model that makes the call once, where there is one, and answers.
func replies(call *atomic.Pointer[fakemodel.Call]) func(fakemodel.Request) fakemodel.Reply {
	return func(q fakemodel.Request) fakemodel.Reply {
		if c := call.Load(); c != nil && q.Turn == 0 && slices.Contains(q.Tools, c.Tool) {
			return fakemodel.Reply{Call: c}
		}
		return fakemodel.Reply{Text: answer}
	}
}

// with is w for a test below its own.
func (w world) with(t *testing.T) *world {
	w.t = t
	return &w
}

// scopes are those whose specs ask for something.
func (w *world) scopes() (out []string) {
	if w.scope.host {
		out = append(out, "host")
	}
	if w.scope.project {
		out = append(out, "project")
	}
	return out
}

// program makes a file that can be run below dir.
func (w *world) program(dir, name, text string) {
	w.t.Helper()
	w.write(dir, name, "#!/bin/sh\n"+text)
	if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// write makes a file of text below dir.
func (w *world) write(dir, name, text string) {
	w.t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// path is where programs are looked for: aisync, the set's, the system's.
func (w *world) path() []string {
	path := []string{filepath.Dir(binary), w.cache.NodeBin()}
	for _, id := range w.set {
		path = append(path, w.cache.Bin(lookUp(w.t, id).Package))
	}
	return append(path, "/usr/local/bin", "/usr/bin", "/bin")
}

// find is the program of that name in path.
func (w *world) find(name string) string {
	w.t.Helper()
	for _, dir := range w.path() {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
	}
	w.t.Fatalf("there is no program %s", name)
	return ""
}

// environ is all that a program gets to know: the agents' own variables would
// leak in, as this test may be run by one.
func (w *world) environ(dir string, more []string) []string {
	return append([]string{
		"HOME=" + w.home, "PWD=" + dir, "PATH=" + strings.Join(w.path(), ":"), "LANG=C.UTF-8", "TERM=xterm-256color", "NO_COLOR=1",
		"GIT_CONFIG_NOSYSTEM=1", "AISYNC_OFFLINE=1",
	}, more...)
}

// result is how one program ended.
type result struct {
	out  string // stdout and stderr
	code int
	took time.Duration
}

// try runs a program in dir.
func (w *world) try(dir string, env []string, argv ...string) result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.find(argv[0]), argv[1:]...)
	cmd.Dir, cmd.Env = dir, w.environ(dir, env)
	cmd.WaitDelay = 5 * time.Second // for children that keep the pipe
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		w.t.Fatalf("%s: %v, %v\n%s", strings.Join(argv, " "), err, ctx.Err(), out.Bytes())
	}
	return result{colours.ReplaceAllString(out.String(), ""), cmd.ProcessState.ExitCode(), time.Since(begin)}
}

// Some colour their output whatever they are told.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// run is try for what has to end well.
func (w *world) run(dir string, env []string, argv ...string) result {
	w.t.Helper()
	r := w.try(dir, env, argv...)
	if r.code != 0 {
		w.t.Fatalf("%s: exit code %d\n%s", strings.Join(argv, " "), r.code, r.out)
	}
	return r
}

// aisync runs the binary that is judged.
func (w *world) aisync(args ...string) result {
	w.t.Helper()
	return w.run(w.project, nil, append([]string{"aisync"}, args...)...)
}

// specs writes a host's spec, a project's, and a source of bundles for each.
func (w *world) specs() {
	var host, project strings.Builder
	fmt.Fprintf(&host, "package aisync\n\nhosts: here: {\n\ttrust: true\n\truntimes: {%s}\n", strings.Join(uses(w.set), ", "))
	fmt.Fprintf(&host, "\tservices: fake: {kind: \"external\", url: %q, model: \"fake\", context: 200000, apis: [\"chat\", \"responses\", \"messages\"]}\n\tendpoint: \"fake\"\n", w.model.URL+"/v1")
	// Gemini CLI takes no local endpoint: how one logs in is the person's to say.
	host.WriteString("\tsettings: gemini: security: auth: selectedType: \"gemini-api-key\"\n")
	if w.scope.host {
		w.bundle(filepath.Join(w.home, "rulesets"), "host")
		fmt.Fprintf(&host, "\tbundles: core: {source: \"~/rulesets\"}\n\tmcp: %s\n", w.mcp("host"))
	}
	if w.experimental() {
		host.WriteString("\texperimental: true\n")
	}
	host.WriteString("}\n")
	w.write(w.home, ".config/aisync/host.cue", host.String())
	if w.scope.project {
		w.bundle(filepath.Join(w.project, "rulesets"), "project")
		fmt.Fprintf(&project, "package aisync\n\nproject: {\n\tname: \"try\"\n\truntimes: [%s]\n", strings.Join(each(w.set, `"%s"`), ", "))
		if w.experimental() {
			project.WriteString("\texperimental: true\n")
		}
		fmt.Fprintf(&project, "\tsources: here: \"./rulesets\"\n\tbundles: [\"here//demo\"]\n\tmcp: %s\n}\n", w.mcp("project"))
		w.write(w.project, "aisync.cue", project.String())
	}
}

// experimental reports whether a spec must say that a program was never run.
func (w *world) experimental() bool {
	return slices.ContainsFunc(w.set, func(id string) bool { return lookUp(w.t, id).Experimental })
}

// mcp is a server that this test's own binary is.
func (w *world) mcp(scope string) string {
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	name := scope + "srv"
	return fmt.Sprintf("%s: {command: %q, args: [\"fake-mcp\", %q, %q]}", name, self, name, mark(scope, "tool"))
}

// bundle is a source with one of everything, each with a distinct mark. What
// a project takes is its language demo, what a host takes lies at the top.
func (w *world) bundle(dir, scope string) {
	m := func(what string) string { return mark(scope, what) }
	top := dir
	if scope == "project" {
		top = filepath.Join(dir, "languages/demo")
	}
	w.write(dir, "agent-rules/"+scope+"-always.md", "# Always\n\nKeep to "+m("rule")+".\n")
	w.write(dir, "agent-rules/"+scope+"-zig.md", "---\npaths: [\"**/*.zig\"]\n---\n# Zig\n\nKeep to "+m("zig")+".\n")
	w.write(top, "skills/"+scope+"-look/SKILL.md", "---\nname: "+scope+"-look\ndescription: Use it for "+m("skill")+".\n---\n\n# Look\n\nDo "+m("body")+".\n")
	w.write(top, "commands/"+scope+"-fix.md", "---\ndescription: Mends "+m("command")+".\n---\n\nMend "+m("fix")+".\n")
	w.write(top, "agents/"+scope+"-judge.md", "---\nname: "+scope+"-judge\ndescription: Judges "+m("agent")+".\n---\n\nJudge "+m("verdict")+".\n")
	w.write(top, "hooks/hooks.json", `{"hooks":[
		{"event":"SessionStart","command":"`+scope+`-hook.sh start","level":"advisory"},
		{"event":"PreToolUse","tools":["shell"],"command":"`+scope+`-hook.sh shell","timeout":20,"level":"required"}]}`)
	w.program(top, "hooks/"+scope+"-hook.sh", "cat >/dev/null\necho >>\"$HOME/"+scope+"-hook-$1\"\n")
	w.write(top, "permissions.json", `{"allow":["shell(./`+scope+`-may *)"],"deny":["shell(./`+scope+`-not *)"]}`)
	for _, id := range everyone() {
		w.write(top, "runtimes/"+id+"/rules/"+scope+"-only-"+id+".md", "# Only\n\nKeep to "+m("only"+id)+".\n")
		w.write(top, "runtimes/"+id+"/instructions.md", "Keep to "+m("text"+id)+".\n")
	}
	if scope == "host" {
		return
	}
	w.write(top, "ignore", "hidden.txt\n")
	w.write(top, "rules/demo.md", "# Demo\n\nKeep to "+m("demo")+".\n")
}

// mark is a word that nothing else has, and that is no part of another.
func mark(scope, what string) string { return "zq" + scope + strings.ReplaceAll(what, "-", "") + "qz" }

func each(list []string, format string) (out []string) {
	for _, s := range list {
		out = append(out, fmt.Sprintf(format, s))
	}
	return out
}

// uses are the runtimes of a host, each pointed at its endpoint where it takes one.
func uses(set []string) (out []string) {
	for _, id := range set {
		use := `"` + id + `": {}`
		if rt, ok := catalog.With(spec.Catalog{}).Runtime(id); ok && len(rt.User.Endpoint)+len(rt.Launch.Endpoint) > 0 {
			use = `"` + id + `": {endpoint: true}`
		}
		out = append(out, use)
	}
	return out
}

// question asks one program, and returns what it sent to its model.
func (w *world) question(p program, argv []string) []fakemodel.Request {
	w.t.Helper()
	env := p.environ(w.model.URL)
	if !w.scope.project {
		env = append(env, p.any...) // trust goes with a project's spec
	}
	if w.scope.project && p.say != nil {
		w.run(w.project, env, p.say...)
	}
	w.allows(p)
	w.model.Take()
	r := w.run(filepath.Join(w.project, w.start), env, argv...)
	times.add(p.Package.ID, r.took)
	if !strings.Contains(r.out, answer) {
		w.t.Errorf("%s was not answered:\n%s", p.Package.ID, r.out)
	}
	return w.model.Take()
}

// mostOf is how often each mark was in a request: the most of all of them, as
// some programs send several.
func mostOf(requests []fakemodel.Request) map[string]int {
	seen := map[string]int{}
	for _, q := range requests {
		for m, n := range marks(string(q.Body)) {
			seen[m] = max(seen[m], n)
		}
	}
	return seen
}

// ran is how often a hook of a scope ran since the last call.
func (w *world) ran(scope, hook string) int {
	name := filepath.Join(w.home, scope+"-hook-"+hook)
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.Remove(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return len(b) // it writes one byte
}

// marks counts the marks in a text.
func marks(s string) map[string]int {
	out := map[string]int{}
	for {
		_, rest, found := strings.Cut(s, "zq")
		if !found {
			return out
		}
		if end := strings.Index(rest, "qz"); end > 0 && end < 60 && !strings.ContainsFunc(rest[:end], func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
			out["zq"+rest[:end]+"qz"]++
		}
		s = rest
	}
}
