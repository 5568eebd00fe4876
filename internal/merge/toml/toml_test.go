package toml

import (
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge/leaf"
	"aisync.dev/aisync/internal/merge/mergetest"
)

var ops = []leaf.Op{
	{Key: "/model", Value: leaf.Value(`"gpt"`)},
	{Key: "/temperature", Value: leaf.Value(`0.5`)},
	{Key: "/mcp_servers/fetch", Value: leaf.Value(`{"command":"uvx","args":["fetch"],"env":{"A":"1"}}`)},
	{Key: "/mcp_servers/big", Value: leaf.Value(`{"command":"x","sub":{"deep":{"er":true}},"list":[{"a":1}]}`)},
	{Key: "/projects/~1abs~1dir/trust_level", Value: leaf.Value(`"trusted"`)},
	{Key: "/projects/~1abs~1dir/other", Value: leaf.Value(`[1,2]`)},
	{Key: "/tools/web/search", Value: leaf.Value(`true`)},
	{Key: "/tools/view", Value: leaf.Value(`{"$datetime":"1979-05-27T07:32:00Z"}`)},
	{Key: `/notify#"a\nb"`, Value: leaf.Value("true")},
	{Key: `/notify#2`, Value: leaf.Value("true")},
	{Key: `/sandbox/roots#"/tmp"`, Value: leaf.Value("true")},
	{Key: "/inline/x", Value: leaf.Value(`1`)},
	{Key: "/inline/sub/y", Value: leaf.Value(`{"z":"\u007f"}`)},
}

var docs = []string{
	"", "\n", "\n\n", "# only a comment", "# only a comment\n", "a = 1", "a = 1\n", "a = 1 # why\n\n\n",
	"# top\n\n[t]\nk = 1\n", "# of t\n[t]\nk = 1\n", "[t]\n", "\n[t]\nk=1", "[t] # t\n\n  [t.u]\n  k = 1\n\n# end",
	"[mcp_servers]\n", "[mcp_servers.fetched]\ncommand = 'x'\n\n[z]\n", "mcp_servers.x.command = \"y\"\nz = 1\n", "tools.web.other = true\n[q]\na=1\n",
	"[projects.\"/abs/dir\"]\n", "[projects]\n\"/abs/dir\" = { a = 1 }\n", "[projects.'/abs/dir']\nother2 = 1\n# tail\n[x]\n",
	"notify = []\n", "notify = [ ]\n[t]", "notify = [\n  \"x\", # why\n  \"y\"\n]\n", "notify = [\"x\",]\n[sandbox]\nroots = [ 'a' ]\n",
	"inline = {}\n", "inline = { }", "inline = { a = 1, sub = {} }\n[t]\n", "inline = { sub.q = 1 }\n", "[[inlined]]\na = 1\n\n[[inlined]]\nb = [{x=1}]\n",
	codexConfig,
}

