package merge

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"strings"
	"testing"
)

// owned is what a caller keeps of a leaf.
type owned struct {
	op   Op
	made []string
}

// roundTrip adds ops in batches and removes them in some order, keeping
// records as a caller does, and wants the bytes of doc back.
func roundTrip(t *testing.T, r *rand.Rand, f Format, doc []byte, ops []Op) {
	t.Helper()
	var records []owned
	union := func() (all []string) {
		for _, o := range records {
			all = append(all, o.made...)
		}
		return all
	}
	edit := func(doc []byte, ops []Op) Result {
		t.Helper()
		res, err := Edit(f, doc, ops, union())
		if err != nil {
			t.Fatalf("edit %+v of\n%q: %v", ops, doc, err)
		}
		again, err := Edit(f, res.Doc, ops, union())
		if err != nil || again.Changed || !bytes.Equal(again.Doc, res.Doc) {
			t.Fatalf("editing twice is not editing once: %v\n%q\n%q", err, res.Doc, again.Doc)
		}
		return res
	}
	now := doc
	for rest := ops; len(rest) > 0; {
		n := 1 + r.Intn(len(rest))
		res := edit(now, rest[:n])
		for i, op := range rest[:n] {
			records = append(records, owned{op, res.Made[i]})
		}
		now, rest = res.Doc, rest[n:]
	}
	full := now
	r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	for len(records) > 0 {
		n := 1 + r.Intn(len(records))
		var gone []Op
		for _, o := range records[:n] {
			gone = append(gone, Op{Key: o.op.Key})
		}
		now = edit(now, gone).Doc
		records = records[n:]
	}
	if !bytes.Equal(now, doc) {
		t.Fatalf("removing what was added does not give the document back\nbefore %q\nfull   %q\nafter  %q\nops %+v", doc, full, now, ops)
	}
}

// pick returns some of pool whose keys are not in doc, in some order.
func pick(t *testing.T, r *rand.Rand, f Format, doc []byte, pool []Op) []Op {
	t.Helper()
	var keys []string
	for _, op := range pool {
		keys = append(keys, op.Key)
	}
	have, err := Read(f, doc, keys)
	if err != nil {
		t.Fatalf("read %q: %v", doc, err)
	}
	var ops []Op
	for _, i := range r.Perm(len(pool)) {
		if _, there := have[pool[i].Key]; !there && r.Intn(3) > 0 {
			ops = append(ops, pool[i])
		}
	}
	return ops
}

func hook(event, matcher, command string) Op {
	return Op{Key: HookKey("/hooks", event, matcher, "command", command),
		Value: Value(`{"type":"command","command":` + string(quote(command)) + `,"timeout":30}`)}
}

var jsonPool = []Op{
	{Key: "/mcpServers/notes", Value: Value(`{"command":"npx","args":["-y","notes"],"env":{}}`)},
	{Key: "/mcpServers/files", Value: Value(`{"type":"http","url":"http://127.0.0.1:1/"}`)},
	{Key: `/permissions/allow#"Bash(make test)"`, Value: Value("true")},
	{Key: `/permissions/allow#"Bash(go vet *)"`, Value: Value(`"Bash(go vet *)"`)},
	{Key: `/permissions/deny#"Read(.env)"`, Value: Value("true")},
	{Key: `/permissions/deny#{"a":[1,2]}`, Value: Value(`{"a":[1,2.0]}`)},
	{Key: "/model", Value: Value(`"opus"`)},
	{Key: "/a~1b/c~0d/e~2f", Value: Value(`[1,{"x":null}]`)},
	{Key: "/deep/er/still", Value: Value(`{}`)},
	{Key: "/deep/er/more", Value: Value(`1.50`)},
	hook("PostToolUse", "Edit|Write", "check.sh"),
	hook("PostToolUse", "Edit|Write", "other.sh"),
	hook("PostToolUse", "", "log.sh"),
	hook("Stop", "", "bell.sh"),
	hook("Stop", "Bash", "bell.sh"),
}

