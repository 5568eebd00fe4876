package merge

import (
	"errors"
	"strings"
	"testing"
)

func mustEdit(t *testing.T, f Format, doc string, made []string, ops ...Op) Result {
	t.Helper()
	res, err := Edit(f, []byte(doc), ops, made)
	if err != nil {
		t.Fatalf("edit %q: %v", doc, err)
	}
	return res
}

func set(key, value string) Op { return Op{Key: key, Value: Value(value)} }

func TestEditsLookLikeTheirNeighbours(t *testing.T) {
	for _, tt := range []struct {
		name      string
		format    Format
		doc, want string
		op        Op
	}{
		{"new document", JSON, "", "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(make test)\"\n    ]\n  }\n}\n",
			set(`/permissions/allow#"Bash(make test)"`, "true")},
		{"tabs", JSON, "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}\n", "{\n\t\"a\": {\n\t\t\"b\": 1,\n\t\t\"c\": {\n\t\t\t\"d\": 2\n\t\t}\n\t}\n}\n",
			set("/a/c", `{"d":2}`)},
		{"minified", JSON, `{"a":1}`, `{"a":1,"b":{"c":[1,2]}}`, set("/b", `{"c":[1,2]}`)},
		{"one line", JSON, `{"a": 1}`, `{"a": 1, "b": 2}`, set("/b", "2")},
		{"line ends", JSON, "{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"b\": []\r\n}\r\n", set("/b", "[]")},
		{"comment after the last", JSONC, "{\n  \"a\": 1 // one\n}", "{\n  \"a\": 1, // one\n  \"b\": 2\n}", set("/b", "2")},
		{"trailing comma", JSONC, "{\n  \"a\": 1,\n}", "{\n  \"a\": 1,\n  \"b\": 2,\n}", set("/b", "2")},
		{"replace keeps the rest", JSONC, `{ "a" : 1 /* x */ , "b": 2}`, `{ "a" : {"c": 1.0} /* x */ , "b": 2}`, set("/a", `{"c":1.0}`)},
		{"equal by value is left", JSON, `{"a": {"y": 1.0, "x": "\u0041"}}`, `{"a": {"y": 1.0, "x": "\u0041"}}`, set("/a", `{"x":"A","y":1}`)},
		{"hook joins its group", JSON,
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"matcher\": \"\", \"hooks\": [{\"type\": \"command\", \"command\": \"a\"}]}\n    ]\n  }\n}",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"matcher\": \"\", \"hooks\": [{\"type\": \"command\", \"command\": \"a\"}, {\"type\": \"command\", \"command\": \"b\"}]}\n    ]\n  }\n}",
			set(HookKey("/hooks", "Stop", "", "command", "b"), `{"type":"command","command":"b"}`)},
		{"hook is updated", JSON, `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"b","timeout":1}]}]}}`,
			`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"b","timeout":2}]}]}}`,
			set(HookKey("/hooks", "Stop", "", "command", "b"), `{"type":"command","command":"b","timeout":2}`)},
		{"table at the end", TOML, "a = 1\n\n[x]\nb = 2\n", "a = 1\n\n[x]\nb = 2\n\n[mcp_servers.fetch]\ncommand = \"uvx\"\nenv = { A = \"1\" }\n",
			set("/mcp_servers/fetch", `{"command":"uvx","env":{"A":"1"}}`)},
		{"quoted table", TOML, "", "[projects.\"/abs/dir\"]\ntrust_level = \"trusted\"\n", set("/projects/~1abs~1dir/trust_level", `"trusted"`)},
		{"root key goes above tables", TOML, "# c\n\na = 1 # one\n\n[x]\n", "# c\n\na = 1 # one\nb = 2\n\n[x]\n", set("/b", "2")},
		{"key in its table", TOML, "[x]\n  a = 1\n\n[y]\n", "[x]\n  a = 1\n  b = [1, 2]\n\n[y]\n", set("/x/b", "[1,2]")},
		{"inline table", TOML, "x = { a = 1 }\n", "x = { a = 1, b = 2 }\n", set("/x/b", "2")},
		{"dotted keys", TOML, "x.a = 1\ny = 2\n", "x.a = 1\nx.b = 2\ny = 2\n", set("/x/b", "2")},
		{"table changes in place", TOML, "[m.f]\n# why\ncommand = 'a' # here\nold = 1\n\n[m.f.env]\nA = 'x'\n", "[m.f]\n# why\ncommand = \"b\" # here\nnew = true\n\n[m.f.env]\nA = 'x'\n",
			set("/m/f", `{"command":"b","env":{"A":"x"},"new":true}`)},
		{"array member", TOML, "n = [\n  'a', # why\n]\n", "n = [\n  'a', # why\n  \"b\",\n]\n", set(`/n#"b"`, "true")},
		{"line under its header", Text, "# --- e ---\n*.elc\n\nmine", "# --- e ---\n*.elc\n*.eln\n\nmine", Op{Key: "line:*.eln", Value: Value("true"), Header: "# --- e ---"}},
		{"no glued line", Text, "node_modules", "node_modules\n\n# --- e ---\n*.eln", Op{Key: "line:*.eln", Value: Value("true"), Header: "# --- e ---"}},
		{"line that is there", Text, "a\r\n*.eln\r\n", "a\r\n*.eln\r\n", Op{Key: "line:*.eln", Value: Value("true"), Header: "# --- e ---"}},
		{"line ends of text", Text, "a\r\n", "a\r\nb\r\n", set("line:b", "true")},
		{"block", Markdown, "# T\n", "# T\n\n<!-- aisync:begin r -->\nx\ny\n<!-- aisync:end r -->\n", set("block:r", `"x\ny\n"`)},
		{"block is replaced", Markdown, "<!-- aisync:begin r -->\nx\n<!-- aisync:end r -->\nmine\n", "<!-- aisync:begin r -->\n<!-- aisync:end r -->\nmine\n", set("block:r", `""`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := mustEdit(t, tt.format, tt.doc, nil, tt.op)
			if string(res.Doc) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", res.Doc, tt.want)
			}
			if res.Changed != (tt.doc != tt.want) {
				t.Errorf("changed is %v", res.Changed)
			}
		})
	}
}

