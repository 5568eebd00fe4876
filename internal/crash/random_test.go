package crash_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/internal/proof"
	"aisync.dev/aisync/providers/dir"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/providers/providertest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// target is a place that specs of a random machine ask something of.
type target struct {
	address reconcile.Address
	format  string
	theirs  []string            // what a person may have there
	keys    []reconcile.LeafKey // that a spec may ask for
	own     reconcile.Ownership
	body    func(key reconcile.LeafKey, v int) reconcile.Body
	edit    func(r *rand.Rand, doc string) string // what a person, or another program, does to it
}

func value(key reconcile.LeafKey, v int) reconcile.Body {
	if _, member, of := strings.Cut(string(key), "#"); of {
		return file.Value(merge.Value(member))
	}
	return file.Value(merge.Value([]string{`"one"`, `{"command": "two", "args": ["x", "y"]}`, `[1, 2.50, {"a": null}]`, `true`}[v]))
}

func added(text string) func(*rand.Rand, string) string {
	return func(r *rand.Rand, doc string) string { return doc + fmt.Sprintf(text, 100+r.IntN(900)) }
}

func addedKey(format merge.Format) func(*rand.Rand, string) string {
	return func(r *rand.Rand, doc string) string {
		key := fmt.Sprintf("/mine_%d", 100+r.IntN(900))
		res, err := merge.Edit(format, []byte(doc), []merge.Op{{Key: key, Value: merge.Value(`[ 1 ]`)}}, nil)
		if err != nil {
			return doc
		}
		return string(res.Doc)
	}
}

// Everything of a person has mine_ and a number in it.
var targets = []target{
	{address: "file:~/a/settings.json", format: "json", own: reconcile.Member, body: value, edit: addedKey(merge.JSONC),
		theirs: []string{"", `{"mine_1":   [1,   2]}`, "{\n  \"mine_1\" : {\"a\":  true},\n  \"permissions\": {\"allow\": [\"mine_2\"]}\n}\n", "{\n  // mine_3 why\n  \"mine_1\": 1, // mine_4\n}\n", "{\r\n\t\"mine_5\": \"x\"\r\n}"},
		keys:   []reconcile.LeafKey{"/mcp/a", "/mcp/b", "/model", `/permissions/allow#"Bash(make)"`, `/permissions/deny#"Bash(rm)"`, "/deep/er/still"}},
	{address: "file:~/a/config.toml", format: "toml", own: reconcile.Member, body: plain, edit: added("\n[mine_%d]\nx = 1\n"),
		theirs: []string{"", "# mine_1\nmine_2   = 1 # mine_3\n\n[other]\nmine_4 = [ 1,2 ]\n", "[mcp]\nmine_5 = \"x\"\n"},
		keys:   []reconcile.LeafKey{"/mcp/a", "/mcp/b", "/model", "/outer/inner"}},
	{address: "file:~/a/config.yaml", format: "yaml", own: reconcile.Member, body: plain, edit: added("mine_%d: 1\n"),
		theirs: []string{"", "# mine_1\nmine_2:   1 # mine_3\nlist:\n  - mine_4\n", "mcp:\n  mine_5: x\n"},
		keys:   []reconcile.LeafKey{"/mcp/a", "/mcp/b", "/model", "/outer/inner"}},
	{address: "file:~/.gitignore", format: "text", own: reconcile.Member, edit: added("*.mine_%d\n"),
		theirs: []string{"", "*.mine_1\r\n# mine_2\r\n", "*.mine_1"},
		keys:   []reconcile.LeafKey{"line:/.cache/", "line:*.elc", "line:__pycache__/"},
		body:   func(reconcile.LeafKey, int) reconcile.Body { return file.Line("# --- ours ---") }},
	{address: "file:~/AGENTS.md", format: "text", own: reconcile.Member, edit: added("\nmine_%d\n"),
		theirs: []string{"", "# mine_1\n\nmine_2 text", "mine_3\n"},
		keys:   []reconcile.LeafKey{"block:rules", "block:agents"},
		body: func(key reconcile.LeafKey, v int) reconcile.Body {
			return file.Block(merge.Markdown, fmt.Sprintf("## %s\n\ntext %d", key, v))
		}},
	{address: "file:~/deep/er/whole.md", keys: []reconcile.LeafKey{""}, theirs: []string{"", "", "mine_1\n"}, body: whole},
	{address: "file:~/deep/er/other.md", keys: []reconcile.LeafKey{""}, theirs: []string{""}, body: whole},
	{address: "file:~/seed.md", own: reconcile.SeedOnly, keys: []reconcile.LeafKey{reconcile.Seed}, theirs: []string{"", "mine_1\n"},
		body: func(reconcile.LeafKey, int) reconcile.Body { return file.Whole([]byte("begin here\n"), 0o644) }},
	{address: "link:~/links/one", keys: []reconcile.LeafKey{""}, theirs: []string{""}, body: func(_ reconcile.LeafKey, v int) reconcile.Body { return link.To(fmt.Sprintf("../deep/%d", v)) }},
	{address: "dir:~/deep/folder", keys: []reconcile.LeafKey{""}, theirs: []string{""}, body: func(reconcile.LeafKey, int) reconcile.Body { return dir.Folder() }},
}

