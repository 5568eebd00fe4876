package json

import (
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge/leaf"
	"aisync.dev/aisync/internal/merge/mergetest"
)

// hookKey names a hook in /hooks.
func hookKey(event, matcher, typ, command string) string {
	return leaf.HookKey(leaf.Pointer("hooks", event), leaf.HookID{Matcher: matcher, Type: typ, Command: command})
}

func hook(event, matcher, command string) leaf.Op {
	return leaf.Op{Key: hookKey(event, matcher, "command", command),
		Value: leaf.Value(`{"type":"command","command":` + string(leaf.Quote(command)) + `,"timeout":30}`)}
}

// guard is a hook that differs from others only in its condition.
func guard(condition string) leaf.Op {
	return leaf.Op{Key: leaf.HookKey("/hooks/PostToolUse", leaf.HookID{Type: "command", Command: "log.sh", If: condition}),
		Value: leaf.Value(`{"type":"command","command":"log.sh","if":` + string(leaf.Quote(condition)) + `}`)}
}

var ops = []leaf.Op{
	{Key: "/mcpServers/notes", Value: leaf.Value(`{"command":"npx","args":["-y","notes"],"env":{}}`)},
	{Key: "/mcpServers/files", Value: leaf.Value(`{"type":"http","url":"http://127.0.0.1:1/"}`)},
	{Key: `/permissions/allow#"Bash(make test)"`, Value: leaf.Value("true")},
	{Key: `/permissions/allow#"Bash(go vet *)"`, Value: leaf.Value(`"Bash(go vet *)"`)},
	{Key: `/permissions/deny#"Read(.env)"`, Value: leaf.Value("true")},
	{Key: `/permissions/deny#{"a":[1,2]}`, Value: leaf.Value(`{"a":[1,2.0]}`)},
	{Key: "/model", Value: leaf.Value(`"opus"`)},
	{Key: "/a~1b/c~0d/e~2f", Value: leaf.Value(`[1,{"x":null}]`)},
	{Key: "/deep/er/still", Value: leaf.Value(`{}`)},
	{Key: "/deep/er/more", Value: leaf.Value(`1.50`)},
	hook("PostToolUse", "Edit|Write", "check.sh"),
	hook("PostToolUse", "Edit|Write", "other.sh"),
	hook("PostToolUse", "", "log.sh"),
	hook("Stop", "", "bell.sh"),
	hook("Stop", "Bash", "bell.sh"),
	guard("Bash(git commit:*)"),
	guard("Bash(git push:*)"),
}