func TestRemovalLeavesWhatTheUserAdded(t *testing.T) {
	group := HookKey("/hooks", "Stop", "X", "command", "ours")
	for _, tt := range []struct {
		name        string
		format      Format
		before      string
		op          Op
		edit        func(string) string
		wantRemoved string
	}{
		{"another hook in our group", JSON, "", set(group, `{"type":"command","command":"ours"}`),
			func(s string) string {
				return `{"hooks":{"Stop":[{"matcher":"X","hooks":[{"type":"command","command":"ours"},{"type":"command","command":"mine"}]}]}}`
			},
			`{"hooks":{"Stop":[{"matcher":"X","hooks":[{"type":"command","command":"mine"}]}]}}`},
		{"a name in our group", JSON, "", set(group, `{"type":"command","command":"ours"}`),
			func(s string) string {
				return `{"hooks":{"Stop":[{"matcher":"X","hooks":[{"type":"command","command":"ours"}],"note":1}]}}`
			},
			`{"hooks":{"Stop":[{"matcher":"X","hooks":[],"note":1}]}}`},
		{"a comment in our object", JSONC, "{}", set("/m/a", "1"),
			func(s string) string { return strings.Replace(s, `"a": 1`, "// mine\n    \"a\": 1", 1) }, "{\n  \"m\": {\n    // mine\n  }\n}"},
		{"a comment beside our member", JSONC, "{\n  \"z\": 0\n}", set("/a", "1"),
			func(s string) string { return strings.Replace(s, `"a": 1`, `"a": 1 // mine`, 1) }, "{\n  \"z\": 0\n  // mine\n}"},
		{"a comment above our table", TOML, "a = 1\n", set("/t/k", "1"),
			func(s string) string { return strings.Replace(s, "[t]", "# mine\n[t]", 1) }, "a = 1\n\n# mine\n"},
		{"a comment beside our key", TOML, "[t]\na = 1\n", set("/t/k", "1"),
			func(s string) string { return strings.Replace(s, "k = 1", "k = 1 # mine", 1) }, "[t]\na = 1\n# mine\n"},
		{"a key in our table", TOML, "", set("/t/k", "1"), func(s string) string { return s + "mine = 2\n" }, "[t]\nmine = 2\n"},
		{"a line under our header", Text, "a\n", Op{Key: "line:x", Value: Value("true"), Header: "# --- e ---"}, func(s string) string { return s + "mine\n" }, "a\n\n# --- e ---\nmine\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := mustEdit(t, tt.format, tt.before, nil, tt.op)
			got := mustEdit(t, tt.format, tt.edit(string(res.Doc)), res.Made[0], Op{Key: tt.op.Key})
			if string(got.Doc) != tt.wantRemoved {
				t.Errorf("got\n%s\nwant\n%s", got.Doc, tt.wantRemoved)
			}
		})
	}
}

