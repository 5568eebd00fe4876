package yaml

import "aisync.dev/aisync/internal/merge/leaf"

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

var ops = []leaf.Op{
	{Key: "/extensions/notes", Value: leaf.Value(`{"cmd":"npx","args":["-y","notes"],"envs":{},"enabled":true,"timeout":300}`)},
	{Key: "/extensions/files", Value: leaf.Value(`{"type":"sse","uri":"http://127.0.0.1:1/","list":[{"a":1,"b":[1,[2]]},{}]}`)},
	{Key: `/read#"AGENTS.md"`, Value: leaf.Value("true")},
	{Key: `/read#"docs/yes"`, Value: leaf.Value("true")},
	{Key: `/deep/er/set#{"a":[1,2]}`, Value: leaf.Value(`{"a":[1,2.0]}`)},
	{Key: `/deep/er/set#null`, Value: leaf.Value("true")},
	{Key: "/deep/er/still", Value: leaf.Value(`{}`)},
	{Key: "/deep/er/more", Value: leaf.Value(`1.50`)},
	{Key: "/model", Value: leaf.Value(`"openai/x y"`)},
	{Key: "/flag", Value: leaf.Value(`true`)},
	{Key: "/null", Value: leaf.Value(`"no"`)},
	{Key: "/a~1b/c~0d: e/~2f", Value: leaf.Value(`[1,{"x":null}]`)},
	{Key: "/text", Value: leaf.Value(`"one\ntwo\t\"x\" # no\u007f\u2028é"`)},
	{Key: "/when", Value: leaf.Value(`{"$datetime":"1979-05-27T07:32:00Z"}`)},
	{Key: "/big", Value: leaf.Value(`123456789012345678901234567890`)},
	{Key: "/small", Value: leaf.Value(`1e-7`)},
}

// docs all have room for all of ops.
var docs = []string{
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
