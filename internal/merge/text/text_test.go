package text

import (
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge/leaf"
	"aisync.dev/aisync/internal/merge/mergetest"
)

var ops = []leaf.Op{
	{Key: "line:/.cache/", Value: leaf.Value("true"), Header: "# --- elisp ruleset ---"},
	{Key: "line:*.elc", Value: leaf.Value("true"), Header: "# --- elisp ruleset ---"},
	{Key: "line:*.eln", Value: leaf.Value("true"), Header: "# --- elisp ruleset ---"},
	{Key: "line:__pycache__/", Value: leaf.Value("true"), Header: "# --- python ruleset ---"},
	{Key: "line:.venv/", Value: leaf.Value("true"), Header: "# --- python ruleset ---"},
	{Key: "line:@AGENTS.md", Value: leaf.Value("true")},
	{Key: "line:loose", Value: leaf.Value("true")},
	{Key: "block:rules", Value: leaf.TextValue("one\n\ntwo\n")},
	{Key: "block:empty", Value: leaf.TextValue("")},
}

var docs = []string{
	"", "\n", "\n\n\n", "node_modules", "node_modules\n", "a\n\n\n", "a  \n  \n", "a\n\n# --- elisp ruleset ---\n*.elc\n\nb\n", "# --- elisp ruleset ---",
	"x\n# --- elisp ruleset ---\n# --- python ruleset ---\ny", "# Title\n\nSome *text*.\n", "\n\nlate\n",
}

// The formats differ in the form of their markers.
var suites = []mergetest.Suite{{
	Format: Text,
	Docs:   docs,
	Ops:    ops,
	Edits: []mergetest.Edit{
		{Name: "line under its header", Doc: "# --- e ---\n*.elc\n\nmine", Want: "# --- e ---\n*.elc\n*.eln\n\nmine", Op: leaf.Op{Key: "line:*.eln", Value: leaf.Value("true"), Header: "# --- e ---"}},
		{Name: "no glued line", Doc: "node_modules", Want: "node_modules\n\n# --- e ---\n*.eln", Op: leaf.Op{Key: "line:*.eln", Value: leaf.Value("true"), Header: "# --- e ---"}},
		{Name: "line that is there", Doc: "a\r\n*.eln\r\n", Want: "a\r\n*.eln\r\n", Op: leaf.Op{Key: "line:*.eln", Value: leaf.Value("true"), Header: "# --- e ---"}},
		{Name: "line ends of text", Doc: "a\r\n", Want: "a\r\nb\r\n", Op: mergetest.Set("line:b", "true")},
	},
	Removals: []mergetest.Removal{
		{Name: "a line under our header", Doc: "a\n", Op: leaf.Op{Key: "line:x", Value: leaf.Value("true"), Header: "# --- e ---"}, Person: func(s string) string { return s + "mine\n" }, Want: "a\n\n# --- e ---\nmine\n"},
	},
	Reads: []mergetest.Read{
		{Doc: "a\r\n/x/\r\n", Key: "line:/x/", Want: "true", Line: 2},
	},
	Faults: []mergetest.Fault{
		{Doc: "x\n# aisync:begin a\n", Op: mergetest.Set("block:a", `"x"`), Want: "2:1: block a begins in line 2 and does not end"},
		{Doc: "# aisync:begin a\n# aisync:begin b\n", Op: mergetest.Set("block:a", `"x"`), Want: "2:1: block b begins within block a, which begins in line 1"},
		{Doc: "# aisync:end a\n", Op: mergetest.Set("block:a", `"x"`), Want: "1:1: block a ends here"},
		{Doc: "# aisync:begin a\n# aisync:end a\n# aisync:begin a\n", Op: mergetest.Set("block:a", `"x"`), Want: "3:1: block a begins a second time, first in line 1"},
	},
}, {
	Format: Markdown,
	Docs:   docs,
	Ops:    ops,
	Edits: []mergetest.Edit{
		{Name: "block", Doc: "# T\n", Want: "# T\n\n<!-- aisync:begin r -->\nx\ny\n<!-- aisync:end r -->\n", Op: mergetest.Set("block:r", `"x\ny\n"`)},
		{Name: "block is replaced", Doc: "<!-- aisync:begin r -->\nx\n<!-- aisync:end r -->\nmine\n", Want: "<!-- aisync:begin r -->\n<!-- aisync:end r -->\nmine\n", Op: mergetest.Set("block:r", `""`)},
	},
	Reads: []mergetest.Read{
		{Doc: "# T\n\n<!-- aisync:begin r -->\r\none\r\ntwo\r\n<!-- aisync:end r -->\n", Key: "block:r", Want: `"one\ntwo"`, Line: 3},
	},
}, {
	Format: Slashes,
	Docs:   docs,
	Ops:    ops,
	Edits: []mergetest.Edit{
		{Name: "block", Doc: "x\n", Want: "x\n\n// aisync:begin r\ny\n// aisync:end r\n", Op: mergetest.Set("block:r", `"y"`)},
		{Name: "markers of another format are text", Doc: "# aisync:begin r\n", Want: "# aisync:begin r\n\n// aisync:begin r\n// aisync:end r\n", Op: mergetest.Set("block:r", `""`)},
	},
	Reads: []mergetest.Read{
		{Doc: "x\n// aisync:begin r\n//aisync:end r\n// aisync:end r\n", Key: "block:r", Want: `"//aisync:end r"`, Line: 2},
	},
}}

