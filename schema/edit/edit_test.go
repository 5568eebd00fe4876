package edit

import (
	"errors"
	"strings"
	"testing"

	"cuelang.org/go/cue/parser"
	"github.com/google/go-cmp/cmp"
)

// change is one edit of a table; path is joined with dots.
type change func(*Files) error

func add(path, value string) change {
	return func(e *Files) error { return e.Add(value, strings.Split(path, ".")...) }
}

func appendTo(path, s string) change {
	return func(e *Files) error { return e.Append(String(s), strings.Split(path, ".")...) }
}

func remove(path string) change {
	return func(e *Files) error { return e.Remove(strings.Split(path, ".")...) }
}

func removeElement(path, s string) change {
	return func(e *Files) error {
		found, err := e.RemoveElement(s, strings.Split(path, ".")...)
		if err == nil && !found {
			return errors.New("not found")
		}
		return err
	}
}

func TestEditKeepsOtherBytes(t *testing.T) {
	const project, host = "project", "hosts.velox"
	for _, c := range []struct {
		name, root   string
		do           change
		before, want string
	}{
		{"a struct over lines gets a line", host, add("runtimes.codex", "{}"),
			"hosts: velox: {\n\truntimes: {\n\t\tclaude: {} // daily\n\t}\n\tdefault: \"claude\"\n}\n",
			"hosts: velox: {\n\truntimes: {\n\t\tclaude: {} // daily\n\t\tcodex: {}\n\t}\n\tdefault: \"claude\"\n}\n"},
		{"a struct on one line stays on it", host, add("runtimes.codex", "{}"),
			"hosts: velox: {runtimes: {claude: {}}, trust: true} // mine\n",
			"hosts: velox: {runtimes: {claude: {}, codex: {}}, trust: true} // mine\n"},
		{"an empty struct is filled", host, add("runtimes.codex", "{}"),
			"hosts: velox: {\n\truntimes: { }\n}\n", "hosts: velox: {\n\truntimes: {codex: {}}\n}\n"},
		{"a struct with only a comment keeps it", host, add("runtimes.codex", "{}"),
			"hosts: velox: {\n\truntimes: { // none yet\n\t\t// claude: {}\n\t}\n}\n",
			"hosts: velox: {\n\truntimes: { // none yet\n\t\tcodex: {}\n\t\t// claude: {}\n\t}\n}\n"},
		{"a short form gets another beside it", host, add("runtimes.codex", "{}"),
			"hosts: velox: {\n\t// why\n\truntimes: claude: {} // daily\n\ttrust: true\n}\n",
			"hosts: velox: {\n\t// why\n\truntimes: claude: {} // daily\n\truntimes: codex: {}\n\ttrust: true\n}\n"},
		{"a short form from the top", host, add("runtimes.codex", "{}"),
			"hosts: velox: runtimes: claude: {}\ncatalog: {}\n",
			"hosts: velox: runtimes: claude: {}\nhosts: velox: runtimes: codex: {}\ncatalog: {}\n"},
		{"a short form on the line of its braces", host, add("mcp.b", "{command: \"b\"}"),
			"hosts: velox: {mcp: a: {command: \"a\"}, trust: true}\n",
			"hosts: velox: {mcp: a: {command: \"a\"}, mcp: b: {command: \"b\"}, trust: true}\n"},
		{"what has no siblings goes last", project, add("mcp.notes", "{command: \"n\"}"),
			"project: {\n\tname: \"a\" // it\n\n\t// agents: sessions: true\n}\n",
			"project: {\n\tname: \"a\" // it\n\tmcp: notes: {command: \"n\"}\n\n\t// agents: sessions: true\n}\n"},
		{"an expression is left as it is", host, add("runtimes.codex", "{}"),
			"_base: {claude: {}}\nhosts: velox: {\n\truntimes: _base\n}\n",
			"_base: {claude: {}}\nhosts: velox: {\n\truntimes: _base\n\truntimes: codex: {}\n}\n"},
		{"a union of structs", host, add("runtimes.codex", "{}"),
			"hosts: velox: {\n\truntimes: {claude: {}} & {opencode: {}}\n}\n",
			"hosts: velox: {\n\truntimes: {claude: {}} & {opencode: {}}\n\truntimes: codex: {}\n}\n"},
		{"a name that needs quotes", host, add("runtimes.local-openai", "{}"),
			"hosts: velox: {\n\truntimes: claude: {}\n}\n",
			"hosts: velox: {\n\truntimes: claude: {}\n\truntimes: \"local-openai\": {}\n}\n"},
		{"commas between lines", host, add("runtimes.codex", "{}"),
			"hosts: velox: {\n    runtimes: {\n        claude: {}, // daily\n    },\n}\n",
			"hosts: velox: {\n    runtimes: {\n        claude: {}, // daily\n        codex: {},\n    },\n}\n"},
		{"an empty struct in a file that indents by blanks", host, add("trust", "true"),
			"hosts: velox: {\n}\nx: {\n  y: 1\n}\n", "hosts: velox: {\n  trust: true\n}\nx: {\n  y: 1\n}\n"},
		{"the values stand under each other", project, add("default", "\"claude\""),
			"project: {\n\tname:     \"a\"\n\truntimes: [\"claude\"]\n}\n",
			"project: {\n\tname:     \"a\"\n\truntimes: [\"claude\"]\n\tdefault:  \"claude\"\n}\n"},
		{"no line break at the end", project, add("mcp.a", "{command: \"a\"}"),
			"project: name: \"a\"", "project: name: \"a\"\nproject: mcp: a: {command: \"a\"}"},
		{"the closing brace on the last line", project, add("mcp.a", "{command: \"a\"}"),
			"project: {\n\tname: \"a\"}", "project: {\n\tname: \"a\", mcp: a: {command: \"a\"}}"},
		{"an ellipsis stays last", host, add("runtimes.codex", "{}"),
			"hosts: velox: runtimes: {claude: {}, ...}\n", "hosts: velox: runtimes: {claude: {}, codex: {}, ...}\n"},
		{"a comma before the brace", host, add("runtimes.codex", "{}"),
			"hosts: velox: runtimes: {claude: {}, }\n", "hosts: velox: runtimes: {claude: {}, codex: {}, }\n"},
		{"a root that is nowhere", host, add("trust", "true"), "catalog: {}\n", "catalog: {}\nhosts: velox: trust: true\n"},

		{"a list on one line", project, appendTo("runtimes", "codex"),
			"project: {\n\truntimes: [\"claude\"] // ours\n}\n", "project: {\n\truntimes: [\"claude\", \"codex\"] // ours\n}\n"},
		{"an empty list", project, appendTo("runtimes", "codex"), "project: runtimes: []\n", "project: runtimes: [\"codex\"]\n"},
		{"no list", project, appendTo("runtimes", "codex"),
			"project: {\n\tname: \"a\"\n}\n", "project: {\n\tname: \"a\"\n\truntimes: [\"codex\"]\n}\n"},
		{"a list over lines", project, appendTo("runtimes", "codex"),
			"project: runtimes: [\n\t\"claude\", // daily\n\t\"gemini\", // for images\n\t// last\n]\n",
			"project: runtimes: [\n\t\"claude\", // daily\n\t\"gemini\", // for images\n\t\"codex\",\n\t// last\n]\n"},
		{"a list over lines without a last comma", project, appendTo("runtimes", "codex"),
			"project: runtimes: [\n\t\"claude\",\n\t\"gemini\" // for images\n]\n",
			"project: runtimes: [\n\t\"claude\",\n\t\"gemini\", // for images\n\t\"codex\"\n]\n"},
		{"a list over lines without commas", project, appendTo("runtimes", "codex"),
			"project: runtimes: [\n\t\"claude\"\n\t\"gemini\"\n]\n",
			"project: runtimes: [\n\t\"claude\"\n\t\"gemini\"\n\t\"codex\"\n]\n"},
		{"an empty list over lines", project, appendTo("runtimes", "codex"),
			"project: runtimes: [\n\t// none\n]\n", "project: runtimes: [\n\t\"codex\"\n\t// none\n]\n"},
		{"a list that ends on the line of its last element", project, appendTo("runtimes", "codex"),
			"project: runtimes: [\"claude\",\n\t\"gemini\"]\n", "project: runtimes: [\"claude\",\n\t\"gemini\", \"codex\"]\n"},
		{"a comma before the bracket", project, appendTo("runtimes", "codex"),
			"project: runtimes: [\"claude\", ]\n", "project: runtimes: [\"claude\", \"codex\", ]\n"},
		{"a list that is written twice", project, appendTo("runtimes", "codex"),
			"project: runtimes: [\"claude\"]\nproject: {\n\truntimes: [\"claude\"]\n}\n",
			"project: runtimes: [\"claude\", \"codex\"]\nproject: {\n\truntimes: [\"claude\", \"codex\"]\n}\n"},

		{"a line goes with its comments", host, remove("runtimes.codex"),
			"hosts: velox: runtimes: {\n\tclaude: {}\n\t// for review\n\tcodex: {} // weekly\n\tpi: {}\n}\n",
			"hosts: velox: runtimes: {\n\tclaude: {}\n\tpi: {}\n}\n"},
		{"a field over lines goes as a whole", host, remove("services.a"),
			"hosts: velox: services: {\n\ta: {\n\t\tport: 8081\n\t}\n\n\tb: {}\n}\n",
			"hosts: velox: services: {\n\n\tb: {}\n}\n"},
		{"two blank lines that meet are one", host, remove("trust"),
			"hosts: velox: {\n\tstore: \"/a\"\n\n\ttrust: true\n\n\troots: []\n}\n",
			"hosts: velox: {\n\tstore: \"/a\"\n\n\troots: []\n}\n"},
		{"the first on a line", host, remove("runtimes.claude"), "hosts: velox: runtimes: {claude: {}, codex: {}}\n", "hosts: velox: runtimes: {codex: {}}\n"},
		{"one in the middle of a line", host, remove("runtimes.codex"), "hosts: velox: runtimes: {claude: {}, codex: {}, pi: {}}\n", "hosts: velox: runtimes: {claude: {}, pi: {}}\n"},
		{"the last on a line", host, remove("runtimes.codex"), "hosts: velox: runtimes: {claude: {}, codex: {}}\n", "hosts: velox: runtimes: {claude: {}}\n"},
		{"the only one", host, remove("runtimes.claude"), "hosts: velox: {\n\truntimes: {claude: {}} // ours\n}\n", "hosts: velox: {\n\truntimes: {} // ours\n}\n"},
		{"the last one before the brace", host, remove("trust"),
			"hosts: velox: {\n\tstore: \"/a\" // here\n\ttrust: true}\n", "hosts: velox: {\n\tstore: \"/a\" // here\n\t}\n"},
		{"a short form goes as a whole", host, remove("runtimes.claude"),
			"hosts: velox: {\n\truntimes: claude: {}\n\truntimes: codex: {}\n}\n", "hosts: velox: {\n\truntimes: codex: {}\n}\n"},
		{"the root stays", host, remove("runtimes.claude"), "hosts: velox: runtimes: claude: {}\n", "hosts: velox: {}\n"},
		{"the root stays elsewhere", host, remove("runtimes.claude"),
			"hosts: velox: trust: true\nhosts: velox: runtimes: claude: {}\n", "hosts: velox: trust: true\n"},
		{"one that is written twice", host, remove("runtimes.claude"),
			"hosts: velox: runtimes: claude: {}\nhosts: velox: {\n\truntimes: {claude: {}, pi: {}}\n}\n", "hosts: velox: {\n\truntimes: {pi: {}}\n}\n"},
		{"the last line of a file without a line break", project, remove("mcp.a"),
			"project: name: \"a\"\nproject: mcp: a: {}", "project: name: \"a\"\n"},

		{"an element in the middle", project, removeElement("runtimes", "codex"), "project: runtimes: [\"claude\", \"codex\", \"pi\"]\n", "project: runtimes: [\"claude\", \"pi\"]\n"},
		{"the first element", project, removeElement("runtimes", "claude"), "project: runtimes: [ \"claude\", \"codex\" ]\n", "project: runtimes: [ \"codex\" ]\n"},
		{"the only element", project, removeElement("runtimes", "claude"), "project: runtimes: [\"claude\",]\n", "project: runtimes: []\n"},
		{"an element with its line", project, removeElement("runtimes", "codex"),
			"project: runtimes: [\n\t\"claude\",\n\t// for review\n\t\"codex\", // weekly\n]\n", "project: runtimes: [\n\t\"claude\",\n]\n"},
		{"the last of lines without a last comma", project, removeElement("runtimes", "codex"),
			"project: runtimes: [\n\t\"claude\",\n\t\"codex\"\n]\n", "project: runtimes: [\n\t\"claude\",\n]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, nl := range map[string]string{"LF": "\n", "CRLF": "\r\n"} {
				head := "package aisync\n\n"
				before := strings.ReplaceAll(head+c.before, "\n", nl)
				e, err := Parse([]File{{"a.cue", []byte(before)}}, strings.Split(c.root, ".")...)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.do(e); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(strings.ReplaceAll(head+c.want, "\n", nl), string(e.files[0].Text)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				if len(e.Changed()) != 1 {
					t.Errorf("%s: %d files changed", name, len(e.Changed()))
				}
			}
		})
	}
}

