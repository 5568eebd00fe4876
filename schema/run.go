package schema

import (
	"embed"
	"fmt"
	"os"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"aisync.dev/aisync/schema/cuectx"
	"aisync.dev/aisync/schema/describe"
	"aisync.dev/aisync/schema/position"
	"aisync.dev/aisync/schema/spec"
)

// The files of runs have separate definitions, which no spec can refer to, so
// that reading a spec does not load them.
//
//go:embed run/*.cue
var runDefinitions embed.FS

// runKinds maps the files below .ilchul to their definitions; event, reward and
// recovery are single lines.
var runKinds = map[string]string{
	"config": "#Config", "active": "#Active", "run-contract": "#Contract", "objective": "#Objective", "policy-selection": "#Policy",
	"task-graph": "#TaskGraph", "graph": "#Graph", "workers": "#Workers", "claims": "#Claims", "evidence": "#Evidence", "event": "#Event",
	"evaluation": "#Evaluation", "integration": "#Integration", "policy-hints": "#Hints", "strategy-stats": "#Strategies",
	"simulator-calibration": "#Calibration", "reward": "#Reward", "storage-root": "#StorageRoot", "recovery": "#Recovery",
}

// RunText returns the schema of the files of runs, for people and editors.
func RunText() []byte {
	text, err := runDefinitions.ReadFile("run/run.cue")
	if err != nil {
		panic(fmt.Sprintf("schema: embedded run.cue: %v", err))
	}
	return text
}

var runSchema = sync.OnceValues(func() (cue.Value, error) {
	v := cuectx.Context().CompileBytes(RunText(), cue.Filename(position.Embedded+"run.cue"))
	if err := v.Err(); err != nil {
		return v, fmt.Errorf("embedded schema of runs: %w", err)
	}
	return v, nil
})

// one serialises the use of the schema's value.
var one sync.Mutex

// CheckRun checks a file below .ilchul, or a line of one, against its schema.
// The content is JSON, not CUE: nothing in it is evaluated. It returns Errors
// with the places in path.
func CheckRun(kind, path string, content []byte) error {
	name, known := runKinds[kind]
	if !known {
		return fmt.Errorf("%s: unknown kind of file %q", path, kind)
	}
	if line, col, why := position.NotJSON(content); why != "" {
		return Errors{{Pos: spec.Position{File: path, Line: line, Col: col}, Message: why}}
	}
	one.Lock()
	defer one.Unlock()
	schema, err := runSchema()
	if err != nil {
		return err
	}
	expr, err := parser.ParseExpr(path, content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	cwd, _ := os.Getwd()
	file := &ast.File{Filename: path, Decls: []ast.Decl{&ast.EmbedDecl{Expr: expr}}}
	d := &document{at: position.New([]*ast.File{file}, cwd), root: cuectx.Context().BuildExpr(expr)}
	if kindOf(d.root) != cue.StructKind {
		d.add(Problem{Pos: d.at.Value(), Message: "want an object, got " + describe.Text(d.root)})
		return d.problems
	}
	d.check(schema.LookupPath(cue.ParsePath(name)))
	return d.problems.Sorted()
}
