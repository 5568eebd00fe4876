package realcli

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/catalog"
)

// Variables of a run that compares: peersEnv asks for it, uninstalled says why npm
// could not install what it needs.
const (
	peersEnv    = "AISYNC_TEST_PEERS"
	uninstalled = "AISYNC_TEST_UNINSTALLED"
)

// generator is a tool that writes files for several programs from one source,
// which testdata/peers holds in its form.
type generator struct {
	Package
	targets map[string]string             // its names of the programs under test
	claims  map[string][]string           // by the part, the programs that its documentation names
	run     func(names []string) []string // its command line for some programs
}

// comparedIDs are the programs of the comparison: those that both peers and aisync
// had when it was made.
var comparedIDs = []string{"claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen"}

func comparedAgents() []Package {
	return slices.DeleteFunc(slices.Clone(Agents), func(p Package) bool { return !slices.Contains(comparedIDs, p.ID) })
}

// generators are what is compared. The claims of a peer are those of the README in
// its package; what its run says that it leaves out is no claim.
var generators = []generator{
	{
		Package: Package{ID: "aisync", Command: "aisync"},
		targets: map[string]string{"claude": "claude", "codex": "codex", "copilot": "copilot", "gemini": "gemini", "opencode": "opencode", "pi": "pi", "qwen": "qwen"},
		claims:  aisyncClaims(),
		run:     func([]string) []string { return []string{"apply", "--scope", "project", "--yes", "--trust"} },
	},
	{
		Package: Peers[0],
		targets: map[string]string{"claude": "claudecode", "codex": "codexcli", "copilot": "copilotcli", "opencode": "opencode", "pi": "pi", "qwen": "qwencode"},
		claims: map[string][]string{
			"first rule": {"claude", "codex", "copilot", "opencode", "pi", "qwen"}, "second rule": {"claude", "codex", "copilot", "opencode", "pi", "qwen"},
			"scoped rule": {"claude", "codex", "copilot", "opencode", "pi", "qwen"}, "skill": {"claude", "codex", "copilot", "opencode", "pi", "qwen"},
			"command": {"claude", "opencode", "pi", "qwen"}, "subagent": {"claude", "codex", "copilot", "opencode", "qwen"},
			"MCP server": {"claude", "codex", "copilot", "opencode", "qwen"}, "hook at start": {"claude", "codex", "copilot", "opencode", "pi", "qwen"},
			"hook before shell": {"claude", "codex", "copilot", "opencode", "pi", "qwen"}, "permissions": {"claude", "codex", "opencode", "qwen"},
			"hidden file": {"claude", "opencode", "qwen"},
		},
		run: func(names []string) []string {
			return []string{"generate", "--targets", strings.Join(names, ",")}
		},
	},
	{
		Package: Peers[1],
		targets: map[string]string{"claude": "claude", "codex": "codex", "copilot": "copilot", "gemini": "gemini-cli", "opencode": "opencode", "pi": "pi", "qwen": "qwen"},
		claims: map[string][]string{
			"first rule": comparedIDs, "second rule": comparedIDs, "scoped rule": comparedIDs,
			"skill": {"claude", "codex", "copilot", "gemini", "opencode", "pi"}, "subagent": {"claude", "codex", "copilot"},
			"MCP server": {"claude", "codex", "copilot", "gemini", "opencode", "qwen"},
		},
		run: func(names []string) []string {
			return []string{"apply", "--local-only", "--agents", strings.Join(names, ",")}
		},
	},
}

// aisyncClaims are the parts that the catalog has a place for in a project.
func aisyncClaims() map[string][]string {
	out := map[string][]string{}
	for part, name := range map[string]string{
		"first rule": "rules", "second rule": "rules", "scoped rule": "rules", "skill": "skills", "command": "commands", "subagent": "subagents",
		"MCP server": "mcp", "hook at start": "hooks", "hook before shell": "hooks", "permissions": "permissions", "hidden file": "ignore",
	} {
		i := slices.IndexFunc(catalog.Parts(), func(p catalog.Part) bool { return p.Name == name })
		for _, rt := range catalog.Runtimes() {
			if level, _ := catalog.Parts()[i].Project(rt); level != catalog.Manual && slices.Contains(comparedIDs, rt.ID) {
				out[part] = append(out[part], rt.ID)
			}
		}
	}
	return out
}

// compared is what a run of the comparison saw.
type compared struct {
	Date     string            `json:"date"`
	Versions map[string]string `json:"versions"` // of programs and peers
	// By the tool, the program and the part: in a tree for all programs, and, where
	// that lacks something, in a tree for that program alone.
	Together map[string]map[string]map[string]string `json:"together"`
	Alone    map[string]map[string]map[string]string `json:"alone"`
}

const comparedFile = "testdata/peers.json"

