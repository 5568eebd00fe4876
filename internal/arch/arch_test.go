package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "aisync.dev/aisync/"

// pkg is one package of ours, by its path below the module.
type pkg struct {
	Path    string
	Imports []string // direct; ours are written below the module as well
}

// in reports whether path is one of the trees, or lies in one.
func in(path string, trees ...string) bool {
	return slices.ContainsFunc(trees, func(t string) bool { return path == t || strings.HasPrefix(path, t+"/") })
}

// rule is one sentence about imports. It holds if every import that it speaks
// about is allowed.
type rule struct {
	says    string
	forbids func(from, to string, ours bool) bool
}

// only says that the trees of others may be imported directly from here alone.
func only(trees []string, here ...string) func(string, string, bool) bool {
	return func(from, to string, ours bool) bool { return !ours && in(to, trees...) && !in(from, here...) }
}

// within says that what lies in tree imports nothing of ours but the allowed.
func within(tree string, allowed ...string) func(string, string, bool) bool {
	return func(from, to string, ours bool) bool { return ours && in(from, tree) && !in(to, allowed...) }
}

// reserved says that tree is imported from here alone.
func reserved(tree string, here ...string) func(string, string, bool) bool {
	return func(from, to string, ours bool) bool { return ours && in(to, tree) && !in(from, append(here, tree)...) }
}

// libraries and tools of internal: a tool stands alone, a library may use the
// engine and plain specs.
var (
	libraries = []string{"internal/bundle", "internal/fetch", "internal/merge", "internal/gguf", "internal/frontmatter"}
	formats   = []string{"internal/merge/json", "internal/merge/toml", "internal/merge/yaml", "internal/merge/text"}
	tools     = []string{"internal/advice", "internal/atomicfile", "internal/environ", "internal/filelock", "internal/nearest", "internal/quantity", "internal/shellquote", "internal/termtext", "internal/netjail", "internal/gitrepo", "internal/limit", "internal/regular", "internal/safedir", "internal/secret", "internal/hostiletext", "internal/unixpath", "internal/versions"}
)

