package schema

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"aisync.dev/aisync/schema/cuectx"
	"aisync.dev/aisync/schema/position"
)

// evaluator builds CUE values without a module, a registry or a network: imports
// come from the binary.
type evaluator struct {
	ctx    *cue.Context
	build  *build.Context
	schema cue.Value
	loads  int // that it was used for
}

// renewAfter is how many loads an evaluator is used for. What they evaluated stays in
// its context.
const renewAfter = 32

// spare is an evaluator of an earlier load of this process. To build the schema takes
// half of the time of a load.
var spare struct {
	sync.Mutex
	*evaluator
}

// takeEvaluator returns an evaluator that no other load uses.
func takeEvaluator() (*evaluator, error) {
	spare.Lock()
	e := spare.evaluator
	spare.evaluator = nil
	spare.Unlock()
	if e == nil {
		return newEvaluator()
	}
	e.build = build.NewContext(build.Loader(e.load)) // knows no package of the last load
	return e, nil
}

// done leaves e to the next load, once this one has ended.
func (e *evaluator) done() {
	if e.loads++; e.loads >= renewAfter {
		return
	}
	spare.Lock()
	defer spare.Unlock()
	spare.evaluator = e
}

func newEvaluator() (*evaluator, error) {
	e := &evaluator{ctx: cuectx.Context()}
	e.build = build.NewContext(build.Loader(e.load))
	e.schema = e.ctx.BuildInstance(e.instance("schema", parsed("schema", definitions)))
	if err := e.schema.Err(); err != nil {
		return nil, fmt.Errorf("embedded schema: %w", err)
	}
	return e, nil
}

// load returns the packages in the binary, and nil for others, which CUE then
// looks for among its own. For a spec that imports it, every definition of the
// schema accepts anything: check compares with the real ones afterwards, with
// better messages than CUE's.
func (e *evaluator) load(_ token.Pos, pkg string) *build.Instance {
	switch pkg {
	case schemaPackage:
		return e.instance("schema", []*ast.File{openPackage(parsed("schema", definitions))})
	case catalogPackage, runtimesPackage:
		name := strings.TrimPrefix(pkg, "aisync.dev/")
		return e.instance(name, parsed(name, packages[pkg]()))
	}
	return nil
}

// parsed returns the files of an embedded package. Tests read all of them, so an
// error means a broken build.
func parsed(name string, from fs.FS) []*ast.File {
	texts := cueFiles(from)
	var files []*ast.File
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		f, err := parser.ParseFile(position.Embedded+name+"/"+file, texts[file])
		if err != nil {
			panic(fmt.Sprintf("schema: embedded %s: %v", file, err))
		}
		files = append(files, f)
	}
	return files
}

// openPackage returns a package with the definitions of files, each as _.
func openPackage(files []*ast.File) *ast.File {
	decls := []ast.Decl{&ast.Package{Name: ast.NewIdent("schema")}}
	for _, f := range files {
		for _, d := range f.Decls {
			field, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			if name, _, err := ast.LabelName(field.Label); err == nil && strings.HasPrefix(name, "#") {
				decls = append(decls, &ast.Field{Label: ast.NewIdent(name), Value: ast.NewIdent("_")})
			}
		}
	}
	return &ast.File{Filename: position.Embedded + "schema/anything.cue", Decls: decls}
}

func (e *evaluator) instance(name string, files []*ast.File) *build.Instance {
	inst := e.build.NewInstance(position.Embedded+name, e.load)
	inst.ImportPath, inst.PkgName = "aisync.dev/"+name, path.Base(name)
	for _, f := range files {
		if err := inst.AddSyntax(f); err != nil {
			inst.ReportError(err)
		}
	}
	if err := inst.Complete(); err != nil {
		inst.ReportError(cueerrors.Promote(err, "embedded"))
	}
	return inst
}