var docs = []string{
	"", "\n", "  \r\n", "  \r", "  \r\r\n", "{}", "{}\n", "{ }", "{\n}\n", "{\n\n}\n", "// only a comment", "// only a comment\n", "/* c */\n\n",
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

var suite = mergetest.Suite{
	Format: JSONC,
	Docs:   docs,
	Ops:    ops,
	Edits: []mergetest.Edit{
		{Name: "new document", Doc: "", Want: "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(make test)\"\n    ]\n  }\n}\n",
			Op: mergetest.Set(`/permissions/allow#"Bash(make test)"`, "true")},
		{Name: "tabs", Doc: "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}\n", Want: "{\n\t\"a\": {\n\t\t\"b\": 1,\n\t\t\"c\": {\n\t\t\t\"d\": 2\n\t\t}\n\t}\n}\n",
			Op: mergetest.Set("/a/c", `{"d":2}`)},
		{Name: "minified", Doc: `{"a":1}`, Want: `{"a":1,"b":{"c":[1,2]}}`, Op: mergetest.Set("/b", `{"c":[1,2]}`)},
		{Name: "one line", Doc: `{"a": 1}`, Want: `{"a": 1, "b": 2}`, Op: mergetest.Set("/b", "2")},
		{Name: "line ends", Doc: "{\r\n  \"a\": 1\r\n}\r\n", Want: "{\r\n  \"a\": 1,\r\n  \"b\": []\r\n}\r\n", Op: mergetest.Set("/b", "[]")},
		{Name: "comment after the last", Doc: "{\n  \"a\": 1 // one\n}", Want: "{\n  \"a\": 1, // one\n  \"b\": 2\n}", Op: mergetest.Set("/b", "2")},
		{Name: "trailing comma", Doc: "{\n  \"a\": 1,\n}", Want: "{\n  \"a\": 1,\n  \"b\": 2,\n}", Op: mergetest.Set("/b", "2")},
		{Name: "replace keeps the rest", Doc: `{ "a" : 1 /* x */ , "b": 2}`, Want: `{ "a" : {"c": 1.0} /* x */ , "b": 2}`, Op: mergetest.Set("/a", `{"c":1.0}`)},
		{Name: "equal by value is left", Doc: `{"a": {"y": 1.0, "x": "\u0041"}}`, Want: `{"a": {"y": 1.0, "x": "\u0041"}}`, Op: mergetest.Set("/a", `{"x":"A","y":1}`)},
		{Name: "hook joins its group",
			Doc:  "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"matcher\": \"\", \"hooks\": [{\"type\": \"command\", \"command\": \"a\"}]}\n    ]\n  }\n}",
			Want: "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"matcher\": \"\", \"hooks\": [{\"type\": \"command\", \"command\": \"a\"}, {\"type\": \"command\", \"command\": \"b\"}]}\n    ]\n  }\n}",
			Op:   mergetest.Set(hookKey("Stop", "", "command", "b"), `{"type":"command","command":"b"}`)},
		{Name: "hook is updated", Doc: `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"b","timeout":1}]}]}}`,
			Want: `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"b","timeout":2}]}]}}`,
			Op:   mergetest.Set(hookKey("Stop", "", "command", "b"), `{"type":"command","command":"b","timeout":2}`)},
		{Name: "what was not made here stays", Doc: `{"permissions":{"allow":["x"]}}`, Want: `{"permissions":{"allow":[]}}`, Op: leaf.Op{Key: `/permissions/allow#"x"`}},
	},
	Removals: []mergetest.Removal{
		{Name: "another hook in our group", Doc: "", Op: mergetest.Set(hookKey("Stop", "X", "command", "ours"), `{"type":"command","command":"ours"}`),
			Person: func(s string) string {
				return `{"hooks":{"Stop":[{"matcher":"X","hooks":[{"type":"command","command":"ours"},{"type":"command","command":"mine"}]}]}}`
			},
			Want: `{"hooks":{"Stop":[{"matcher":"X","hooks":[{"type":"command","command":"mine"}]}]}}`},
		{Name: "a name in our group", Doc: "", Op: mergetest.Set(hookKey("Stop", "X", "command", "ours"), `{"type":"command","command":"ours"}`),
			Person: func(s string) string {
				return `{"hooks":{"Stop":[{"matcher":"X","hooks":[{"type":"command","command":"ours"}],"note":1}]}}`
			},
			Want: `{"hooks":{"Stop":[{"matcher":"X","hooks":[],"note":1}]}}`},
		{Name: "a comment in our object", Doc: "{}", Op: mergetest.Set("/m/a", "1"),
			Person: func(s string) string { return strings.Replace(s, `"a": 1`, "// mine\n    \"a\": 1", 1) }, Want: "{\n  \"m\": {\n    // mine\n  }\n}"},
		{Name: "a comment beside our member", Doc: "{\n  \"z\": 0\n}", Op: mergetest.Set("/a", "1"),
			Person: func(s string) string { return strings.Replace(s, `"a": 1`, `"a": 1 // mine`, 1) }, Want: "{\n  \"z\": 0\n  // mine\n}"},
	},
	Reads: []mergetest.Read{
		{Doc: claudeSettings, Key: `/permissions/allow#"Bash(git status)"`, Want: `"Bash(git status)"`, Line: 5},
		{Doc: claudeSettings, Key: hookKey("Stop", "", "prompt", "Are the tests green?"), Want: `{"prompt":"Are the tests green?","type":"prompt"}`, Line: 27},
		{Doc: claudeJSON, Key: "/projects/~1home~1me~1a~2b/allowedTools", Want: `[]`, Line: 12},
		{Doc: opencodeJSONC, Key: "/provider/local/options/baseURL", Want: `"http://127.0.0.1:8081/v1"`, Line: 7},
	},
	Faults: []mergetest.Fault{
		{Doc: "{\n  \"a\": 1,\n  b: 2\n}", Op: mergetest.Set("/x", "1"), Want: "3:3: invalid JSON"},
		{Doc: "{\n  \"a\": 1", Op: mergetest.Set("/x", "1"), Want: "the document ends too early"},
		{Doc: `{"a":1,` + "\n" + `"a":2}`, Op: mergetest.Set("/x", "1"), Want: `2:1: the name "a" stands twice in one object, first in line 1`},
		{Doc: "{}\n/* half", Op: mergetest.Set("/x", "1"), Want: "the document ends too early"},
		{Doc: "/* half", Op: mergetest.Set("/x", "1"), Want: "the document ends too early"},
		{Doc: `[1]`, Op: mergetest.Set("/x", "1"), Want: "1:1: the document is an array, want an object"},
		{Doc: "{\n \"permissions\": \"all\"}", Op: mergetest.Set(`/permissions/allow#"x"`, "true"), Want: "2:17: /permissions is a string, want an object"},
		{Doc: `{"permissions":{"allow":{}}}`, Op: mergetest.Set(`/permissions/allow#"x"`, "true"), Want: "1:25: /permissions/allow is an object, want an array"},
		{Doc: `{"hooks":{"Stop":{}}}`, Op: hook("Stop", "", "x"), Want: "/hooks/Stop is an object, want an array"},
		{Doc: `{"hooks":{"Stop":[1]}}`, Op: hook("Stop", "", "x"), Want: "/hooks/Stop/0 is a number, want an object"},
		{Doc: `{"hooks":{"Stop":[{}]}}`, Op: hook("Stop", "", "x"), Want: "/hooks/Stop/0 has no hooks array"},
		{Doc: strings.Repeat("[", 100000), Op: mergetest.Set("/x", "1"), Want: "nests 100000 deep"},
		{Doc: "{\"a\": \"\x00\"}", Op: mergetest.Set("/x", "1"), Want: "1:8: the document contains a zero byte"},
		{Doc: "\xff\xfe{\x00", Op: mergetest.Set("/x", "1"), Want: "UTF-16"},
	},
	Priors: []mergetest.Prior{
		{Doc: "{\n  \"a\": [1.0, // one\n  2 ], \"b\": 1\n}", Key: "/a", Other: `{"type":"command","command":"x","timeout":9}`},
		{Doc: `{"hooks":{"Stop":[{"hooks":[{ "command": "x", "type":"command" }]}]}}`, Key: hookKey("Stop", "", "command", "x"), Other: `{"type":"command","command":"x","timeout":9}`},
	},
}

func TestSuite(t *testing.T) { mergetest.Run(t, suite) }

// indented are variants with and without indentation of two spaces.
func indented(s string) []string {
	out := mergetest.Variants(s)
	return append(out, strings.ReplaceAll(s, "  ", "\t"), strings.ReplaceAll(s, "  ", ""), strings.ReplaceAll(s, "  ", "    "))
}

func TestRemovingWhatWasAddedGivesTheSameJSONBytes(t *testing.T) {
	mergetest.RoundTrips(t, suite, indented, 4)
}

func FuzzEditJSON(f *testing.F) { mergetest.Fuzz(f, suite) }