func TestAddChoosesFileOfSiblings(t *testing.T) {
	files := []File{
		{"a.cue", []byte("package aisync\nhosts: velox: {\n\ttrust: true\n}\n")},
		{"b.cue", []byte("package aisync\nhosts: velox: models: {\n\ttiny: {}\n}\n")},
		{"c.cue", []byte("package aisync\nhosts: pearl: models: {\n\ttiny: {}\n}\n")},
	}
	e, err := Parse(files, "hosts", "velox")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Add("{}", "models", "big"); err != nil {
		t.Fatal(err)
	}
	changed := e.Changed()
	if len(changed) != 1 || changed[0].Name != "b.cue" || string(changed[0].Text) != "package aisync\nhosts: velox: models: {\n\ttiny: {}\n\tbig: {}\n}\n" {
		t.Errorf("%s", changed)
	}
	if p := e.Find("models", "big"); len(p) != 1 || p[0].String() != "b.cue:4:2" {
		t.Errorf("found at %v", p)
	}
	if err := e.Remove("models", "big"); err != nil || len(e.Changed()) != 0 {
		t.Errorf("adding and removing is not nothing: %v %s", err, e.Changed())
	}
}

func TestHandmadeListIsRefused(t *testing.T) {
	e, err := Parse([]File{{"a.cue", []byte("package aisync\n_all: [\"claude\"]\nproject: {\n\truntimes: _all\n}\n")}}, "project")
	if err != nil {
		t.Fatal(err)
	}
	var h *Handmade
	if err := e.Append(`"codex"`, "runtimes"); !errors.As(err, &h) || h.Pos.String() != "a.cue:4:2" || !strings.Contains(h.Hint(), `"codex"`) {
		t.Errorf("Append: %v", err)
	}
	if _, err := e.RemoveElement("claude", "runtimes"); !errors.As(err, &h) {
		t.Errorf("RemoveElement: %v", err)
	}
	if len(e.Changed()) != 0 {
		t.Error("an error has changed something")
	}
}