func TestSuite(t *testing.T) {
	for _, s := range suites {
		t.Run(s.Format.Name, func(t *testing.T) { mergetest.Run(t, s) })
	}
}

// indented are variants with and without indentation of two spaces.
func indented(s string) []string {
	out := mergetest.Variants(s)
	return append(out, strings.ReplaceAll(s, "  ", "\t"), strings.ReplaceAll(s, "  ", ""), strings.ReplaceAll(s, "  ", "    "))
}

func TestRemovingWhatWasAddedGivesTheSameTextBytes(t *testing.T) {
	for _, s := range suites {
		mergetest.RoundTrips(t, s, indented, 6)
	}
}

func FuzzEditText(f *testing.F) { mergetest.Fuzz(f, suites...) }

func TestLinesKeepTheOrderOfTheirGroup(t *testing.T) {
	group := []string{"/out/*", "!/out/keep", "node_modules/"}
	op := func(line, header string) leaf.Op {
		return leaf.Op{Key: "line:" + line, Value: leaf.Value("true"), Header: header, Group: group}
	}
	for _, c := range []struct {
		name, doc string
		op        leaf.Op
		want      string
	}{
		{"after the nearest before it", "# --- e ---\n/out/*\nmine\nnode_modules/\n", op("!/out/keep", "# --- e ---"), "# --- e ---\n/out/*\n!/out/keep\nmine\nnode_modules/\n"},
		{"before the nearest after it", "# --- e ---\nmine\n!/out/keep\n", op("/out/*", "# --- e ---"), "# --- e ---\nmine\n/out/*\n!/out/keep\n"},
		{"before the first line", "!/out/keep\r\nx\r\n", op("/out/*", ""), "/out/*\r\n!/out/keep\r\nx\r\n"},
		{"none of its group", "# --- e ---\nmine\n", op("/out/*", "# --- e ---"), "# --- e ---\nmine\n/out/*\n"},
		{"a line of another group is no neighbour", "/out/*\n\n# --- e ---\nmine\n", op("!/out/keep", "# --- e ---"), "/out/*\n\n# --- e ---\nmine\n!/out/keep\n"},
		{"mixed line ends", "a\n/out/*\nnode_modules/\r\n", op("!/out/keep", ""), "a\n/out/*\n!/out/keep\nnode_modules/\r\n"},
	} {
		res := mergetest.MustEdit(t, Text, c.doc, nil, c.op)
		if string(res.Doc) != c.want {
			t.Errorf("%s: %q, want %q", c.name, res.Doc, c.want)
		}
		back := mergetest.MustEdit(t, Text, string(res.Doc), res.Made[0], leaf.Op{Key: c.op.Key})
		if string(back.Doc) != c.doc {
			t.Errorf("%s: removed again it is %q, want %q", c.name, back.Doc, c.doc)
		}
	}
}
