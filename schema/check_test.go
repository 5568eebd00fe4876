package schema

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/schema/describe"
)

// mutants are texts that differ from text in one line: without it, or with
// another word for one of its values or names.
func mutants(text string) []string {
	lines := strings.Split(text, "\n")
	var out []string
	with := func(i int, line string) {
		if line != lines[i] {
			out = append(out, strings.Join(lines[:i], "\n")+"\n"+line+"\n"+strings.Join(lines[i+1:], "\n"))
		}
	}
	value := regexp.MustCompile(`"[^"]*"|\b\d+\b|\btrue\b|\bfalse\b`)
	label := regexp.MustCompile(`\b[a-zA-Z]+(:)`)
	for i, line := range lines {
		if strings.HasPrefix(line, "package") || strings.TrimSpace(line) == "" {
			continue
		}
		with(i, "")
		others := []string{`"x y"`, `7`, `-1`, `string`, `_`, `*"a" | "b"`, `{}`, `[]`, `null`, `>=60`}
		for j := range 3 { // of them, in turn
			with(i, value.ReplaceAllLiteralString(line, others[(3*i+j)%len(others)]))
		}
		with(i, label.ReplaceAllString(line, []string{"other$1", `"a b"$1`}[i%2]))
	}
	return out
}

// What fits the schema as a whole, the walk through both has nothing against.
func TestFitsImpliesEmptyWalk(t *testing.T) {
	e, err := newEvaluator()
	if err != nil {
		t.Fatal(err)
	}
	texts := [][2]string{{"#HostSpec", `package aisync
hosts: mine: match: {memoryGiB: >=60, hostname: "mine"}
catalog: runtimes: own: {
	command: "own"
	aliases: ["o"]
	detect: markers: [{name: "OWN", strength: "proof"}]
	hookEvents: Stop: {level: "native"}
	project: {dir: ".own", settings: {path: ".own/s.json", format: "json"}, instructions: ["OWN.md"]}
	project: always: [{path: ".own/s.json", format: "json", pointer: "/a", value: {b: [1]}}]
}
`}}
	for file, definition := range map[string]string{"host/velox.cue": "#HostSpec", "project/" + ProjectFile: "#ProjectSpec"} {
		b, err := os.ReadFile(filepath.Join(contract, file))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, [2]string{definition, string(b)})
	}
	fit, not := 0, 0
	for _, of := range texts {
		schema := e.schema.LookupPath(cue.ParsePath(of[0]))
		for _, text := range append(mutants(of[1]), of[1]) {
			d := e.read([]source{{Path: "/spec.cue", Name: "spec.cue", Text: []byte(text)}}, "")
			if !d.root.Exists() {
				continue
			}
			d.compare(nil, d.root, schema, "")
			all := d.problems
			if fits(d.root, schema) {
				fit++
				if len(all) > 0 {
					t.Errorf("fits, and yet\n%v\nin\n%s", all, text)
				}
				continue
			}
			not++
			d.problems, d.fit = nil, fittingFields(d.root, describe.LevelOf(schema))
			if d.compare(nil, d.root, schema, ""); !slices.Equal(d.problems, all) {
				t.Errorf("without %v:\n%v\nwant\n%v\nin\n%s", d.fit, d.problems, all, text)
			}
		}
	}
	if fit < 20 || not < 20 {
		t.Errorf("%d texts fit and %d do not: too few to tell", fit, not)
	}
}