func variants(s string) []string {
	out := []string{s, strings.TrimSuffix(s, "\n"), "\xef\xbb\xbf" + s, strings.ReplaceAll(s, "\n", "\r\n")}
	return append(out, strings.ReplaceAll(s, "  ", "\t"), strings.ReplaceAll(s, "  ", ""), strings.ReplaceAll(s, "  ", "    "))
}

var jsonDocs = []string{
	"", "\n", "  \r\n", "{}", "{}\n", "{ }", "{\n}\n", "{\n\n}\n", "// only a comment", "// only a comment\n", "/* c */\n\n",
	`{"a":1}`, `{"a": 1, "b": [1, 2]}`, `{ "a": 1 }`, `{"permissions":{"allow":[],"deny":[ ]},"hooks":{}}`,
	`{"permissions": {"allow": ["x"]}, "hooks": {"Stop": []}}`,
	"{\n  \"a\": 1 // about a\n}\n// end", "{\n  \"a\": 1, // about a\n}\n", "{\n  \"a\": 1\n  // \"b\": 2\n}", "{\"a\":1 // x\n}", "{ // x\n}",
	"{\"a\":1 , }", "{\"permissions\":{\"allow\":[\"x\", // why\n]}}", "{\"a\":1 /* b */ , /* c */ }",
	"{\n  \"permissions\": {\n    \"allow\": [\"x\", \"y\"],\n    \"deny\": []\n  }\n}\n",
	"{\n  \"permissions\": {\n    // none yet\n  },\n  \"mcpServers\": {\n  }\n}\n",
	"{\n  \"hooks\": {\n    \"PostToolUse\": [\n      {\"matcher\": \"Edit|Write\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine.sh\"}]}\n    ]\n  }\n}\n",
	"{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [] // none\n      }\n    ],\n    \"PostToolUse\": [ /* later */ ],\n  },\n}\n",
	claudeSettings, claudeJSON, opencodeJSONC,
}

func TestRemovingWhatWasAddedGivesTheSameJSONBytes(t *testing.T) {
	for seed := range int64(4) {
		r := rand.New(rand.NewSource(seed))
		for _, base := range jsonDocs {
			for _, doc := range variants(base) {
				t.Logf("seed %d", seed)
				roundTrip(t, r, JSONC, []byte(doc), pick(t, r, JSONC, []byte(doc), jsonPool))
			}
		}
	}
}

func TestUnownedJSONKeepsItsValues(t *testing.T) {
	rules := Rules{Sets: []string{"/permissions/*"}, Hooks: "/hooks"}
	for seed := range int64(8) {
		r := rand.New(rand.NewSource(seed))
		for _, doc := range jsonDocs {
			before, err := Flatten([]byte(doc), rules)
			if err != nil {
				continue // nothing in it
			}
			ops := pick(t, r, JSON, []byte(doc), jsonPool)
			res, err := Edit(JSON, []byte(doc), ops, nil)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			after, err := Flatten(res.Doc, rules)
			if err != nil {
				t.Fatalf("seed %d: %q: %v", seed, res.Doc, err)
			}
			values := map[string]Value{}
			for _, l := range after {
				values[l.Key] = l.Value
			}
			for _, l := range before {
				if string(l.Value) != "{}" && !bytes.Equal(values[l.Key], l.Value) {
					t.Fatalf("seed %d: %s was %s, is %s in\n%s", seed, l.Key, l.Value, values[l.Key], res.Doc)
				}
			}
			if len(ops) > 0 && !strings.Contains(doc, "//") && !strings.Contains(doc, "/*") && !strings.Contains(doc, ", }") && !json.Valid(res.Doc) {
				t.Fatalf("seed %d: plain JSON became\n%s", seed, res.Doc)
			}
		}
	}
}