var suite = mergetest.Suite{
	Format: TOML,
	Docs:   docs,
	Ops:    ops,
	Edits: []mergetest.Edit{
		{Name: "table at the end", Doc: "a = 1\n\n[x]\nb = 2\n", Want: "a = 1\n\n[x]\nb = 2\n\n[mcp_servers.fetch]\ncommand = \"uvx\"\nenv = { A = \"1\" }\n",
			Op: mergetest.Set("/mcp_servers/fetch", `{"command":"uvx","env":{"A":"1"}}`)},
		{Name: "quoted table", Doc: "", Want: "[projects.\"/abs/dir\"]\ntrust_level = \"trusted\"\n", Op: mergetest.Set("/projects/~1abs~1dir/trust_level", `"trusted"`)},
		{Name: "root key goes above tables", Doc: "# c\n\na = 1 # one\n\n[x]\n", Want: "# c\n\na = 1 # one\nb = 2\n\n[x]\n", Op: mergetest.Set("/b", "2")},
		{Name: "key in its table", Doc: "[x]\n  a = 1\n\n[y]\n", Want: "[x]\n  a = 1\n  b = [1, 2]\n\n[y]\n", Op: mergetest.Set("/x/b", "[1,2]")},
		{Name: "inline table", Doc: "x = { a = 1 }\n", Want: "x = { a = 1, b = 2 }\n", Op: mergetest.Set("/x/b", "2")},
		{Name: "dotted keys", Doc: "x.a = 1\ny = 2\n", Want: "x.a = 1\nx.b = 2\ny = 2\n", Op: mergetest.Set("/x/b", "2")},
		{Name: "table changes in place", Doc: "[m.f]\n# why\ncommand = 'a' # here\nold = 1\n\n[m.f.env]\nA = 'x'\n", Want: "[m.f]\n# why\ncommand = \"b\" # here\nnew = true\n\n[m.f.env]\nA = 'x'\n",
			Op: mergetest.Set("/m/f", `{"command":"b","env":{"A":"x"},"new":true}`)},
		{Name: "array member", Doc: "n = [\n  'a', # why\n]\n", Want: "n = [\n  'a', # why\n  \"b\",\n]\n", Op: mergetest.Set(`/n#"b"`, "true")},
		{Name: "what was not made here stays", Doc: "[t]\nk = 1\n", Want: "[t]\n", Op: leaf.Op{Key: "/t/k"}},
	},
	Removals: []mergetest.Removal{
		{Name: "a comment above our table", Doc: "a = 1\n", Op: mergetest.Set("/t/k", "1"),
			Person: func(s string) string { return strings.Replace(s, "[t]", "# mine\n[t]", 1) }, Want: "a = 1\n\n# mine\n"},
		{Name: "a comment beside our key", Doc: "[t]\na = 1\n", Op: mergetest.Set("/t/k", "1"),
			Person: func(s string) string { return strings.Replace(s, "k = 1", "k = 1 # mine", 1) }, Want: "[t]\na = 1\n# mine\n"},
		{Name: "a key in our table", Doc: "", Op: mergetest.Set("/t/k", "1"), Person: func(s string) string { return s + "mine = 2\n" }, Want: "[t]\nmine = 2\n"},
	},
	Reads: []mergetest.Read{
		{Doc: codexConfig, Key: "/projects/~1home~1me~1work/trust_level", Want: `"trusted"`, Line: 16},
		{Doc: codexConfig, Key: "/profiles/fast/limits", Want: `{"a":1,"b":{"$float":"inf"},"since":{"$datetime":"1979-05-27"}}`, Line: 20},
		{Doc: codexConfig, Key: "/mcp_servers/docs", Want: `{"args":["-y","docs-mcp"],"command":"npx","env":{"NUM":"1","TOKEN":"x"}}`, Line: 6},
		{Doc: codexConfig, Key: `/notify#"codex"`, Want: `"codex"`, Line: 4},
	},
	Faults: []mergetest.Fault{
		{Doc: "a = 1\nb = = 2\n", Op: mergetest.Set("/x", "1"), Want: "2:5: invalid TOML"},
		{Doc: "a = 1\na = 2\n", Op: mergetest.Set("/x", "1"), Want: "2:1: invalid TOML"},
		{Doc: "a = 1\n", Op: mergetest.Set("/a/b", "1"), Want: "1:1: /a is a number, want a table"},
		{Doc: "[[a]]\nb = 1\n", Op: mergetest.Set("/a/c", "1"), Want: "/a is an array, want a table"},
		{Doc: "a = " + strings.Repeat("[", 5000), Op: mergetest.Set("/x", "1"), Want: "nests 5000 deep"},
	},
	Priors: []mergetest.Prior{
		{Doc: "[t]\na = [ 1,\n 2 ] # two\n", Key: "/t/a", Other: `{"type":"command","command":"x","timeout":9}`},
		{Doc: "t = { a = 'x' , b = 1 }\n", Key: "/t/a", Other: `{"type":"command","command":"x","timeout":9}`},
	},
}

func TestSuite(t *testing.T) { mergetest.Run(t, suite) }

// indented are variants with and without indentation of two spaces.
func indented(s string) []string {
	out := mergetest.Variants(s)
	return append(out, strings.ReplaceAll(s, "  ", "\t"), strings.ReplaceAll(s, "  ", ""), strings.ReplaceAll(s, "  ", "    "))
}

func TestRemovingWhatWasAddedGivesTheSameTOMLBytes(t *testing.T) {
	mergetest.RoundTrips(t, suite, indented, 4)
}

func FuzzEditTOML(f *testing.F) { mergetest.Fuzz(f, suite) }
