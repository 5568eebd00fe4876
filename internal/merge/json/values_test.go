package json

import (
	"bytes"
	stdjson "encoding/json"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/internal/merge/leaf"
	"aisync.dev/aisync/internal/merge/mergetest"
)

func TestUnownedJSONKeepsItsValues(t *testing.T) {
	rules := Rules{Sets: []string{"/permissions/*"}, Hooks: "/hooks"}
	for seed := range int64(8) {
		r := rand.New(rand.NewSource(seed))
		for _, doc := range docs {
			before, err := Flatten([]byte(doc), rules)
			if err != nil {
				continue // nothing in it
			}
			added := mergetest.Pick(t, r, JSON, []byte(doc), ops)
			res, err := leaf.Edit(JSON, []byte(doc), added, nil)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			after, err := Flatten(res.Doc, rules)
			if err != nil {
				t.Fatalf("seed %d: %q: %v", seed, res.Doc, err)
			}
			values := map[string]leaf.Value{}
			for _, l := range after {
				values[l.Key] = l.Value
			}
			for _, l := range before {
				if string(l.Value) != "{}" && !bytes.Equal(values[l.Key], l.Value) {
					t.Fatalf("seed %d: %s was %s, is %s in\n%s", seed, l.Key, l.Value, values[l.Key], res.Doc)
				}
			}
			if len(added) > 0 && !strings.Contains(doc, "//") && !strings.Contains(doc, "/*") && !strings.Contains(doc, ", }") && !stdjson.Valid(res.Doc) {
				t.Fatalf("seed %d: plain JSON became\n%s", seed, res.Doc)
			}
		}
	}
}

func TestFlattenKeepsTheOrderOfTheFragment(t *testing.T) {
	doc := `{
  "permissions": {"allow": ["Bash(b)", "Bash(a)", "Bash(b)"], "defaultMode": "plan"},
  "env": {"X": "1"}, "empty": {}, "list": [1, 2],
  "mcpServers": {"n": {"type": "stdio", "command": "c"}},
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "s"}]}],
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "timeout": 5, "command": "p"}]}]}
}`
	if _, err := Flatten([]byte(doc), Rules{Sets: []string{"/permissions/*"}, Hooks: "/hooks", Atomic: []string{"/mcpServers/*"}}); err == nil {
		t.Fatal("a set that is a string must be refused")
	}
	leaves, err := Flatten([]byte(doc), Rules{Sets: []string{"/permissions/allow", "/permissions/deny"}, Hooks: "/hooks", Atomic: []string{"/mcpServers/*"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range leaves {
		got = append(got, l.Key+" = "+string(l.Value))
	}
	want := []string{
		`/permissions/allow#"Bash(b)" = "Bash(b)"`,
		`/permissions/allow#"Bash(a)" = "Bash(a)"`,
		`/permissions/defaultMode = "plan"`,
		`/env/X = "1"`,
		`/empty = {}`,
		`/list = [1,2]`,
		`/mcpServers/n = {"type":"stdio","command":"c"}`,
		`/hooks/Stop#{"matcher":"","type":"command","command":"s"} = {"type":"command","command":"s"}`,
		`/hooks/PreToolUse#{"matcher":"Bash","type":"command","command":"p"} = {"type":"command","timeout":5,"command":"p"}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if leaves[0].Line != 2 {
		t.Errorf("line of %s is %d, want 2", leaves[0].Key, leaves[0].Line)
	}
	// What was flattened can be set and read back.
	var ops []leaf.Op
	for _, l := range leaves {
		ops = append(ops, leaf.Op{Key: l.Key, Value: l.Value})
	}
	if res := mergetest.MustEdit(t, JSON, "", nil, ops...); !strings.Contains(string(res.Doc), `"timeout": 5`) {
		t.Errorf("got %s", res.Doc)
	}
}

func BenchmarkFiftyLeavesIntoOneMegabyte(b *testing.B) {
	doc := `{"history": [` + strings.Repeat("\n  {\"display\": \"some text\", \"n\": 1},", 25000) + "\n  1\n]}\n"
	var ops []leaf.Op
	for i := range 50 {
		ops = append(ops, mergetest.Set(`/permissions/allow#"Bash(`+strings.Repeat("x", i)+`)"`, "true"))
	}
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := leaf.Edit(JSON, []byte(doc), ops, nil); err != nil {
			b.Fatal(err)
		}
	}
}