// Each program loads of what each tool generates from the same parts what the
// committed file says.
func TestPeersTrees(t *testing.T) {
	needPrograms(t)
	if os.Getenv(peersEnv) == "" {
		t.Skip("make test-peers runs it")
	}
	if why := os.Getenv(uninstalled); why != "" {
		t.Skipf("npm cannot install the tools: %s", why)
	}
	got := compared{Date: time.Now().Format(time.DateOnly), Versions: map[string]string{}, Together: map[string]map[string]map[string]string{}, Alone: map[string]map[string]map[string]string{}}
	for _, p := range slices.Concat(comparedAgents(), Peers[:2]) {
		got.Versions[p.ID] = p.Version
	}
	var mu sync.Mutex
	t.Run("tools", func(t *testing.T) {
		for _, g := range generators {
			t.Run(g.ID, func(t *testing.T) {
				t.Parallel()
				together, alone := g.judge(t)
				mu.Lock()
				defer mu.Unlock()
				got.Together[g.ID], got.Alone[g.ID] = together, alone
			})
		}
	})
	got.complete(t)
	t.Log("\n" + got.table())
	got.compare(t)
}

// judge asks each program about the tree that g makes for all of them, and again
// about one for it alone where a claimed part is not loaded.
func (g generator) judge(t *testing.T) (together, alone map[string]map[string]string) {
	together, alone = map[string]map[string]string{}, map[string]map[string]string{}
	w := newTreeWorld(t, comparedIDs)
	w.copyTree(g.generate(t, comparedIDs))
	for _, id := range comparedIDs {
		if g.targets[id] == "" {
			continue
		}
		if !t.Run(id, func(t *testing.T) { together[id] = w.with(t).judgeTree(id, g.claimed(id)...) }) || together[id] == nil {
			continue // it failed, or -run leaves it out
		}
		var parts []string
		for _, part := range g.claimed(id) {
			if c := together[id][part]; c != loaded && c != untested {
				parts = append(parts, part)
			}
		}
		if len(parts) == 0 {
			continue
		}
		if !t.Run(id+"/alone", func(t *testing.T) {
			w := newTreeWorld(t, []string{id})
			w.copyTree(g.generate(t, []string{id}))
			alone[id] = w.judgeTree(id, parts...)
		}) {
			delete(together, id)
		}
	}
	return together, alone
}

// claimed is the parts that g claims for the program id.
func (g generator) claimed(id string) (parts []string) {
	for _, part := range treeParts {
		if slices.Contains(g.claims[part], id) {
			parts = append(parts, part)
		}
	}
	return parts
}

// generate lets g write its files for the programs ids into a fresh folder, from
// the source in testdata/peers, and returns the folder.
func (g generator) generate(t *testing.T, ids []string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "project")
	source, err := txtar.ParseFile(filepath.Join("testdata/peers", g.ID+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range source.Files {
		text := string(file.Data)
		if g.ID == "aisync" && file.Name == "aisync.cue" {
			all, some := strings.Join(each(comparedIDs, "%q"), ", "), strings.Join(each(ids, "%q"), ", ")
			if text = strings.Replace(text, all, some, 1); !strings.Contains(text, some) {
				t.Fatal("aisync.cue does not name the programs")
			}
		}
		name := filepath.Join(dir, file.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cache, err := DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	program := binary
	if g.ID != "aisync" {
		program = filepath.Join(cache.Bin(g.Package), g.Command)
	}
	var names []string
	for _, id := range ids {
		if g.targets[id] != "" {
			names = append(names, g.targets[id])
		}
	}
	for _, argv := range [][]string{{"git", "init", "-q", "-b", "main"}, append([]string{program}, g.run(names)...)} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + filepath.Dir(dir), "PWD=" + dir, "PATH=" + cache.NodeBin() + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "NO_COLOR=1", "AISYNC_OFFLINE=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
		t.Logf("%q\n%s", argv, out)
	}
	return dir
}

// complete adds what this run did not try, from the committed file, which must be
// of the same versions then.
func (c compared) complete(t *testing.T) {
	t.Helper()
	before := readCompared(t)
	for _, g := range generators {
		for _, id := range comparedIDs {
			if c.Together[g.ID] == nil {
				c.Together[g.ID], c.Alone[g.ID] = map[string]map[string]string{}, map[string]map[string]string{}
			}
			cells := before.Together[g.ID][id]
			if c.Together[g.ID][id] != nil || cells == nil {
				continue
			}
			if !maps.Equal(before.Versions, c.Versions) {
				t.Fatalf("%s is of other versions: try everything", comparedFile)
			}
			c.Together[g.ID][id] = cells
			if alone := before.Alone[g.ID][id]; alone != nil {
				c.Alone[g.ID][id] = alone
			}
		}
	}
}

// compare wants the committed file to say what was seen; with -update it writes it.
// What was seen before keeps its date.
func (c compared) compare(t *testing.T) {
	t.Helper()
	before := readCompared(t)
	date := c.Date
	c.Date = before.Date
	same := string(c.text(t)) == string(before.text(t))
	switch {
	case same:
	case *update:
		c.Date = date
		if err := os.WriteFile(comparedFile, c.text(t), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what was seen; make test-peers ARGS=-update writes it:\n%s", comparedFile, c.text(t))
	}
}

func (c compared) text(t *testing.T) []byte {
	t.Helper()
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// readCompared is what the committed file says.
func readCompared(t *testing.T) (c compared) {
	t.Helper()
	b, err := os.ReadFile(comparedFile)
	if os.IsNotExist(err) && *update {
		return compared{}
	}
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}
