package cuectx

import (
	"os"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/parser"
)

func TestContextEvaluatesLikeCUE(t *testing.T) {
	v := Context().CompileString("import \"strings\"\na: strings.ToUpper(\"x\")\nb: {a: >3 & <9, a: 7}")
	if got, err := v.LookupPath(cue.ParsePath("a")).String(); got != "X" || err != nil {
		t.Errorf("a is %q, %v", got, err)
	}
	if got, err := v.LookupPath(cue.ParsePath("b.a")).Int64(); got != 7 || err != nil {
		t.Errorf("b.a is %d, %v", got, err)
	}
}

// The binary is built with another text/template; .ci/run runs this test with it.
func TestContextExecutesTemplates(t *testing.T) {
	v := Context().CompileString(`import "text/template"
data: {name: "x", tools: ["a", "b"], deep: {n: 3, f: 1.5, yes: true, no: null}}
text: template.Execute("{{.name}}:{{range $i, $t := .tools}}{{$i}}{{$t}} {{end}}{{.deep.n}} {{.deep.f}}{{if .deep.yes}} yes{{end}}{{with .deep.no}}no{{end}} {{len .tools}} {{printf \"%03d\" .deep.n}} {{.none}}", data)`)
	if got, err := v.LookupPath(cue.ParsePath("text")).String(); got != "x:0a 1b 3 1.5 yes 2 003 <no value>" || err != nil {
		t.Errorf("text is %q, %v", got, err)
	}
}

// What a spec could read it could carry into a file that is committed.
func TestContextRefusesEmbedding(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"secret.json": `{"token":"hunter2"}`, "cue.mod/module.cue": "module: \"example.com/x\"\nlanguage: version: \"v0.9.0\"\n"} {
		if name == "cue.mod/module.cue" {
			if err := os.Mkdir("cue.mod", 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := parser.ParseFile(dir+"/aisync.cue", "@extern(embed)\npackage aisync\nx: _ @embed(file=\"secret.json\")\n")
	if err != nil {
		t.Fatal(err)
	}
	inst := build.NewContext().NewInstance(dir, nil)
	if err := inst.AddSyntax(f); err != nil {
		t.Fatal(err)
	}
	v := Context().BuildInstance(inst)
	if token, err := v.LookupPath(cue.ParsePath("x.token")).String(); err == nil {
		t.Errorf("it read %q", token)
	}
}