func plain(_ reconcile.LeafKey, v int) reconcile.Body {
	return file.Value(merge.Value([]string{`"one"`, `2`, `["x", "y"]`, `true`}[v]))
}

func whole(_ reconcile.LeafKey, v int) reconcile.Body {
	return file.Whole([]byte(fmt.Sprintf("text %d\n", v)), []os.FileMode{0o644, 0o755}[v%2])
}

// wants is a spec: the value of each leaf that it asks for.
type wants map[reconcile.Address]map[reconcile.LeafKey]int

// moved is w after a change of about one in n entries.
func (w wants) moved(r *rand.Rand, oneIn int) wants {
	out := wants{}
	for _, t := range targets {
		out[t.address] = map[reconcile.LeafKey]int{}
		for _, key := range t.keys {
			v, asked := w[t.address][key]
			if r.IntN(oneIn) == 0 {
				v, asked = r.IntN(4), r.IntN(2) == 0
			}
			if asked {
				out[t.address][key] = v
			}
		}
	}
	return out
}

// declarations are w as several places of a spec would say it: the targets in
// some order, the leaves of each in the one of their author.
func (w wants) declarations(r *rand.Rand) []reconcile.Declaration {
	var groups [][]reconcile.Declaration
	for _, t := range targets {
		var group []reconcile.Declaration
		for _, key := range slices.Sorted(maps.Keys(w[t.address])) {
			d := reconcile.Declaration{Target: t.address, Owner: reconcile.HostOwner, Format: t.format}
			d.Leaves = []reconcile.Leaf{{Key: key, Own: t.own, Body: t.body(key, w[t.address][key])}}
			group = append(group, d)
			if r.IntN(3) == 0 {
				group = append(group, d) // two places may ask for the same
			}
		}
		groups = append(groups, group)
	}
	r.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	return slices.Concat(groups...)
}

// machine is a home on which wants are made true.
type machine struct {
	*testing.T
	root    string
	applies int
}

func newMachine(t *testing.T) *machine {
	root, err := os.MkdirTemp("/dev/shm", "aisync-random-")
	if err != nil {
		root = t.TempDir()
	}
	m := &machine{T: t, root: root}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	m.must(os.MkdirAll(filepath.Join(root, "home/me"), 0o755))
	return m
}

func (m *machine) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *machine) path(a reconcile.Address) string {
	return filepath.Join(m.root, string(a.Path("/home/me")))
}

func (m *machine) look() crash.Tree {
	t, err := crash.Look(m.root, func(rel string) bool { return strings.HasPrefix(rel, "home/me/.local") })
	m.must(err)
	return t
}

// apply makes w true, and returns how often it wrote.
func (m *machine) apply(r *rand.Rand, w wants, parallel int) int64 {
	m.Helper()
	return m.command(parallel, func(e *reconcile.Engine, env reconcile.WriteEnv, s *reconcile.Store) (*reconcile.Plan, string, error) {
		p, err := e.Plan(m.Context(), env.ReadEnv, s, reconcile.Input{
			Owners: []reconcile.Owner{reconcile.HostOwner}, Declarations: w.declarations(r), Choice: reconcile.Choice{Force: true},
		})
		return p, "", err
	})
}

func (m *machine) rollback() {
	m.Helper()
	m.command(8, func(e *reconcile.Engine, env reconcile.WriteEnv, s *reconcile.Store) (*reconcile.Plan, string, error) {
		p, entry, err := e.RollbackPlan(m.Context(), env.ReadEnv, s, "", reconcile.Choice{})
		return p, entry.ID, err
	})
}

func (m *machine) command(parallel int, plan func(*reconcile.Engine, reconcile.WriteEnv, *reconcile.Store) (*reconcile.Plan, string, error)) int64 {
	m.Helper()
	m.applies++
	id := fmt.Sprintf("apply%04d", m.applies)
	hook, ops := fsys.CountOps()
	disk, err := fsys.New(fsys.Options{Root: m.root, Home: "/home/me", Tag: id, Hook: hook})
	m.must(err)
	store, err := reconcile.OpenStore(disk, "/home/me/.local/state/aisync")
	m.must(err)
	e := &reconcile.Engine{Providers: []reconcile.Provider{file.Provider{}, link.Provider{}, dir.Provider{}}, Parallel: parallel}
	read := reconcile.ReadEnv{FS: disk, Home: "/home/me", Contents: store.Contents, Backup: store.Backup, Clock: time.Now}
	env := reconcile.WriteEnv{ReadEnv: read, FS: disk}
	p, of, err := plan(e, env, store)
	m.must(err)
	if len(p.Conflicts) > 0 {
		m.Fatalf("%+v", p.Conflicts)
	}
	res, err := e.Apply(m.Context(), env, store, p, reconcile.ApplyOptions{ID: id, Command: "test", RollbackOf: of})
	if err == nil && len(res.Failed) > 0 {
		err = res.Failed[0].Err
	}
	m.must(err)
	return ops.Load()
}