var tomlPool = []Op{
	{Key: "/model", Value: Value(`"gpt"`)},
	{Key: "/temperature", Value: Value(`0.5`)},
	{Key: "/mcp_servers/fetch", Value: Value(`{"command":"uvx","args":["fetch"],"env":{"A":"1"}}`)},
	{Key: "/mcp_servers/big", Value: Value(`{"command":"x","sub":{"deep":{"er":true}},"list":[{"a":1}]}`)},
	{Key: "/projects/~1abs~1dir/trust_level", Value: Value(`"trusted"`)},
	{Key: "/projects/~1abs~1dir/other", Value: Value(`[1,2]`)},
	{Key: "/tools/web/search", Value: Value(`true`)},
	{Key: "/tools/view", Value: Value(`{"$datetime":"1979-05-27T07:32:00Z"}`)},
	{Key: `/notify#"a\nb"`, Value: Value("true")},
	{Key: `/notify#2`, Value: Value("true")},
	{Key: `/sandbox/roots#"/tmp"`, Value: Value("true")},
	{Key: "/inline/x", Value: Value(`1`)},
	{Key: "/inline/sub/y", Value: Value(`{"z":"\u007f"}`)},
}

var tomlDocs = []string{
	"", "\n", "\n\n", "# only a comment", "# only a comment\n", "a = 1", "a = 1\n", "a = 1 # why\n\n\n",
	"# top\n\n[t]\nk = 1\n", "# of t\n[t]\nk = 1\n", "[t]\n", "\n[t]\nk=1", "[t] # t\n\n  [t.u]\n  k = 1\n\n# end",
	"[mcp_servers]\n", "[mcp_servers.fetched]\ncommand = 'x'\n\n[z]\n", "mcp_servers.x.command = \"y\"\nz = 1\n", "tools.web.other = true\n[q]\na=1\n",
	"[projects.\"/abs/dir\"]\n", "[projects]\n\"/abs/dir\" = { a = 1 }\n", "[projects.'/abs/dir']\nother2 = 1\n# tail\n[x]\n",
	"notify = []\n", "notify = [ ]\n[t]", "notify = [\n  \"x\", # why\n  \"y\"\n]\n", "notify = [\"x\",]\n[sandbox]\nroots = [ 'a' ]\n",
	"inline = {}\n", "inline = { }", "inline = { a = 1, sub = {} }\n[t]\n", "inline = { sub.q = 1 }\n", "[[inlined]]\na = 1\n\n[[inlined]]\nb = [{x=1}]\n",
	codexConfig,
}

func TestRemovingWhatWasAddedGivesTheSameTOMLBytes(t *testing.T) {
	for seed := range int64(4) {
		r := rand.New(rand.NewSource(seed))
		for _, base := range tomlDocs {
			for _, doc := range variants(base) {
				t.Logf("seed %d", seed)
				roundTrip(t, r, TOML, []byte(doc), pick(t, r, TOML, []byte(doc), tomlPool))
			}
		}
	}
}

var textPool = []Op{
	{Key: "line:/.cache/", Value: Value("true"), Header: "# --- elisp ruleset ---"},
	{Key: "line:*.elc", Value: Value("true"), Header: "# --- elisp ruleset ---"},
	{Key: "line:*.eln", Value: Value("true"), Header: "# --- elisp ruleset ---"},
	{Key: "line:__pycache__/", Value: Value("true"), Header: "# --- python ruleset ---"},
	{Key: "line:.venv/", Value: Value("true"), Header: "# --- python ruleset ---"},
	{Key: "line:@AGENTS.md", Value: Value("true")},
	{Key: "line:loose", Value: Value("true")},
	{Key: "block:rules", Value: TextValue("one\n\ntwo\n")},
	{Key: "block:empty", Value: TextValue("")},
}

var textDocs = []string{
	"", "\n", "\n\n\n", "node_modules", "node_modules\n", "a\n\n\n", "a  \n  \n", "a\n\n# --- elisp ruleset ---\n*.elc\n\nb\n", "# --- elisp ruleset ---",
	"x\n# --- elisp ruleset ---\n# --- python ruleset ---\ny", "# Title\n\nSome *text*.\n", "\n\nlate\n",
}

func TestRemovingWhatWasAddedGivesTheSameTextBytes(t *testing.T) {
	for seed := range int64(6) {
		r := rand.New(rand.NewSource(seed))
		for _, base := range textDocs {
			for _, doc := range variants(base) {
				for _, f := range []Format{Text, Markdown, Slashes} {
					t.Logf("seed %d", seed)
					roundTrip(t, r, f, []byte(doc), pick(t, r, f, []byte(doc), textPool))
				}
			}
		}
	}
}
