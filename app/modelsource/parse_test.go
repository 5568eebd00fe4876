package modelsource

import (
	"os"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/advice"
)

const hex = "59a6a710d9e58c690949b25c2e6f3f0fcb4d57393c2c1e1ebcf773869ecd5bcd"

var spellings = []struct {
	text string
	want Name
	says string // of the error and its hint
}{
	{text: "qwen3-8b", want: Name{ID: "qwen3-8b"}},
	{text: "owner/repo", want: Name{Kind: Hub, Repo: "owner/repo"}},
	{text: "owner/repo:Q8_0", want: Name{Kind: Hub, Repo: "owner/repo", Quant: "Q8_0"}},
	{text: "hf:owner/repo", want: Name{Kind: Hub, Repo: "owner/repo"}},
	{text: "hf:owner/repo:UD-Q4_K_XL", want: Name{Kind: Hub, Repo: "owner/repo", Quant: "UD-Q4_K_XL"}},
	{text: "hf://owner/repo@v1/sub/x-Q4_K_M.gguf", want: Name{Kind: Hub, Repo: "owner/repo", Revision: "v1", Path: "sub/x-Q4_K_M.gguf"}},
	{text: "huggingface://owner/repo/x.gguf", want: Name{Kind: Hub, Repo: "owner/repo", Path: "x.gguf"}},
	{text: "hf.co/owner/repo:q4_k_m", want: Name{Kind: Hub, Repo: "owner/repo", Quant: "q4_k_m"}},
	{text: "huggingface.co/owner/repo", want: Name{Kind: Hub, Repo: "owner/repo"}},
	{text: "https://huggingface.co/owner/repo", want: Name{Kind: Hub, Repo: "owner/repo"}},
	{text: "https://huggingface.co/owner/repo/", want: Name{Kind: Hub, Repo: "owner/repo"}},
	{text: "https://huggingface.co/owner/repo/tree/main", want: Name{Kind: Hub, Repo: "owner/repo"}},
	{text: "https://huggingface.co/owner/repo/tree/v1/BF16", want: Name{Kind: Hub, Repo: "owner/repo", Revision: "v1"}},
	{text: "https://huggingface.co/owner/repo/blob/main/x-Q4_K_M.gguf", want: Name{Kind: Hub, Repo: "owner/repo", Path: "x-Q4_K_M.gguf"}},
	{text: "https://hf.co/owner/repo/resolve/refs%2Fpr%2F1/a/x.gguf?download=true", want: Name{Kind: Hub, Repo: "owner/repo", Revision: "refs/pr/1", Path: "a/x.gguf"}},
	{text: "https://mirror.example/owner/repo", want: Name{Kind: Hub, Repo: "owner/repo"}},
	{text: "ollama:qwen3", want: Name{Kind: Registry, Source: "oci://registry.ollama.ai/library/qwen3:latest"}},
	{text: "ollama:qwen3:8b", want: Name{Kind: Registry, Source: "oci://registry.ollama.ai/library/qwen3:8b"}},
	{text: "ollama://me/mine:q8_0", want: Name{Kind: Registry, Source: "oci://registry.ollama.ai/me/mine:q8_0"}},
	{text: "ollama:localhost:5000/me/mine:1", want: Name{Kind: Registry, Source: "oci://localhost:5000/me/mine:1"}},
	{text: "ollama:hf.co/owner/repo:Q8_0", want: Name{Kind: Hub, Repo: "owner/repo", Quant: "Q8_0"}},
	{text: "https://ollama.com/library/qwen3:8b", want: Name{Kind: Registry, Source: "oci://registry.ollama.ai/library/qwen3:8b"}},
	{text: "oci://ghcr.io/owner/model:latest", want: Name{Kind: Registry, Source: "oci://ghcr.io/owner/model:latest"}},
	{text: "https://example.org/models/x.gguf", want: Name{Kind: URL, Source: "https://example.org/models/x.gguf"}},
	{text: "https://example.org/models/x.gguf#sha256=" + hex, want: Name{Kind: URL, Source: "https://example.org/models/x.gguf", SHA256: hex}},
	{text: "./x.gguf", want: Name{Kind: File, Path: "./x.gguf"}},
	{text: "x.gguf", want: Name{Kind: File, Path: "x.gguf"}},
	{text: "models/x.gguf", want: Name{Kind: File, Path: "models/x.gguf"}},
	{text: "/models/x.gguf", want: Name{Kind: File, Path: "/models/x.gguf"}},
	{text: "~/models/x.gguf", want: Name{Kind: File, Path: "~/models/x.gguf"}},
	{text: "file:///models/x.gguf", want: Name{Kind: File, Path: "/models/x.gguf"}},

	{text: "", says: "owner/repo:QUANT"},
	{text: "owner/my repo", says: "without blanks"},
	{text: "qwen3:8b", says: "ollama:qwen3:8b"},
	{text: "hg:owner/repo", says: "does not know hg:"},
	{text: "olama:qwen3/x", says: "ollama"},
	{text: "hf:owner", says: "OWNER/NAME"},
	{text: "owner/repo:", says: "leave the colon out"},
	{text: "owner/repo:Q4 K", says: "blank"},
	{text: "owner/repo:Q4/K", says: "no quantization"},
	{text: "owner/../repo", says: "no repository"},
	{text: "owner/repo/README.md", says: "README.md is no GGUF file"},
	{text: "owner/repo/../x.gguf", says: "not clean"},
	{text: "owner/repo/x.gguf:Q4_K_M", says: "both a file and a quantization"},
	{text: "https://huggingface.co/datasets/owner/data", says: "no model"},
	{text: "https://huggingface.co/owner", says: "OWNER/NAME"},
	{text: "https://example.org/models/", says: "https://HOST/FILE.gguf"},
	{text: "https://me:pw@example.org/x.gguf", says: "a spec keeps no secrets"},
	{text: "https://example.org/x.gguf#sha256=12", says: "64 hexadecimal digits"},
	{text: "oci://host", says: "oci://HOST/REPO:TAG"},
	{text: "ollama:a/b/c/d", says: "ollama pull"},
	{text: "ollama:qwen3:", says: "latest"},
}

func TestParse(t *testing.T) {
	for _, c := range spellings {
		got, err := Parse(c.text, "https://mirror.example")
		if c.says == "" {
			if err != nil || got != c.want {
				t.Errorf("%s: %+v, %v; want %+v", c.text, got, err, c.want)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error()+"; "+advice.Of(err), c.says) {
			t.Errorf("%s: %+v, %v; the error does not say %q", c.text, got, err, c.says)
		}
	}
}

// Each spelling in the documentation is one that Parse reads, and has the kind
// that the table says.
func TestDocumentedSpellings(t *testing.T) {
	page, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "| spelling | |\n|---|---|\n")
	if !ok {
		t.Fatal("docs/models.md has no table of spellings")
	}
	kinds := map[Kind]string{Catalog: "catalog", Hub: "repository", Registry: "registry", URL: "server", File: "file"}
	seen := map[Kind]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			break
		}
		for i, text := range strings.Split(cells[1], "`") {
			if i%2 == 0 {
				continue
			}
			n, err := Parse(text, "")
			if err != nil || !strings.Contains(cells[2], kinds[n.Kind]) {
				t.Errorf("%s: %+v, %v; the table says%s", text, n, err, cells[2])
			}
			seen[n.Kind] = true
		}
	}
	if len(seen) != len(kinds) {
		t.Errorf("the table shows the kinds %v", seen)
	}
}