var theirs = regexp.MustCompile(`mine_\d+[^,\r\n\]}]*`)

// mine is what a person has in a tree, in its order, by file.
func mine(t crash.Tree) map[string]string {
	out := map[string]string{}
	for rel, n := range t {
		if n.Mode.IsRegular() {
			var all []string
			for _, text := range theirs.FindAllString(n.Bytes, -1) {
				all = append(all, strings.TrimRight(text, " "))
			}
			if len(all) > 0 {
				out[rel] = strings.Join(all, "\n")
			}
		}
	}
	return out
}

// Whatever people have, and whatever specs ask for, one after the other: what
// is asked for becomes true, once is enough, the order of targets counts for
// nothing, what is not ours keeps its bytes, and a rollback gives
// back all of them.
func TestAnySpecOnAnyMachineKeepsThePromises(t *testing.T) {
	done := proof.Start(t, 2)
	r := providertest.Random(t)
	rounds := providertest.Rounds(25)
	for i := range rounds {
		round(t, r)
		if t.Failed() {
			t.Fatalf("in round %d", i+1)
		}
	}
	done("specs", 2*rounds, "machines", 2*rounds)
}

func round(t *testing.T, r *rand.Rand) {
	m, other := newMachine(t), newMachine(t)
	for _, x := range targets {
		if doc := x.theirs[r.IntN(len(x.theirs))]; doc != "" {
			for _, path := range []string{m.path(x.address), other.path(x.address)} {
				m.must(os.MkdirAll(filepath.Dir(path), 0o755))
				m.must(os.WriteFile(path, []byte(doc), 0o640))
			}
		}
	}
	same := func(what string, is, want crash.Tree) {
		t.Helper()
		if d := is.Diff(want); d != "" {
			t.Errorf("%s:\n%s", what, d)
		}
	}
	whole := strings.TrimPrefix(strings.TrimPrefix(m.path("file:~/deep/er/whole.md"), m.root), "/")
	kept := func(what string, is, was crash.Tree) {
		t.Helper()
		have := mine(is)
		for rel, text := range mine(was) {
			if have[rel] != text && rel != whole { // which a spec may replace, and a rollback gives back
				t.Errorf("%s: of theirs, %s holds\n%s\nwas\n%s\n%s", what, rel, have[rel], text, is[rel].Bytes)
			}
		}
	}
	bare := m.look()
	first := wants{}.moved(r, 2)
	m.apply(r, first, 8)
	made := m.look()
	kept("the first apply", made, bare)
	if n := m.apply(r, first, 8); n != 0 {
		t.Errorf("the second apply wrote %d times", n)
	}
	other.apply(r, first, 1)
	same("in another order", other.look(), made)

	edited := false
	for _, x := range targets {
		doc, err := os.ReadFile(m.path(x.address))
		if x.edit != nil && err == nil && r.IntN(3) == 0 {
			edited = true
			m.must(os.WriteFile(m.path(x.address), []byte(x.edit(r, string(doc))), 0o640))
		}
	}
	before := m.look()
	second := first.moved(r, 3)
	m.apply(r, second, 1+r.IntN(8))
	after := m.look()
	kept("the spec moved", after, before)
	if n := m.apply(r, second, 8); n != 0 {
		t.Errorf("once the spec moved, the second apply wrote %d times", n)
	}
	if after.Diff(before) != "" {
		m.rollback()
		same("rollback", m.look(), before)
		m.apply(r, second, 8)
		same("after the rollback", m.look(), after)
	}
	m.apply(r, wants{}, 8)
	gone := m.look()
	kept("nothing is wanted any more", gone, before)
	if n := m.apply(r, wants{}, 8); n != 0 {
		t.Errorf("once nothing is wanted, the second apply wrote %d times", n)
	}
	if !edited {
		same("nothing is wanted any more", gone, bare)
	}
	if t.Failed() {
		t.Logf("first %v\nsecond %v", first, second)
		t.Log(strings.Join(slices.Sorted(func(yield func(string) bool) {
			for rel, n := range bare {
				if !yield(rel + " " + n.Bytes) {
					return
				}
			}
		}), "\n"))
	}
}
