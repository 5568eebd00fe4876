package file

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/providertest"
	"aisync.dev/aisync/reconcile"
)

// document is a suite about one leaf in a document. text writes the document
// that holds a value, "" none; bare is the one without it.
func document(address reconcile.Address, format string, key reconcile.LeafKey, bare string, text func(v string) string, body func(v string) reconcile.Body) providertest.Suite {
	own := reconcile.Member
	switch key {
	case "":
		own = reconcile.Exclusive
	case reconcile.Seed:
		own = reconcile.SeedOnly
	}
	put := func(t *testing.T, b *providertest.Bench, v string) {
		t.Helper()
		if v == "" && bare == "" {
			if err := os.RemoveAll(b.Path()); err != nil {
				t.Fatal(err)
			}
			return
		}
		content := bare
		if v != "" {
			content = text(v)
		}
		write(t, b.Path(), content, 0o644)
	}
	return providertest.Suite{
		Provider: Provider{}, Address: address, Format: format, KeepsSeed: own == reconcile.SeedOnly,
		Prepare: func(t *testing.T, b *providertest.Bench) {
			if bare != "" {
				put(t, b, "")
			}
		},
		Want: func(_ *providertest.Bench, v string) []reconcile.Leaf {
			return []reconcile.Leaf{{Key: key, Own: own, Body: body(v)}}
		},
		Put: put,
		Get: func(t *testing.T, b *providertest.Bench) string {
			t.Helper()
			got, err := os.ReadFile(b.Path())
			if os.IsNotExist(err) && bare == "" {
				return ""
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []string{"X", "Y", "Z"} {
				if string(got) == text(v) {
					return v
				}
			}
			if string(got) == bare {
				return ""
			}
			return fmt.Sprintf("unexpected %q", got)
		},
		Block: func(t *testing.T, b *providertest.Bench) {
			if err := os.RemoveAll(b.Path()); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(b.Path(), "inside"), 0o755); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func write(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func TestFilePassesProviderSuite(t *testing.T) {
	content := func(v string) string { return "first line\nvalue " + v + "\n" }
	whole := func(v string) reconcile.Body { return Whole([]byte(content(v)), 0o644) }
	value := func(v string) reconcile.Body { return Value(merge.Value(`"` + v + `"`)) }
	replaced := func(form string) func(string) string {
		return func(v string) string { return strings.ReplaceAll(form, "VALUE", v) }
	}
	for name, s := range map[string]providertest.Suite{
		"whole": document("file:~/.tool/deep/a.md", "", "", "", content, whole),
		"seed":  document("file:notes/AGENTS.md", "", reconcile.Seed, "", content, whole),
		"json": document("file:~/.tool/settings.json", "json", "/outer/inner", "{\n  // mine\n  \"user\": [1, 2]\n}\n",
			replaced("{\n  // mine\n  \"user\": [1, 2],\n  \"outer\": {\"inner\": \"VALUE\"}\n}\n"), value),
		"json of our own": document("file:.tool/settings.json", "json", "/outer/inner", "",
			replaced("{\n  \"outer\": {\n    \"inner\": \"VALUE\"\n  }\n}\n"), value),
		"toml": document("file:~/.tool/config.toml", "toml", "/outer/inner", "# mine\nuser = 1\n\n[other]\nx = true\n",
			replaced("# mine\nuser = 1\n\n[other]\nx = true\n\n[outer]\ninner = \"VALUE\"\n"), value),
		"block": document("file:AGENTS.md", "text", "block:rules", "# Mine\n\ntext\n",
			nil, func(v string) reconcile.Body { return Block(merge.Markdown, "value "+v+"\nand more") }),
	} {
		if name == "block" {
			s = blockSuite(s)
		}
		if name != "whole" && name != "json of our own" {
			s.Stride = 3
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, func(*testing.T) providertest.Suite { return s })
		})
	}
}

// blockSuite writes a block as package merge does: how its markers look is not
// what is tested here.
func blockSuite(s providertest.Suite) providertest.Suite {
	const bare = "# Mine\n\ntext\n"
	text := func(v string) string {
		res, err := merge.Edit(merge.Markdown, []byte(bare), []merge.Op{{Key: "block:rules", Value: merge.TextValue("value " + v + "\nand more")}}, nil)
		if err != nil {
			panic(err)
		}
		return string(res.Doc)
	}
	return document(s.Address, s.Format, "block:rules", bare, text, func(v string) reconcile.Body {
		return Block(merge.Markdown, "value "+v+"\nand more")
	})
}

func TestLinesPassProviderSuite(t *testing.T) {
	for name, bare := range map[string]string{"in a file of the user": "node_modules\n", "in a file of our own": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := func(string) string { return strings.Replace(bare, "\n", "\n\n", 1) + "# --- x ---\n/.cache/\n" }
			s := document("file:.gitignore", "text", "line:/.cache/", bare, text, func(string) reconcile.Body { return Line("# --- x ---") })
			s.OneValue, s.Stride = true, 3
			providertest.Run(t, func(*testing.T) providertest.Suite { return s })
		})
	}
}

func TestExecutableFilesPassProviderSuite(t *testing.T) {
	s := document("file:githooks/pre-commit", "", "", "", nil, nil)
	s.Stride = 3
	modes := map[string]fs.FileMode{"X": 0o755, "Y": 0o644, "Z": 0o644}
	content := map[string]string{"X": "#!/bin/sh\n", "Y": "#!/bin/sh\n", "Z": "#!/bin/sh\ntrue\n"}
	s.Want = func(_ *providertest.Bench, v string) []reconcile.Leaf {
		return []reconcile.Leaf{{Body: Whole([]byte(content[v]), modes[v])}}
	}
	s.Put = func(t *testing.T, b *providertest.Bench, v string) {
		if err := os.RemoveAll(b.Path()); err != nil {
			t.Fatal(err)
		}
		if v != "" {
			write(t, b.Path(), content[v], modes[v])
		}
	}
	s.Get = func(t *testing.T, b *providertest.Bench) string {
		info, err := os.Stat(b.Path())
		if os.IsNotExist(err) {
			return ""
		}
		got, _ := os.ReadFile(b.Path())
		for _, v := range []string{"X", "Y", "Z"} {
			if content[v] == string(got) && modes[v] == info.Mode() {
				return v
			}
		}
		return fmt.Sprintf("unexpected %q %s", got, info.Mode())
	}
	providertest.Run(t, func(*testing.T) providertest.Suite { return s })
}