func TestFailedEditChangesNothing(t *testing.T) {
	text := "package aisync\nproject: {\n\tname: \"a\"\n}\n"
	e, err := Parse([]File{{"a.cue", []byte(text)}}, "project")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Add("{broken", "mcp", "a"); err == nil {
		t.Error("no error")
	}
	if len(e.Changed()) != 0 {
		t.Errorf("changed to %s", e.files[0].Text)
	}
	if _, err := Parse([]File{{"b.cue", []byte("package aisync\nproject: {")}}); err == nil {
		t.Error("broken text is read")
	}
}

func TestSame(t *testing.T) {
	e, err := Parse([]File{{"a.cue", []byte("package aisync\nproject: mcp: {\n\ta: {\n\t\targs: [\"x\"] // one\n\t\tcommand: \"c\"\n\t}\n\tb: _b\n}\n_b: {}\n")}}, "project")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, value string
		want        bool
	}{
		{"mcp.a", `{command: "c", args: ["x"]}`, true},
		{"mcp.a", `{command: "c"}`, false},
		{"mcp.b", `{}`, false},
		{"mcp.none", `{}`, false},
	} {
		if got := e.Same(c.value, strings.Split(c.path, ".")...); got != c.want {
			t.Errorf("Same(%s, %s) is %v", c.value, c.path, got)
		}
	}
}

