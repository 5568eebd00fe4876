package yaml

import (
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge/leaf"
	"aisync.dev/aisync/internal/merge/mergetest"
)

var suite = mergetest.Suite{
	Format: YAML,
	Docs:   docs,
	Ops:    ops,
	Edits: []mergetest.Edit{
		{Name: "new document", Doc: "", Want: "extensions:\n  notes:\n    cmd: npx\n    args:\n      - \"-y\"\n      - notes\n", Op: mergetest.Set("/extensions/notes", `{"cmd":"npx","args":["-y","notes"]}`)},
		{Name: "dashes as they are", Doc: "a:\n- x\n", Want: "a:\n- x\nb:\n- z\n", Op: mergetest.Set("/b", `["z"]`)},
		{Name: "four spaces", Doc: "a:\n    b: 1\n", Want: "a:\n    b: 1\n    c:\n        d: 2\n", Op: mergetest.Set("/a/c", `{"d":2}`)},
		{Name: "before the comment below", Doc: "a:\n  b: 1 # one\n  # c: 2\nz: 1\n", Want: "a:\n  b: 1 # one\n  c: 3\n  # c: 2\nz: 1\n", Op: mergetest.Set("/a/c", "3")},
		{Name: "flow", Doc: "a: {b: 1}\n", Want: "a: {b: 1, c: {d: [x, 2]}}\n", Op: mergetest.Set("/a/c", `{"d":["x",2]}`)},
		{Name: "member", Doc: aiderConf, Want: strings.Replace(aiderConf, `b.md"]`, `b.md", CONVENTIONS.md]`, 1), Op: mergetest.Set(`/read#"CONVENTIONS.md"`, "true")},
		{Name: "member of a block", Doc: aiderConf, Want: strings.Replace(aiderConf, "gofmt -l'\n", "gofmt -l'\n  - \"x: y\"\n", 1), Op: mergetest.Set(`/lint-cmd#"x: y"`, "true")},
		{Name: "scalar in its place", Doc: aiderConf, Want: strings.Replace(aiderConf, "openai/qwen3-coder ", "openai/other ", 1), Op: mergetest.Set("/model", `"openai/other"`)},
		{Name: "equal by value is left", Doc: aiderConf, Want: aiderConf, Op: mergetest.Set("/lint-cmd", `["python: ruff check --fix","go: gofmt -l"]`)},
		{Name: "no is a text", Doc: aiderConf, Want: aiderConf, Op: mergetest.Set("/auto-commits", `"no"`)},
		{Name: "null becomes a mapping", Doc: "a: # later\nb: 1\n", Want: "a: # later\n  c: 1\nb: 1\n", Op: mergetest.Set("/a/c", "1")},
		{Name: "a scalar becomes a mapping", Doc: "a: 1 # one\nb: 1\n", Want: "a: # one\n  c: 1\nb: 1\n", Op: mergetest.Set("/a", `{"c":1}`)},
		{Name: "a mapping becomes a scalar", Doc: "a: # why\n  # x\n  c: 1\nb: 1\n", Want: "a: 5 # why\nb: 1\n", Op: mergetest.Set("/a", `5`)},
		{Name: "a text of lines becomes a scalar", Doc: "a: |\n  x\n\n  y\nb: 1\n", Want: "a: z\nb: 1\n", Op: mergetest.Set("/a", `"z"`)},
		{Name: "line ends", Doc: "a: 1\r\n", Want: "a: 1\r\nb:\r\n  - 2\r\n", Op: mergetest.Set("/b", "[2]")},
		{Name: "words that mislead are quoted", Doc: "", Want: "a:\n  - \"yes\"\n  - \"1\"\n  - \"\"\n  - \"~\"\n  - \"a: b\"\n  - plain text\n  - 1.0e+99\n", Op: mergetest.Set("/a", `["yes","1","","~","a: b","plain text",1e99]`)},
		{Name: "a mapping that was not made here stays", Doc: "m:\n  a: 1\n", Want: "m: {}\n", Op: leaf.Op{Key: "/m/a"}},
		{Name: "a sequence that was not made here stays", Doc: "m:\n- 1\n", Want: "m: []\n", Op: leaf.Op{Key: "/m#1"}},
		{Name: "a flow mapping that was not made here stays", Doc: "m: {a: 1}\n", Want: "m: {}\n", Op: leaf.Op{Key: "/m/a"}},
	},
	Removals: []mergetest.Removal{
		{Name: "a comment in our mapping", Doc: "z: 0\n", Op: mergetest.Set("/m/a", "1"), Person: func(s string) string { return strings.Replace(s, "  a:", "  # mine\n  a:", 1) }, Want: "z: 0\nm: {}\n  # mine\n"},
		{Name: "a comment beside our entry", Doc: "z: 0\n", Op: mergetest.Set("/a", "1"), Person: func(s string) string { return strings.Replace(s, "a: 1", "a: 1 # mine", 1) }, Want: "z: 0\n# mine\n"},
		{Name: "a key in our mapping", Doc: "", Op: mergetest.Set("/m/a", "1"), Person: func(s string) string { return s + "  b: 2\n" }, Want: "m:\n  b: 2\n"},
		{Name: "an item in our sequence", Doc: "", Op: mergetest.Set(`/m#1`, "true"), Person: func(s string) string { return s + "  - 2\n" }, Want: "m:\n  - 2\n"},
		{Name: "a second document's worth of text", Doc: "", Op: mergetest.Set(`/m`, "1"), Person: func(s string) string { return s + "# end\n" }, Want: "{}\n# end\n"},
	},
	Reads: []mergetest.Read{
		{Doc: gooseConfig, Key: "/extensions/memory", Want: `{"args":["-y","memory"],"description":"Keeps notes.\n\n  # not a comment\n","envs":{},"type":"stdio"}`, Line: 12},
		{Doc: gooseConfig, Key: "/slash", Want: `"folded text"`, Line: 23},
		{Doc: aiderConf, Key: `/read#"docs/a, b.md"`, Want: `"docs/a, b.md"`, Line: 3},
		{Doc: "a: 0x1F\n", Key: "/a", Want: "31", Line: 1},
		{Doc: "a: 1.50\n", Key: "/a", Want: "1.5e0", Line: 1},
		{Doc: "a: -.inf\n", Key: "/a", Want: `{"$float":"-inf"}`, Line: 1},
		{Doc: "a: 123456789012345678901234567890123\n", Key: "/a", Want: "1.23456789012345678901234567890123e32", Line: 1},
		{Doc: "a: 2001-01-01\n", Key: "/a", Want: `{"$datetime":"2001-01-01"}`, Line: 1},
		{Doc: "a: !!str 5\n", Key: "/a", Want: `"5"`, Line: 1},
		{Doc: "a: yes\n", Key: "/a", Want: `"yes"`, Line: 1},
		{Doc: "\"\\u0061\": \"\\u00e9\\x41\"\n", Key: "/a", Want: `"éA"`, Line: 1},
	},
	Faults: []mergetest.Fault{
		{Doc: "a: 1\nb: [1,\n", Op: mergetest.Set("/x", "1"), Want: "2:1: invalid YAML"},
		{Doc: "a: 1\n\tb: 2\n", Op: mergetest.Set("/x", "1"), Want: "2:2: invalid YAML: the line is indented with a tab"},
		{Doc: "a: 1\n b: 2\n", Op: mergetest.Set("/x", "1"), Want: "2:2: invalid YAML"},
		{Doc: "a: 1\nb: \"x\n", Op: mergetest.Set("/x", "1"), Want: "2:1: invalid YAML"},
		{Doc: "a: b: c\n", Op: mergetest.Set("/x", "1"), Want: "1:1: invalid YAML: mapping values are not allowed"},
		{Doc: "a: 1\nb: 2\na: 3\n", Op: mergetest.Set("/x", "1"), Want: `3:1: the name "a" stands twice in one mapping, first in line 1`},
		{Doc: "x: {b: 1,\n  b: 2}\n", Op: mergetest.Set("/y", "1"), Want: `2:3: the name "b" stands twice`},
		{Doc: "a: 1\n---\nb: 2\n", Op: mergetest.Set("/x", "1"), Want: "2:1: a second document begins here"},
		{Doc: "- 1\n", Op: mergetest.Set("/x", "1"), Want: "1:1: the document is a sequence, want a mapping"},
		{Doc: "a: text\n", Op: mergetest.Set("/a/b", "1"), Want: "1:4: /a is a string, want a mapping"},
		{Doc: "a: []\n", Op: mergetest.Set("/a/b", "1"), Want: "1:4: /a is a sequence, want a mapping"},
		{Doc: "a: {}\n", Op: mergetest.Set("/a#1", "true"), Want: "1:4: /a is a mapping, want a sequence"},
		{Doc: "a: &x {b: 1}\nc: *x\n", Op: mergetest.Set("/a/d", "1"), Want: "1:7: /a has the anchor &x"},
		{Doc: "a: &x {b: 1}\nc: *x\n", Op: mergetest.Set("/c/d", "1"), Want: "2:4: /c is the alias *x"},
		{Doc: "a: &x {b: 1}\nc: [*x]\n", Op: mergetest.Set("/c", "1"), Want: "2:5: /c is the alias *x"},
		{Doc: "a: &x {b: 1}\nc:\n  <<: *x\n", Op: mergetest.Set("/c/d", "1"), Want: "3:3: /c merges another mapping with <<"},
		{Doc: "a: !my 1\n", Op: mergetest.Set("/a", "1"), Want: "1:8: /a has the tag !my"},
		{Doc: "a: *nope\n", Op: mergetest.Set("/x", "1"), Want: "1:1: invalid YAML: unknown anchor 'nope'"},
		{Doc: "a: 1\rb: 2\n", Op: mergetest.Set("/x", "1"), Want: "1:5: the document holds a carriage return"},
		{Doc: "a: 1\nb: \x01\n", Op: mergetest.Set("/x", "1"), Want: "invalid YAML: control characters are not allowed"},
		{Doc: strings.Repeat("[", 5000) + strings.Repeat("]", 5000), Op: mergetest.Set("/x", "1"), Want: "nests more than 1000 deep"},
	},
	Priors: []mergetest.Prior{
		{Doc: "a:  'x'   # why\nb: 1\n", Key: "/a", Other: `"another"`},
		{Doc: "t:\n  a: { b: [1, 'x'] }\n", Key: "/t/a", Other: `"another"`},
		{Doc: "t: {a: 0x1f, b: 2}\n", Key: "/t/a", Other: `"another"`},
	},
}

func TestSuite(t *testing.T) { mergetest.Run(t, suite) }

func TestNothingFollowsTheEndOfADocument(t *testing.T) {
	if res := mergetest.MustEdit(t, YAML, "a: 1\n...\n# c\n...\n", nil, mergetest.Set("/b", "1")); !res.Changed {
		t.Error("a leaf before the end was not written")
	}
}

func FuzzEditYAML(f *testing.F) { mergetest.Fuzz(f, suite) }