var rules = []rule{
	{"schema/spec imports nothing of ours", within("schema/spec")},
	{"hosts/facts imports nothing of ours", within("hosts/facts")},
	{"fsys imports nothing of ours but the writer of files", within("reconcile/fsys", "internal/atomicfile")},
	{"what is wanted of targets imports file systems alone", within("reconcile/resource", "reconcile/fsys")},
	{"records import what is wanted of targets", within("reconcile/record", "reconcile/resource", "reconcile/fsys", "internal/advice")},
	{"the matrix imports what is wanted and what is recorded, and reaches no file", func(from, to string, ours bool) bool {
		return in(from, "reconcile/matrix") && (!ours || !in(to, "reconcile/resource", "reconcile/record", "internal/advice"))
	}},
	{"the journal imports what it tells of, and the folder that it lies in", within("reconcile/journal", "reconcile/resource", "reconcile/record", "reconcile/matrix", "reconcile/fsys", "reconcile/state", "internal/advice")},
	{"the state folder knows no record", within("reconcile/state", "reconcile/fsys", "internal/advice", "internal/atomicfile", "internal/filelock")},
	{"reconcile imports nothing of ours but its own parts", within("reconcile", "reconcile", "internal/advice", "internal/atomicfile", "internal/filelock")},
	{"providers import the engine, what is given, and libraries; their suite breaks things and prints what it proved", within("providers", append([]string{"providers", "reconcile", "schema/spec", "hosts/facts", "internal/proof", "internal/crash"}, append(libraries, tools...)...)...)},
	{"adapter imports providers, the engine, what is given, and libraries", within("adapter", append([]string{"adapter", "providers", "reconcile", "schema/spec", "schema/reference", "hosts/facts", "catalog"}, append(libraries, tools...)...)...)},
	{"adapter/start imports plain specs, the catalog, and what renders and merges texts", within("adapter/start", append([]string{"adapter/render", "schema/spec", "catalog", "internal/merge"}, tools...)...)},
	{"adapter/loads imports plain specs, the names that forms have, and what reads texts and settings", within("adapter/loads", "adapter/render", "schema/spec", "internal/merge", "internal/frontmatter")},
	{"libraries import the engine, plain specs, the catalog, and each other", func(from, to string, ours bool) bool {
		return ours && in(from, libraries...) && !in(to, append([]string{"reconcile", "schema/spec", "catalog"}, append(libraries, tools...)...)...)
	}},
	{"a format of merge imports what formats share, and no other format", func(from, to string, ours bool) bool {
		return ours && in(from, formats...) && !in(to, "internal/merge/leaf", "internal/merge/brackets")
	}},
	{"only merge reaches its formats and what they share", func(from, to string, ours bool) bool {
		return ours && in(to, append([]string{"internal/merge/leaf", "internal/merge/brackets"}, formats...)...) && !in(from, "internal/merge")
	}},
	{"tools import nothing of ours but the one that makes text harmless", func(from, to string, ours bool) bool {
		return ours && in(from, tools...) && to != "internal/termtext"
	}},
	{"schema, catalog and hosts import neither reconcile nor what stands above it", func(from, to string, ours bool) bool {
		return ours && in(from, "schema", "catalog", "hosts") && in(to, "reconcile", "providers", "adapter", "agents", "app", "cmd")
	}},
	{"agents use adapter/start, fsys, catalog with its plain structs, tools, and each other", within("agents", append([]string{"agents", "adapter/start", "reconcile/fsys", "catalog", "schema/spec"}, tools...)...)},
	{"only what stands above providers wires them", reserved("providers", "cmd/aisync", "app", "adapter")},
	{"app imports no commands", func(from, to string, ours bool) bool { return ours && in(from, "app") && in(to, "cmd") }},
	{"only commands and doctor stand above agents", reserved("agents", "cmd/aisync", "app/doctor")},
	{"in app, doctor, drift and projects look through the stack, which loads by place, pin and effects", func(from, to string, ours bool) bool {
		return ours && in(from, "app") && (in(to, "app/drift", "app/projects") || in(to, "app/doctor") && !in(from, "app/doctor") || in(to, "app/stack") && !in(to, "app/stack/place", "app/stack/gate") && !in(from, "app/drift", "app/doctor", "app/projects", "app/stack/stacktest"))
	}},
	{"a command stands above cli and view, view above cli", func(from, to string, ours bool) bool {
		return ours && (in(from, "cmd/aisync/internal/cli", "cmd/aisync/internal/view") && in(to, "cmd/aisync/internal/command") || in(from, "cmd/aisync/internal/cli") && in(to, "cmd/aisync/internal/view"))
	}},
	{"package main knows commands, and the processes that the program starts of itself", func(from, to string, ours bool) bool {
		return ours && from == "cmd/aisync" && !in(to, "cmd/aisync", "app/stack", "agents/worker", "agents/sandbox", "agents/witness", "internal/netjail", "internal/environ")
	}},
	{"commands neither fetch nor read models: app/pin and providers do", func(from, to string, ours bool) bool {
		return ours && in(from, "cmd") && in(to, "internal/fetch", "internal/gguf")
	}},
	{"only schema imports CUE, and the generator of catalog", only([]string{"cuelang.org/go"}, "schema", "catalog/gen")},
	{"only internal/fetch imports go-getter", only([]string{"github.com/hashicorp/go-getter"}, "internal/fetch")},
	{"only the command mcp imports the SDK of MCP", only([]string{"github.com/modelcontextprotocol"}, "cmd/aisync/internal/command/mcp")},
	{"only cmd/aisync imports cobra, pflag and progressbar", only([]string{"github.com/spf13", "github.com/schollz/progressbar"}, "cmd/aisync")},
}

func TestImportsFollowTheRules(t *testing.T) {
	pkgs := ourPackages(t)
	for _, r := range rules {
		for _, p := range pkgs {
			for _, imp := range p.Imports {
				to, ours := strings.CutPrefix(imp, module)
				if r.forbids(p.Path, to, ours) {
					t.Errorf("%s: but %s imports %s", r.says, p.Path, to)
				}
			}
		}
	}
}