func TestTextIsCUE(t *testing.T) {
	got := Struct(Text("command", `say "hi" \(x)`), Texts("args", []string{"-y", "a\nb"}), Number("port", 8081), Text("url", ""), Field{"env", Struct(Text("A_B", "1"), Text("X-Y", "2"))})
	want := `{command: "say \"hi\" \\(x)", args: ["-y", "a\nb"], port: 8081, env: {A_B: "1", "X-Y": "2"}}`
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if _, err := parser.ParseExpr("", got); err != nil {
		t.Error(err)
	}
}

// Whatever a person wrote, an edit gives a file that can be read, adding and
// removing again is as if nothing had been done to the values, and no comment
// is lost by adding.
func FuzzAddKeepsWhatIsThere(f *testing.F) {
	for _, s := range []string{
		"project: {\n\tname: \"a\" // b\n}\n", "project: runtimes: [\"a\",\n]", "project: mcp: {a: {command: \"x\"}, }", "project: {}", "project: x & {y: 1}\nx: {}",
		"project: { // a\r\n mcp: a: {}\r\n}\r\n", "project: mcp: {\n...\n}", "project: {\n\t\"\"\"\n\ta\n\t\"\"\"\n}", "project: mcp: {\"\\(1)\": 2}\n// end",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse([]File{{"a.cue", []byte("package aisync\n" + text)}}, "project")
		if err != nil {
			return
		}
		if err := e.Add(`{command: "zz"}`, "mcp", "zz"); err != nil {
			return // said, and nothing changed
		}
		after := string(e.files[0].Text)
		if lost := missing("package aisync\n"+text, after); lost != "" {
			t.Errorf("%q is lost:\n%s\n---\n%s", lost, text, after)
		}
	})
}

