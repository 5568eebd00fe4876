package merge

import (
	"bytes"
	"errors"
	"math/rand"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge/yamltree"
)

const aiderConf = `# aider, by hand
model: openai/qwen3-coder   # local
read: [AGENTS.md, "docs/a, b.md"]

lint-cmd:
  - "python: ruff check --fix"   # fast
  - 'go: gofmt -l'
# attribute-author: true
auto-commits: no
env-file: .env
`

const gooseConfig = `GOOSE_PROVIDER: openai
GOOSE_MODEL: qwen3-coder
extensions:
  developer:
    bundled: true
    display_name: Developer
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  memory: # notes
    args:
    - -y
    - 'memory'
    description: |
      Keeps notes.

        # not a comment
    envs: {}
    type: stdio
  # fetch:
  #   type: stdio
slash: >-
  folded
  text
`

var yamlPool = []Op{
	{Key: "/extensions/notes", Value: Value(`{"cmd":"npx","args":["-y","notes"],"envs":{},"enabled":true,"timeout":300}`)},
	{Key: "/extensions/files", Value: Value(`{"type":"sse","uri":"http://127.0.0.1:1/","list":[{"a":1,"b":[1,[2]]},{}]}`)},
	{Key: `/read#"AGENTS.md"`, Value: Value("true")},
	{Key: `/read#"docs/yes"`, Value: Value("true")},
	{Key: `/deep/er/set#{"a":[1,2]}`, Value: Value(`{"a":[1,2.0]}`)},
	{Key: `/deep/er/set#null`, Value: Value("true")},
	{Key: "/deep/er/still", Value: Value(`{}`)},
	{Key: "/deep/er/more", Value: Value(`1.50`)},
	{Key: "/model", Value: Value(`"openai/x y"`)},
	{Key: "/flag", Value: Value(`true`)},
	{Key: "/null", Value: Value(`"no"`)},
	{Key: "/a~1b/c~0d: e/~2f", Value: Value(`[1,{"x":null}]`)},
	{Key: "/text", Value: Value(`"one\ntwo\t\"x\" # no\u007f\u2028é"`)},
	{Key: "/when", Value: Value(`{"$datetime":"1979-05-27T07:32:00Z"}`)},
	{Key: "/big", Value: Value(`123456789012345678901234567890`)},
	{Key: "/small", Value: Value(`1e-7`)},
}

var yamlDocs = []string{
	"", "\n", "  \n\n", "# only a comment", "# only a comment\n", "---\n", "--- # begin\n\n", "%YAML 1.1\n---\n",
	"{}", "{}\n", "{} ", "{}\t\r\n", "null  \n", "{ }  # c\n", "--- {}\n", "~\n", "null", "a: 1", "a: 1\n", "a: 1 # why\n\n\n", "---\na: 1\n...\n",
	"a: 1\n# tail", "'quoted key': x\n? odd\n: value\nb: 2\n",
	"extensions:\n", "extensions: \n", "extensions: {}\n", "extensions: {} # none yet\n", "extensions: # none\nz: 1\n", "extensions: ~\nread: []\n", "extensions: { # c\n  }\n",
	"extensions: {a: 1}\n", "extensions: { a: {b: [1, 2]}, c: [x,\n    y] }\nread: [a, ] # x\n", "extensions: {\n  a: 1, # one\n  b: 2\n}\n",
	"read:\n- x\n- y # why\n\nz: 1\n", "read:\n    - x\n    -\n    - a: 1\n      b: 2\nz: {deep: {}}\n", "read: [\n  a,\n  b # c\n]\n", "read: [a: b, c]\n",
	"deep:\n  er:\n    set:\n    - 1\n  other: |+\n    text\n\n\nlast: >\n  folded\n\n\n# end\n", "deep:\n  er:\n", "deep:\n  er: {set: [], x: ~}\n", "deep: {er: {}}\n",
	"text1: \"a # b\n  c: d\"\nplain: one\n  two\n  three # c\n", "x: |2\n    indented\n   less\ny: |-\n  z", "x: &a\n  k: v\ny: *a\nz: !custom 1\n", "base: &b {k: 1}\nuse:\n  <<: *b\n  l: 2\n",
	"é: ü\n\"\\u00e9x\": 1\nextensions:\n  é: {ö: 1}\n", "a: 'it''s'\nb: \"q\\\"q\"\nc: http://x/#y\n", "a: x\u00a0y z\n", "1: one\ntrue: two\n0x1f: .inf\nd: 2001-01-01\n",
	aiderConf, gooseConfig,
}

func yamlVariants(s string) []string {
	out := []string{s, strings.TrimSuffix(s, "\n"), "\xef\xbb\xbf" + s, strings.ReplaceAll(s, "\n", "\r\n")}
	return append(out, strings.ReplaceAll(s, "  ", "    "))
}