// A package may keep a promise itself and break it through another of ours.
func TestPromisesHoldThroughOurOwnPackagesToo(t *testing.T) {
	pkgs := ourPackages(t)
	for _, c := range []struct {
		says, tree string
		never      []string
	}{
		{"agents/ledger imports neither os/exec nor net", "agents/ledger", []string{"os/exec", "net"}},
		{"reading the catalog evaluates no CUE", "catalog", []string{"cuelang.org/go"}},
		{"adapter/start only computes", "adapter/start", []string{"os", "net", "syscall"}},
		{"adapter/loads only computes", "adapter/loads", []string{"os", "os/exec", "net", "syscall"}},
	} {
		if _, there := pkgs[c.tree]; !there {
			t.Errorf("%s: there is no %s, and so nothing that keeps it", c.says, c.tree)
		}
		for _, p := range pkgs {
			if !in(p.Path, c.tree) || in(p.Path, "catalog/gen") {
				continue
			}
			for from, imports := range reach(pkgs, p.Path) {
				for _, imp := range imports {
					if in(imp, c.never...) {
						t.Errorf("%s: but %s leads to %s, which imports %s", c.says, p.Path, from, imp)
					}
				}
			}
		}
	}
}

// A rule that cannot be broken protects nothing.
func TestEveryRuleForbidsSomething(t *testing.T) {
	trees := []string{"app/effects", "schema", "schema/spec", "hosts", "hosts/facts", "catalog", "reconcile", "reconcile/fsys", "reconcile/resource", "reconcile/record", "reconcile/matrix", "reconcile/journal", "reconcile/state", "internal/merge", "internal/merge/json", "adapter", "adapter/start", "adapter/loads", "providers/file", "agents/ledger", "internal/gitrepo", "cmd/aisync", "internal/regular", "internal/fetch", "app/stack", "app/drift", "cmd/aisync/internal/cli", "cmd/aisync/internal/command/run"}
	others := []string{"cuelang.org/go/cue", "github.com/hashicorp/go-getter/v2", "github.com/modelcontextprotocol/go-sdk/mcp", "github.com/spf13/cobra"}
	for _, r := range rules {
		broken := false
		for _, from := range trees {
			for _, to := range trees {
				broken = broken || r.forbids(from, to, true)
			}
			for _, to := range others {
				broken = broken || r.forbids(from, to, false)
			}
		}
		if !broken {
			t.Errorf("%s: no import breaks it", r.says)
		}
	}
}

// reach returns the direct imports of start and of every package of ours that
// it leads to.
func reach(pkgs map[string]pkg, start string) map[string][]string {
	seen := map[string][]string{}
	for todo := []string{start}; len(todo) > 0; {
		p := pkgs[todo[0]]
		todo = todo[1:]
		if _, done := seen[p.Path]; done {
			continue
		}
		seen[p.Path] = p.Imports
		for _, imp := range p.Imports {
			if to, ours := strings.CutPrefix(imp, module); ours {
				todo = append(todo, to)
			}
		}
	}
	return seen
}

// ourPackages lists every package of the module with what it imports, as it is
// built for Linux and for macOS.
func ourPackages(t *testing.T) map[string]pkg {
	t.Helper()
	pkgs := map[string]pkg{}
	for _, goos := range []string{"linux", "darwin"} {
		cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports", module+"...")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				t.Fatalf("go list for %s: %s", goos, exit.Stderr)
			}
			t.Fatal(err)
		}
		for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p struct {
				ImportPath string
				Imports    []string
			}
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if path, ours := strings.CutPrefix(p.ImportPath, module); ours {
				pkgs[path] = pkg{path, append(pkgs[path].Imports, p.Imports...)}
			}
		}
	}
	if len(pkgs) < 5 {
		t.Fatalf("go list found only %d packages of ours", len(pkgs))
	}
	return pkgs
}
