package launch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// pearl serves two models of one family, and several of another.
var pearl = &spec.Host{
	Name:   "pearl",
	Models: []spec.ModelUse{{ID: "qwen3-8b"}},
	Services: []spec.Service{
		{Name: "coder", Kind: "llama-server", Model: "qwen3-coder-30b", Port: 8081},
		{Name: "big", Kind: "llama-server", Model: "qwen3-next-80b", Port: 8082},
		{Name: "swap", Kind: "llama-swap", Models: []string{"gemma3-4b", "gemma3-27b"}, Port: 8083},
	},
}

func TestResolveRuntimeServiceOrModel(t *testing.T) {
	for _, c := range []struct{ word, runtime, label, service, model, err string }{
		{word: "claude", runtime: "claude", label: "claude"},
		{word: "claude-code", runtime: "claude", label: "claude"},
		{word: "local-openai", runtime: "local-openai", label: "local-openai"},
		{word: "big", runtime: "local-openai", label: "big", service: "big", model: "qwen3-next-80b"},
		{word: "qwen3-coder-30b", runtime: "local-openai", label: "qwen3-coder-30b", service: "coder", model: "qwen3-coder-30b"},
		{word: "gemma3-27b", runtime: "local-openai", label: "gemma3-27b", service: "swap", model: "gemma3-27b"},
		{word: "local-qwen30b", runtime: "local-openai", label: "local-qwen30b", service: "coder", model: "qwen3-coder-30b"},
		{word: "local-coder", runtime: "local-openai", label: "local-coder", service: "coder", model: "qwen3-coder-30b"},
		{word: "local-qwen80b", runtime: "local-openai", label: "local-qwen80b", service: "big", model: "qwen3-next-80b"},
		{word: "local-qwen", err: "could be qwen3-coder-30b or qwen3-next-80b"},
		{word: "qwen3-8b", err: "no service of host pearl serves the model"},
		{word: "qwen30b", err: `unknown runtime "qwen30b"`},
		{word: "local-30bqwen", err: "unknown runtime"},
		{word: "clade", err: "unknown runtime"},
	} {
		got, err := Resolve(c.word, catalog.With(spec.Catalog{}), pearl)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q", c.word, err, c.err)
			}
			continue
		}
		if err != nil || got.Runtime.ID != c.runtime || got.Label != c.label || got.Service != c.service || got.Model != c.model {
			t.Errorf("%s: %s %q %q %q, %v", c.word, got.Runtime.ID, got.Label, got.Service, got.Model, err)
		}
	}
	if _, err := Resolve("big", catalog.With(spec.Catalog{}), nil); err == nil {
		t.Error("a machine without a host has services")
	}
}

func TestIDContainsHostProjectAndModel(t *testing.T) {
	for _, c := range []struct{ project, want string }{
		{"org-drill", `^pearl\.org-drill\.local-qwen30b\.[0-9a-f]{4}$`},
		{"my notes.d", `^pearl\.my-notes-d\.local-qwen30b\.[0-9a-f]{4}$`},
		{"Übung ✓", `^pearl\.[a-z0-9_-]+\.local-qwen30b\.[0-9a-f]{4}$`},
		{"日本", `^pearl\.[a-z0-9_-]+\.local-qwen30b\.[0-9a-f]{4}$`},
		{strings.Repeat("very-long-", 20), `^pearl\.[a-z0-9_-]+\.local-qwen30b\.[0-9a-f]{4}$`},
	} {
		root := filepath.Join(t.TempDir(), c.project)
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		d := Decision{Role: "agent"}
		if err := d.MakeID(root, "pearl", "local-qwen30b"); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(c.want).MatchString(d.ID) || len(d.ID) > 64 {
			t.Errorf("%s: %s (%d)", c.project, d.ID, len(d.ID))
		}
	}
}

func TestDefaultForms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runtime.toml")
	for text, want := range map[string]string{
		"runtime = \"codex\"\n": "codex", "default = \"pi\"\n": "pi", "# mine\n[runtime]\ndefault = \"qwen\"\n": "qwen", "id = \"amp\"": "amp",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := Default(file); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{"runtime = claude\n": "runtime.toml:1:", "model = \"x\"\n": "names no runtime"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Default(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got, err := Default(file + ".missing"); got != "" || err != nil {
		t.Errorf("a missing file: %q, %v", got, err)
	}
}

func TestProjectsSkipNestedProjects(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a", "x/b", "x/y/z/c", "x/y/z/w/too-deep", "a/inner", ".hidden/d", "node_modules/e", "x/b.d"} {
		if err := os.MkdirAll(filepath.Join(root, dir, ".ai"), 0o755); err != nil {
			t.Fatal(err)
		}
		if dir == "x/b.d" {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, dir, ".ai/protocols.org"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Projects([]string{root, filepath.Join(root, "x"), filepath.Join(root, "missing")})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range found {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "a b c too-deep" { // too-deep is four below x
		t.Errorf("found %s", got)
	}
	if _, err := Named(found, "nope"); err == nil || !strings.Contains(err.Error(), "there are a, b") {
		t.Errorf("%v", err)
	}
}

// ownNothing is a catalog of one's own without entries.
var ownNothing spec.Catalog
