package schema

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/costly"
	"aisync.dev/aisync/schema/layers"
	"aisync.dev/aisync/schema/position"
)

// ProjectFile is the name of a project's spec, in its root.
const ProjectFile = "aisync.cue"

// specPackage is the package clause of every spec.
const specPackage = "aisync"

const importHint = "a spec may import CUE's own packages, " + schemaPackage + " and " + catalogPackage

// source is one file of a spec.
type source = layers.File

// document is the files of one spec as a value with positions. It collects
// problems instead of returning them one by one.
type document struct {
	root     cue.Value
	at       *position.Index
	fit      map[string]bool // fields of root that check need not walk
	problems Errors
	bases    map[string]layers.Layer // by the names of their files
}

// read parses and evaluates files. A document with problems may have no value.
func (e *evaluator) read(files []source, cwd string) *document {
	return e.readStripped(files, cwd, false)
}

// readStripped is read; strip leaves out what each of several layers has for itself.
func (e *evaluator) readStripped(files []source, cwd string, strip bool) *document {
	d := &document{}
	var parsed []*ast.File
	inst := e.build.NewInstance("", e.load)
	for _, src := range files {
		if pos, deep := costly.TooDeep(src.Parsed(), src.Text); deep {
			d.at = position.New(nil, cwd)
			d.add(Problem{Pos: d.at.Shown(pos), Message: costly.Deep, Hint: "split it into fields"})
			continue
		}
		f, err := parser.ParseFile(src.Parsed(), src.Text)
		if strip && f != nil {
			layers.Strip(f)
		}
		if f != nil {
			parsed = append(parsed, f)
		}
		if err == nil {
			if err := inst.AddSyntax(f); err != nil {
				inst.ReportError(err)
			}
			continue
		}
		d.at = position.New(nil, cwd)
		d.syntax(err)
	}
	d.at = position.New(parsed, cwd)
	if len(d.problems) > 0 {
		return d
	}
	for _, f := range parsed {
		d.checkPackage(f)
		d.checkImports(f)
	}
	if len(d.problems) > 0 {
		return d
	}
	inst.PkgName = specPackage
	if err := inst.Complete(); err != nil {
		d.evaluation(err)
		return d
	}
	root := e.ctx.BuildInstance(inst)
	if kindOf(root) == cue.BottomKind {
		d.evaluation(root.Err())
		return d
	}
	d.root = root
	return d
}

func (d *document) checkPackage(f *ast.File) {
	switch name := f.PackageName(); name {
	case specPackage:
	case "":
		d.add(Problem{Pos: d.at.Shown(fileStart(f)), Message: "no package clause", Hint: "write " + strconv.Quote("package "+specPackage) + " above the rest"})
	default:
		d.add(Problem{Pos: d.at.Shown(fileStart(f)), Message: fmt.Sprintf("package %s: want package %s", name, specPackage)})
	}
}

func fileStart(f *ast.File) token.Pos {
	for _, d := range f.Decls {
		if p, ok := d.(*ast.Package); ok {
			return p.Pos()
		}
	}
	if len(f.Decls) > 0 {
		return f.Decls[0].Pos()
	}
	return f.Pos()
}

// checkImports refuses imports that would need a fetch. Paths without a dot in
// their first part are CUE's packages, which CUE checks.
func (d *document) checkImports(f *ast.File) {
	for imp := range f.ImportSpecs() {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil || path == schemaPackage || path == catalogPackage {
			continue
		}
		first, _, _ := strings.Cut(path, "/")
		if !strings.Contains(first, ".") {
			continue
		}
		hint := importHint
		if near := nearest.Name(path, []string{schemaPackage, catalogPackage}); near != "" {
			hint = "did you mean " + strconv.Quote(near) + "?"
		}
		d.add(Problem{Pos: d.at.Shown(imp.Pos()), Message: fmt.Sprintf("import %q: no such package in this version of aisync, and nothing is fetched", path), Hint: hint})
	}
}

func (d *document) add(p Problem) { d.problems = append(d.problems, p) }

// syntax adds the parser's errors.
func (d *document) syntax(err error) {
	for _, e := range cueerrors.Errors(err) {
		d.add(Problem{Pos: d.at.Shown(userPosition(e)), Message: message(e)})
	}
}

// evaluation adds errors of the files before any schema: unknown references,
// contradictory values.
func (d *document) evaluation(err error) {
	for _, e := range cueerrors.Errors(err) {
		positions := userPositions(e)
		p := Problem{Path: pathText(errorPath(e)), Message: message(e)}
		if len(positions) > 0 {
			p.Pos = d.at.Shown(positions[0])
		} else {
			p.Pos = d.at.Value(errorPath(e)...)
		}
		switch format, _ := e.Msg(); {
		case strings.HasPrefix(format, "conflicting values") && len(positions) > 1:
			p.Hint = "the other one is at " + d.at.Shown(positions[1]).String()
		case strings.HasPrefix(format, "builtin package"):
			p.Hint = importHint
		}
		d.add(p)
	}
}

func message(e cueerrors.Error) string {
	format, args := e.Msg()
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}

func userPosition(e cueerrors.Error) token.Pos {
	if ps := userPositions(e); len(ps) > 0 {
		return ps[0]
	}
	return token.NoPos
}

// userPositions returns the positions of e in the author's files, in order.
func userPositions(e cueerrors.Error) []token.Pos {
	var user []token.Pos
	for _, p := range cueerrors.Positions(e) {
		if p.IsValid() && !strings.HasPrefix(p.Filename(), position.Embedded) {
			user = append(user, p)
		}
	}
	sort.SliceStable(user, func(i, j int) bool { return user[i].Compare(user[j]) < 0 })
	return slices.Compact(user)
}

// errorPath returns the path of e without definitions.
func errorPath(e cueerrors.Error) []string {
	var path []string
	for _, part := range e.Path() {
		if !strings.HasPrefix(part, "#") {
			path = append(path, strings.Trim(part, `"`))
		}
	}
	return path
}

// pathText joins a path with dots; it quotes a part with a dot or a space.
func pathText(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		if strings.ContainsAny(p, ". \t") {
			p = strconv.Quote(p)
		}
		parts[i] = p
	}
	return strings.Join(parts, ".")
}