func TestRemovingWhatWasAddedGivesTheSameYAMLBytes(t *testing.T) {
	for i, base := range yamlDocs {
		for j, doc := range yamlVariants(base) {
			if _, err := Read(YAML, []byte(doc), []string{"/zz/y"}); err != nil {
				if doc == base {
					t.Errorf("a sample cannot be read: %q: %v", doc, err)
				}
				continue // four spaces or no last line end made something else of it
			}
			seed := int64(10*i + j)
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewSource(seed))
			roundTrip(t, r, YAML, []byte(doc), yamlFit(t, r, doc, yamlPool))
		}
	}
}

// yamlFit returns some of pool that doc has room for.
func yamlFit(t *testing.T, r *rand.Rand, doc string, pool []Op) []Op {
	t.Helper()
	var fit []Op
	for _, op := range pool {
		if _, err := Edit(YAML, []byte(doc), []Op{op}, nil); err == nil {
			fit = append(fit, op)
		} else if e := (*Error)(nil); !errors.As(err, &e) {
			t.Fatalf("%q: %v", doc, err)
		}
	}
	return pick(t, r, YAML, []byte(doc), fit)
}

func TestUnownedYAMLKeepsItsBytes(t *testing.T) {
	for seed := range int64(2) {
		r := rand.New(rand.NewSource(seed))
		for _, doc := range yamlDocs {
			ops := yamlFit(t, r, doc, yamlPool)
			res, err := Edit(YAML, []byte(doc), ops, nil)
			if err != nil {
				t.Fatalf("seed %d: %q %+v: %v", seed, doc, ops, err)
			}
			rest := string(res.Doc)
			for _, line := range strings.Split(doc, "\n") {
				content := strings.Split(line, " #")[0]                          // comments are compared below
				for _, empty := range []string{"{}", "{ }", "[]", "~", "null"} { // gives way to what is put there
					content = strings.TrimSpace(strings.Split(content, empty)[0])
				}
				content = strings.Split(strings.Split(content, "]")[0], "}")[0] // more may come before it
				at := strings.Index(rest, strings.TrimSpace(content))
				if at < 0 {
					t.Fatalf("seed %d: line %q of\n%s\nis not, or not in its place, in\n%s", seed, line, doc, res.Doc)
				}
				rest = rest[at:]
			}
			d, err := yamltree.Parse([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			after, err := yamltree.Parse(res.Doc)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := commentsOf(d), commentsOf(after); a != b {
				t.Fatalf("comments were\n%s\nare\n%s", a, b)
			}
		}
	}
}

func commentsOf(d *yamltree.Doc) string {
	var b bytes.Buffer
	for _, c := range d.Comments {
		b.Write(d.Src[c.Start:c.End])
		b.WriteByte('\n')
	}
	return b.String()
}

func TestYAMLEditsLookLikeTheirNeighbours(t *testing.T) {
	for _, tt := range []struct {
		name, doc, want string
		op              Op
	}{
		{"new document", "", "extensions:\n  notes:\n    cmd: npx\n    args:\n      - \"-y\"\n      - notes\n", set("/extensions/notes", `{"cmd":"npx","args":["-y","notes"]}`)},
		{"dashes as they are", "a:\n- x\n", "a:\n- x\nb:\n- z\n", set("/b", `["z"]`)},
		{"four spaces", "a:\n    b: 1\n", "a:\n    b: 1\n    c:\n        d: 2\n", set("/a/c", `{"d":2}`)},
		{"before the comment below", "a:\n  b: 1 # one\n  # c: 2\nz: 1\n", "a:\n  b: 1 # one\n  c: 3\n  # c: 2\nz: 1\n", set("/a/c", "3")},
		{"flow", "a: {b: 1}\n", "a: {b: 1, c: {d: [x, 2]}}\n", set("/a/c", `{"d":["x",2]}`)},
		{"member", aiderConf, strings.Replace(aiderConf, `b.md"]`, `b.md", CONVENTIONS.md]`, 1), set(`/read#"CONVENTIONS.md"`, "true")},
		{"member of a block", aiderConf, strings.Replace(aiderConf, "gofmt -l'\n", "gofmt -l'\n  - \"x: y\"\n", 1), set(`/lint-cmd#"x: y"`, "true")},
		{"scalar in its place", aiderConf, strings.Replace(aiderConf, "openai/qwen3-coder ", "openai/other ", 1), set("/model", `"openai/other"`)},
		{"equal by value is left", aiderConf, aiderConf, set("/lint-cmd", `["python: ruff check --fix","go: gofmt -l"]`)},
		{"no is a text", aiderConf, aiderConf, set("/auto-commits", `"no"`)},
		{"null becomes a mapping", "a: # later\nb: 1\n", "a: # later\n  c: 1\nb: 1\n", set("/a/c", "1")},
		{"a scalar becomes a mapping", "a: 1 # one\nb: 1\n", "a: # one\n  c: 1\nb: 1\n", set("/a", `{"c":1}`)},
		{"a mapping becomes a scalar", "a: # why\n  # x\n  c: 1\nb: 1\n", "a: 5 # why\nb: 1\n", set("/a", `5`)},
		{"a text of lines becomes a scalar", "a: |\n  x\n\n  y\nb: 1\n", "a: z\nb: 1\n", set("/a", `"z"`)},
		{"line ends", "a: 1\r\n", "a: 1\r\nb:\r\n  - 2\r\n", set("/b", "[2]")},
		{"words that mislead are quoted", "", "a:\n  - \"yes\"\n  - \"1\"\n  - \"\"\n  - \"~\"\n  - \"a: b\"\n  - plain text\n  - 1.0e+99\n", set("/a", `["yes","1","","~","a: b","plain text",1e99]`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := mustEdit(t, YAML, tt.doc, nil, tt.op)
			if string(res.Doc) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", res.Doc, tt.want)
			}
		})
	}
}

func TestYAMLRemovalLeavesWhatTheUserAdded(t *testing.T) {
	for _, tt := range []struct {
		name, before string
		op           Op
		edit         func(string) string
		want         string
	}{
		{"a comment in our mapping", "z: 0\n", set("/m/a", "1"), func(s string) string { return strings.Replace(s, "  a:", "  # mine\n  a:", 1) }, "z: 0\nm: {}\n  # mine\n"},
		{"a comment beside our entry", "z: 0\n", set("/a", "1"), func(s string) string { return strings.Replace(s, "a: 1", "a: 1 # mine", 1) }, "z: 0\n# mine\n"},
		{"a key in our mapping", "", set("/m/a", "1"), func(s string) string { return s + "  b: 2\n" }, "m:\n  b: 2\n"},
		{"an item in our sequence", "", set(`/m#1`, "true"), func(s string) string { return s + "  - 2\n" }, "m:\n  - 2\n"},
		{"a second document's worth of text", "", set(`/m`, "1"), func(s string) string { return s + "# end\n" }, "{}\n# end\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := mustEdit(t, YAML, tt.before, nil, tt.op)
			got := mustEdit(t, YAML, tt.edit(string(res.Doc)), res.Made[0], Op{Key: tt.op.Key})
			if string(got.Doc) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got.Doc, tt.want)
			}
		})
	}
	for doc, want := range map[string]string{"m:\n  a: 1\n": "m: {}\n", "m:\n- 1\n": "m: []\n", "m: {a: 1}\n": "m: {}\n"} {
		op := Op{Key: "/m/a"}
		if strings.Contains(doc, "-") {
			op.Key = "/m#1"
		}
		if res := mustEdit(t, YAML, doc, nil, op); string(res.Doc) != want {
			t.Errorf("what was not made here became %q, want %q", res.Doc, want)
		}
	}
}

