package adapter

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/resource"
	"aisync.dev/aisync/schema/spec"
)

var update = flag.Bool("update", false, "rewrite testdata")

// contract is the folder of the example specs and rulesets.
func contract(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../golden/contract")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func line(file string, n int) spec.Position { return spec.Position{File: file, Line: n, Col: 1} }

// drill is the project of the contract, as its aisync.cue says it.
func drill(t testing.TB) *spec.Project {
	dir := filepath.Join(contract(t), "project")
	named := func(n int, values ...string) (out []spec.Named) {
		for _, v := range values {
			out = append(out, spec.Named{Value: v, Pos: line("aisync.cue", n)})
		}
		return out
	}
	return &spec.Project{
		Name: "org-drill", Dir: dir, Runtimes: named(5, "claude", "opencode", "local-openai"), Default: "claude",
		Sources: []spec.Source{{Name: "rulesets", URL: "../rulesets", Dir: dir, Pos: line("aisync.cue", 8)}},
		Bundles: []spec.BundleRef{{Source: "rulesets", Name: "elisp", Pos: line("aisync.cue", 9)}, {Source: "rulesets", Name: "python", Pos: spec.Position{File: "aisync.cue", Line: 9, Col: 30}}},
		Teams:   []spec.BundleRef{{Source: "rulesets", Name: "deepsat", Pos: line("aisync.cue", 10)}},
		MCP:     []spec.MCPServer{{Name: "notes", Command: "python3", Args: []string{"tools/notes_mcp.py"}, Pos: line("aisync.cue", 12)}},
	}
}

// velox is the host of the contract, without what is tested elsewhere.
func velox(t testing.TB) *spec.Host {
	at := func(n int) spec.Position { return line("velox.cue", n) }
	return &spec.Host{
		Name: "velox", Dir: filepath.Join(contract(t), "host"), Trust: spec.Flag{On: true, Pos: at(15)},
		Runtimes: []spec.RuntimeUse{
			{ID: "claude", Pos: at(8), Install: &spec.Install{Via: "npm", Pos: at(8)}},
			{ID: "codex", Pos: at(10)},
			{ID: "local-openai", CLI: "opencode", Pos: at(11)},
			{ID: "opencode", Pos: at(9), Install: &spec.Install{Via: "npm", Version: "1.18.33", Pos: at(9)}},
		},
		Packages: []spec.Named{{Value: "tmux", Pos: at(17)}, {Value: "git", Pos: at(17)}},
		Bundles:  []spec.HostBundle{{Name: "core", Source: "../rulesets", Parts: []string{"rules", "skills", "hooks"}, Pos: at(20)}},
		MCP:      []spec.MCPServer{{Name: "fetch", Command: "uvx", Args: []string{"mcp-server-fetch"}, Env: []spec.EnvVar{{Name: "LOG_LEVEL", Value: "warn"}}, Pos: at(23)}},
		Store:    spec.Named{Value: "~/.local/share/llm/models", Pos: at(25)},
		Services: []spec.Service{
			{Name: "coder", Kind: "llama-server", Model: "qwen3-coder-30b", Port: 8081, Context: 32768, Scope: "user", Listen: "loopback", Enabled: true, Pos: at(33)},
			{Name: "lan", Kind: "external", URL: "http://127.0.0.1:18081/v1", Model: "qwen3-coder", Enabled: false, Pos: at(36)},
			{Name: "ollama", Kind: "ollama", Port: 11434, Models: []string{"tiny"}, Enabled: true, Pos: at(35)},
			{Name: "quick", Kind: "llama-server", Model: "qwen3-8b", Port: 8082, Enabled: false, Pos: at(34)},
		},
		Endpoint: spec.Named{Value: "coder", Pos: at(38)},
		Settings: []spec.Settings{{Runtime: "claude", JSON: []byte(`{"permissions":{"allow":["Bash(make test)"]}}`), Pos: at(40),
			Leaves: map[string]spec.Position{"/permissions/allow": {File: "velox.cue", Line: 40, Col: 34}}}},
	}
}

func declareProject(t testing.TB, p *spec.Project) Decls {
	t.Helper()
	d, err := Project{Spec: p, Runtimes: catalog.Runtimes(), Sources: &bundle.Sources{}, Git: true}.Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func declareHost(t testing.TB, h *spec.Host, f *facts.Facts) Decls {
	t.Helper()
	d, err := Host{Spec: h, Runtimes: catalog.Runtimes(), Sources: &bundle.Sources{}, Facts: f}.Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// show renders everything that a reader of a golden should judge.
func show(d Decls) string {
	var s strings.Builder
	for _, decl := range d.Declarations {
		fmt.Fprintf(&s, "%s", decl.Target)
		if decl.Format != "" {
			fmt.Fprintf(&s, " [%s]", decl.Format)
		}
		if decl.Local {
			s.WriteString(" local")
		}
		if len(decl.DependsOn) > 0 {
			fmt.Fprintf(&s, " after %s", decl.DependsOn)
		}
		s.WriteString("\n")
		for _, l := range decl.Leaves {
			key := string(l.Key)
			if key == "" {
				key = "(whole)"
			}
			fmt.Fprintf(&s, "    %s  <- %s", key, text(l.Origin))
			for _, o := range l.Origin[min(1, len(l.Origin)):] {
				fmt.Fprintf(&s, ", %s", o)
			}
			s.WriteString("\n")
			if l.Own == reconcile.Member && strings.HasPrefix(key, "block:") {
				s.WriteString(indented(l))
			}
		}
	}
	for _, u := range d.Unsupported {
		fmt.Fprintf(&s, "unsupported %s: %s  <- %s\n", u.Address, u.Reason, text(u.Origin))
	}
	for _, n := range d.Notes {
		kind := "note"
		if n.Warning {
			kind = "warning"
		}
		fmt.Fprintf(&s, "%s: %s  <- %s\n", kind, n.Text, text(n.Origin))
	}
	return s.String()
}

func indented(l reconcile.Leaf) string {
	var block string
	_ = json.Unmarshal(l.Body.Redacted(), &block)
	return "        | " + strings.ReplaceAll(strings.TrimSuffix(block, "\n"), "\n", "\n        | ") + "\n"
}

// golden compares got with testdata/name, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); if it is right, run the test with -update:\n%s", name, diff)
	}
}

func TestTheContractProjectDeclaresExactlyThis(t *testing.T) {
	golden(t, "project.txt", show(declareProject(t, drill(t))))
}

func TestTheContractHostDeclaresExactlyThis(t *testing.T) {
	f := &facts.Facts{Programs: map[string]string{"git": "/usr/bin/git"}, Managers: []string{"pacman"}}
	golden(t, "host.txt", show(declareHost(t, velox(t), f)))
}

func TestNoTwoDeclarationsOfTheContractConflict(t *testing.T) {
	project, host := declareProject(t, drill(t)), declareHost(t, velox(t), nil)
	all := slices.Concat(project.Declarations, host.Declarations, Trust(velox(t), drill(t), catalog.Runtimes()).Declarations)
	if _, conflicts := resource.Compose(all); len(conflicts) > 0 {
		t.Errorf("conflicts: %+v", conflicts)
	}
}

func TestEveryRuntimeOfTheCatalogFitsBesideAllOthers(t *testing.T) {
	p, h := drill(t), velox(t)
	p.Runtimes, h.Runtimes = nil, nil
	for _, rt := range catalog.Runtimes() {
		p.Runtimes = append(p.Runtimes, spec.Named{Value: rt.ID})
		h.Runtimes = append(h.Runtimes, spec.RuntimeUse{ID: rt.ID, Install: &spec.Install{Via: "npm"}})
	}
	project, host := declareProject(t, p), declareHost(t, h, nil)
	all := slices.Concat(project.Declarations, host.Declarations, Trust(h, p, catalog.Runtimes()).Declarations)
	if _, conflicts := resource.Compose(all); len(conflicts) > 0 {
		t.Errorf("conflicts: %+v", conflicts)
	}
	for _, rt := range catalog.Runtimes() {
		if said := show(project) + show(host); !strings.Contains(said, rt.ID) {
			t.Errorf("nothing is declared for %s, and nothing is said about it", rt.ID)
		}
	}
}

func TestDeclaringTwiceIsDeclaringOnce(t *testing.T) {
	if diff := cmp.Diff(prints(declareProject(t, drill(t))), prints(declareProject(t, drill(t)))); diff != "" {
		t.Error(diff)
	}
	p := drill(t)
	slices.Reverse(p.Runtimes)
	if diff := cmp.Diff(prints(declareProject(t, drill(t))), prints(declareProject(t, p))); diff != "" {
		t.Errorf("the order of runtimes decides something:\n%s", diff)
	}
}

// prints maps each leaf to its fingerprint: the bytes that are written.
func prints(d Decls) map[string]string {
	out := map[string]string{}
	for _, decl := range d.Declarations {
		for _, l := range decl.Leaves {
			out[string(decl.Target)+" "+string(l.Key)] = string(l.Body.Fingerprint())
		}
	}
	return out
}

func TestLocalOpenAINeverTouchesTheFoldersOfClaude(t *testing.T) {
	p := drill(t)
	p.Runtimes = p.Runtimes[2:]
	for _, d := range declareProject(t, p).Declarations {
		if strings.Contains(string(d.Target), "claude") || strings.Contains(string(d.Target), "CLAUDE") || strings.Contains(string(d.Target), ".mcp.json") {
			t.Errorf("declares %s", d.Target)
		}
	}
}