// missing is the first character of before that after lacks: after must hold
// all of before in order, but for blanks.
func missing(before, after string) string {
	before, after = strings.Join(strings.Fields(before), ""), strings.Join(strings.Fields(after), "")
	i := 0
	for j := 0; i < len(before) && j < len(after); j++ {
		if before[i] == after[j] {
			i++
		}
	}
	if i < len(before) {
		return before[i:min(len(before), i+20)]
	}
	return ""
}

func TestReplaceKeepsEverythingElse(t *testing.T) {
	const text = "package aisync\n\n// above\nproject: {\n\tsources: {\n\t\ta: \"x\" // beside\n\t\tb: {source: \"x\", skills: [\"x\", \"y\"]}\n\t}\n}\n"
	for _, c := range []struct {
		path  []string
		from  string
		want  string
		found bool
	}{
		{[]string{"sources", "a"}, "x", strings.Replace(text, `a: "x"`, `a: "new"`, 1), true},
		{[]string{"sources", "b", "source"}, "x", strings.Replace(text, `source: "x"`, `source: "new"`, 1), true},
		{[]string{"sources", "b", "skills"}, "y", strings.Replace(text, `"y"`, `"new"`, 1), true},
		{[]string{"sources", "b"}, "x", text, false},
		{[]string{"sources", "a"}, "z", text, false},
	} {
		e, err := Parse([]File{{Name: "aisync.cue", Text: []byte(text)}}, "project")
		if err != nil {
			t.Fatal(err)
		}
		found, err := e.Replace(c.from, "new", c.path...)
		if err != nil || found != c.found {
			t.Errorf("%v: %v, %v; want %v", c.path, found, err, c.found)
		}
		got := text
		if changed := e.Changed(); len(changed) > 0 {
			got = string(changed[0].Text)
		}
		if got != c.want {
			t.Errorf("%v: got\n%s", c.path, got)
		}
	}
}