func TestYAMLFaultsSayWhere(t *testing.T) {
	for _, tt := range []struct {
		doc  string
		op   Op
		want string
	}{
		{"a: 1\nb: [1,\n", set("/x", "1"), "2:1: invalid YAML"},
		{"a: 1\n\tb: 2\n", set("/x", "1"), "2:2: invalid YAML: the line is indented with a tab"},
		{"a: 1\n b: 2\n", set("/x", "1"), "2:2: invalid YAML"},
		{"a: 1\nb: \"x\n", set("/x", "1"), "2:1: invalid YAML"},
		{"a: b: c\n", set("/x", "1"), "1:1: invalid YAML: mapping values are not allowed"},
		{"a: 1\nb: 2\na: 3\n", set("/x", "1"), `3:1: the name "a" stands twice in one mapping, first in line 1`},
		{"x: {b: 1,\n  b: 2}\n", set("/y", "1"), `2:3: the name "b" stands twice`},
		{"a: 1\n---\nb: 2\n", set("/x", "1"), "2:1: a second document begins here"},
		{"- 1\n", set("/x", "1"), "1:1: the document is a sequence, want a mapping"},
		{"a: text\n", set("/a/b", "1"), "1:4: /a is a string, want a mapping"},
		{"a: []\n", set("/a/b", "1"), "1:4: /a is a sequence, want a mapping"},
		{"a: {}\n", set("/a#1", "true"), "1:4: /a is a mapping, want a sequence"},
		{"a: &x {b: 1}\nc: *x\n", set("/a/d", "1"), "1:7: /a has the anchor &x"},
		{"a: &x {b: 1}\nc: *x\n", set("/c/d", "1"), "2:4: /c is the alias *x"},
		{"a: &x {b: 1}\nc: [*x]\n", set("/c", "1"), "2:5: /c is the alias *x"},
		{"a: &x {b: 1}\nc:\n  <<: *x\n", set("/c/d", "1"), "3:3: /c merges another mapping with <<"},
		{"a: !my 1\n", set("/a", "1"), "1:8: /a has the tag !my"},
		{"a: *nope\n", set("/x", "1"), "1:1: invalid YAML: unknown anchor 'nope'"},
		{"a: 1\rb: 2\n", set("/x", "1"), "1:5: the document holds a carriage return"},
		{"a: 1\nb: \x01\n", set("/x", "1"), "invalid YAML: control characters are not allowed"},
		{strings.Repeat("[", 5000) + strings.Repeat("]", 5000), set("/x", "1"), "nests more than 1000 deep"},
		{"a: 1\n...\n# c\n...\n", set("/b", "1"), ""},
	} {
		res, err := Edit(YAML, []byte(tt.doc), []Op{tt.op}, nil)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%.60q: %v", tt.doc, err)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) || e.Hint == "" {
			t.Errorf("%.60q: got %v, want %q and a hint", tt.doc, err, tt.want)
		}
		if res.Doc != nil {
			t.Errorf("%.60q: an error came with a document", tt.doc)
		}
	}
}