func TestWhatWasNotMadeHereIsNotRemoved(t *testing.T) {
	for doc, want := range map[string]string{
		`{"permissions":{"allow":["x"]}}`: `{"permissions":{"allow":[]}}`,
	} {
		res := mustEdit(t, JSON, doc, nil, Op{Key: `/permissions/allow#"x"`})
		if string(res.Doc) != want {
			t.Errorf("got %s want %s", res.Doc, want)
		}
	}
	res := mustEdit(t, TOML, "[t]\nk = 1\n", nil, Op{Key: "/t/k"})
	if string(res.Doc) != "[t]\n" {
		t.Errorf("got %q", res.Doc)
	}
}

func TestFaultsSayWhere(t *testing.T) {
	for _, tt := range []struct {
		format Format
		doc    string
		op     Op
		want   string // all of it must be in the error
	}{
		{JSON, "{\n  \"a\": 1,\n  b: 2\n}", set("/x", "1"), "3:3: invalid JSON"},
		{JSON, "{\n  \"a\": 1", set("/x", "1"), "the document ends too early"},
		{JSON, `{"a":1,` + "\n" + `"a":2}`, set("/x", "1"), `2:1: the name "a" stands twice in one object, first in line 1`},
		{JSONC, "{}\n/* half", set("/x", "1"), "the document ends too early"},
		{JSONC, "/* half", set("/x", "1"), "the document ends too early"},
		{JSON, `[1]`, set("/x", "1"), "1:1: the document is an array, want an object"},
		{JSON, "{\n \"permissions\": \"all\"}", set(`/permissions/allow#"x"`, "true"), "2:17: /permissions is a string, want an object"},
		{JSON, `{"permissions":{"allow":{}}}`, set(`/permissions/allow#"x"`, "true"), "1:25: /permissions/allow is an object, want an array"},
		{JSON, `{"hooks":{"Stop":{}}}`, hook("Stop", "", "x"), "/hooks/Stop is an object, want an array"},
		{JSON, `{"hooks":{"Stop":[1]}}`, hook("Stop", "", "x"), "/hooks/Stop/0 is a number, want an object"},
		{JSON, `{"hooks":{"Stop":[{}]}}`, hook("Stop", "", "x"), "/hooks/Stop/0 has no hooks array"},
		{JSON, strings.Repeat("[", 100000), set("/x", "1"), "nests 100000 deep"},
		{JSON, "{\"a\": \"\x00\"}", set("/x", "1"), "1:8: the document holds a zero byte"},
		{JSON, "\xff\xfe{\x00", set("/x", "1"), "UTF-16"},
		{TOML, "a = 1\nb = = 2\n", set("/x", "1"), "2:5: invalid TOML"},
		{TOML, "a = 1\na = 2\n", set("/x", "1"), "2:1: invalid TOML"},
		{TOML, "a = 1\n", set("/a/b", "1"), "1:1: /a is a number, want a table"},
		{TOML, "[[a]]\nb = 1\n", set("/a/c", "1"), "/a is an array, want a table"},
		{TOML, "a = " + strings.Repeat("[", 5000), set("/x", "1"), "nests 5000 deep"},
		{Text, "x\n# aisync:begin a\n", set("block:a", `"x"`), "2:1: block a begins in line 2 and does not end"},
		{Text, "# aisync:begin a\n# aisync:begin b\n", set("block:a", `"x"`), "2:1: block b begins within block a, which begins in line 1"},
		{Text, "# aisync:end a\n", set("block:a", `"x"`), "1:1: block a ends here"},
		{Text, "# aisync:begin a\n# aisync:end a\n# aisync:begin a\n", set("block:a", `"x"`), "3:1: block a begins a second time, first in line 1"},
	} {
		res, err := Edit(tt.format, []byte(tt.doc), []Op{tt.op}, nil)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) || e.Hint == "" {
			t.Errorf("%.60q: got %v, want %q and a hint", tt.doc, err, tt.want)
		}
		if res.Doc != nil {
			t.Errorf("%.60q: an error came with a document", tt.doc)
		}
	}
}

func TestImpossibleRequestsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		format Format
		ops    []Op
		made   []string
		want   string
	}{
		{JSON, []Op{set("x", "1")}, nil, "want a pointer"},
		{JSON, []Op{set("", "1")}, nil, "never the whole document"},
		{JSON, []Op{set("/a~3", "1")}, nil, "~ must be followed by"},
		{JSON, []Op{set("line:x", "true")}, nil, "no lines of its own"},
		{Text, []Op{set("/a", "true")}, nil, "lines and blocks only"},
		{Text, []Op{set("line:a\nb", "true")}, nil, "without a line end"},
		{JSON, []Op{set(`/a#{"b":1,"a":2}`, "true")}, nil, `write {"a":2,"b":1}`},
		{JSON, []Op{set("/a", "{")}, nil, "not JSON"},
		{JSON, []Op{set("/a", "1 2")}, nil, "something follows"},
		{JSON, []Op{set("/a", "1"), set("/a", "2")}, nil, "asked for twice"},
		{JSON, []Op{set("/a", "{}"), set("/a/b", "2")}, nil, "lies within leaf /a"},
		{JSON, []Op{set(`/a#"x"`, `"y"`)}, nil, `want "x"`},
		{JSON, []Op{set(HookKey("/hooks", "Stop", "", "command", "a"), `{"type":"command","command":"b"}`)}, nil, "with that type and command"},
		{TOML, []Op{set("/a", "null")}, nil, "toml has no null"},
		{TOML, []Op{set("/a", "1e999")}, nil, "too large"},
		{TOML, []Op{set("/a", "99999999999999999999")}, nil, "64 bits"},
		{TOML, []Op{set("/a", `{"$datetime":"tomorrow\nb = 1"}`)}, nil, "no date"},
		{Markdown, []Op{set("block:a", `"<!-- aisync:end a -->"`)}, nil, "is the end marker of block a"},
		{Markdown, []Op{set("block:a --> b", `"x"`)}, nil, "no spaces"},
		{"xml", []Op{set("/a", "1")}, nil, "unknown"},
		{JSON, []Op{set("/a", "1")}, []string{"later 1"}, "written by another version"},
	} {
		if _, err := Edit(tt.format, nil, tt.ops, tt.made); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: got %v, want %q", tt.ops, err, tt.want)
		}
	}
}

func TestAPriorValueComesBackAsItWasWritten(t *testing.T) {
	for _, tt := range []struct {
		format   Format
		doc, key string
	}{
		{JSONC, "{\n  \"a\": [1.0, // one\n  2 ], \"b\": 1\n}", "/a"},
		{JSON, `{"hooks":{"Stop":[{"hooks":[{ "command": "x", "type":"command" }]}]}}`, HookKey("/hooks", "Stop", "", "command", "x")},
		{TOML, "[t]\na = [ 1,\n 2 ] # two\n", "/t/a"},
		{TOML, "t = { a = 'x' , b = 1 }\n", "/t/a"},
	} {
		prior, err := Read(tt.format, []byte(tt.doc), []string{tt.key})
		if err != nil {
			t.Fatal(err)
		}
		other := set(tt.key, `{"type":"command","command":"x","timeout":9}`)
		changed := mustEdit(t, tt.format, tt.doc, nil, other)
		if !changed.Changed {
			t.Fatalf("%s: nothing changed", tt.key)
		}
		back := mustEdit(t, tt.format, string(changed.Doc), nil, Op{Key: tt.key, Value: prior[tt.key].Value, Raw: prior[tt.key].Raw})
		if string(back.Doc) != tt.doc {
			t.Errorf("got\n%s\nwant\n%s", back.Doc, tt.doc)
		}
		lie := mustEdit(t, tt.format, tt.doc, nil, Op{Key: tt.key, Value: other.Value, Raw: prior[tt.key].Raw + " #"})
		if string(lie.Doc) != string(changed.Doc) {
			t.Errorf("a raw text that says something else was written:\n%s", lie.Doc)
		}
	}
}

func BenchmarkFiftyLeavesIntoOneMegabyte(b *testing.B) {
	doc := `{"history": [` + strings.Repeat("\n  {\"display\": \"some text\", \"n\": 1},", 25000) + "\n  1\n]}\n"
	var ops []Op
	for i := range 50 {
		ops = append(ops, set(`/permissions/allow#"Bash(`+strings.Repeat("x", i)+`)"`, "true"))
	}
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := Edit(JSON, []byte(doc), ops, nil); err != nil {
			b.Fatal(err)
		}
	}
}