func TestYAMLReadsWhatAProgramReads(t *testing.T) {
	for _, tt := range []struct {
		doc, key, want string
		line           int
	}{
		{gooseConfig, "/extensions/memory", `{"args":["-y","memory"],"description":"Keeps notes.\n\n  # not a comment\n","envs":{},"type":"stdio"}`, 12},
		{gooseConfig, "/slash", `"folded text"`, 23},
		{aiderConf, `/read#"docs/a, b.md"`, `"docs/a, b.md"`, 3},
		{"a: 0x1F\n", "/a", "31", 1},
		{"a: 1.50\n", "/a", "1.5e0", 1},
		{"a: -.inf\n", "/a", `{"$float":"-inf"}`, 1},
		{"a: 123456789012345678901234567890123\n", "/a", "1.23456789012345678901234567890123e32", 1},
		{"a: 2001-01-01\n", "/a", `{"$datetime":"2001-01-01"}`, 1},
		{"a: !!str 5\n", "/a", `"5"`, 1},
		{"a: yes\n", "/a", `"yes"`, 1},
		{"\"\\u0061\": \"\\u00e9\\x41\"\n", "/a", `"éA"`, 1},
	} {
		got, err := Read(YAML, []byte(tt.doc), []string{tt.key})
		if err != nil {
			t.Fatal(err)
		}
		want, err := Canonical(Value(tt.want))
		if err != nil {
			t.Fatal(err)
		}
		if l := got[tt.key]; string(l.Value) != string(want) || l.Line != tt.line {
			t.Errorf("%s of %q: got %s in line %d; want %s in %d", tt.key, tt.doc, l.Value, l.Line, want, tt.line)
		}
	}
}

func TestAPriorYAMLValueComesBackAsItWasWritten(t *testing.T) {
	for _, tt := range []struct{ doc, key string }{
		{"a:  'x'   # why\nb: 1\n", "/a"},
		{"t:\n  a: { b: [1, 'x'] }\n", "/t/a"},
		{"t: {a: 0x1f, b: 2}\n", "/t/a"},
	} {
		prior, err := Read(YAML, []byte(tt.doc), []string{tt.key})
		if err != nil {
			t.Fatal(err)
		}
		changed := mustEdit(t, YAML, tt.doc, nil, set(tt.key, `"another"`))
		back := mustEdit(t, YAML, string(changed.Doc), nil, Op{Key: tt.key, Value: prior[tt.key].Value, Raw: prior[tt.key].Raw})
		if !changed.Changed || string(back.Doc) != tt.doc {
			t.Errorf("got\n%s\nwant\n%s", back.Doc, tt.doc)
		}
	}
}

func FuzzEditYAML(f *testing.F) {
	for i, doc := range yamlDocs {
		f.Add([]byte(doc), uint16(i*7919), "name", int64(i))
	}
	f.Fuzz(func(t *testing.T, doc []byte, mask uint16, name string, seed int64) {
		ops := choose(yamlPool, mask)
		if k := Pointer("fuzz", name); checkKey(YAML, k) == nil {
			ops = append(ops, Op{Key: k, Value: quote(name)})
		}
		fuzzEdit(t, YAML, doc, ops, seed)
	})
}
