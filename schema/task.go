package schema

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/encoding/yaml"

	"aisync.dev/aisync/schema/position"
	"aisync.dev/aisync/schema/spec"
)

// TaskReader reads task files. It is safe for concurrent use.
type TaskReader struct {
	cwd        string
	mu         sync.Mutex // CUE contexts are not safe for concurrent use
	eval       *evaluator
	rich, flat cue.Value
}

// NewTaskReader returns a reader whose positions are relative to cwd where that
// is shorter; "" keeps names unchanged.
func NewTaskReader(cwd string) (*TaskReader, error) {
	e, err := newEvaluator()
	if err != nil {
		return nil, err
	}
	return &TaskReader{cwd: cwd, eval: e, rich: e.schema.LookupPath(cue.ParsePath("#Task")), flat: e.schema.LookupPath(cue.ParsePath("#FlatTask"))}, nil
}

// Read reads a task of either form, in YAML or JSON. It returns all problems
// together, as Errors.
func (r *TaskReader) Read(name string, text []byte) (spec.Task, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.parse(name, text)
	var t spec.Task
	if len(d.problems) == 0 {
		root := d.node()
		if flat(root) {
			d.check(r.flat)
			t = root.flatTask()
		} else {
			d.check(r.rich)
			t = root.task()
		}
		root.checkTask(&t)
	}
	t.File = name
	return t, d.problems.Sorted()
}

// parse makes a document from YAML.
func (r *TaskReader) parse(name string, text []byte) *document {
	d := &document{at: position.New(nil, r.cwd)}
	start := Problem{Pos: spec.Position{File: d.at.File(name), Line: 1, Col: 1}}
	if !utf8.Valid(text) {
		start.Pos.Line, start.Pos.Col = badByte(text)
		start.Message = "not UTF-8"
		d.add(start)
		return d
	}
	f, err := extract(name, text)
	if err != nil {
		d.notYAML(start, name, err)
		return d
	}
	d.at.Begin(f.Pos(), f.Pos())
	if len(f.Decls) > 0 && f.Decls[0].Pos().IsValid() {
		d.at.Begin(f.Decls[0].Pos(), f.Decls[0].Pos())
	}
	count := 0
	ast.Walk(f, func(ast.Node) bool { count++; return count <= maxNodes }, nil)
	if count > maxNodes {
		start.Message, start.Hint = "too many values in it for one task", "make several tasks of it"
		d.add(start)
		return d
	}
	d.at.Add(f.Decls)
	if d.reportDuplicates(nil, f.Decls); len(d.problems) > 0 {
		return d
	}
	d.root = r.eval.ctx.BuildFile(f)
	switch kindOf(d.root) {
	case cue.StructKind:
		return d
	case cue.BottomKind:
		d.evaluation(d.root.Err())
	case cue.ListKind:
		start.Message = "want one task, a mapping of fields, got a list, or several documents"
		d.add(start)
	case cue.StringKind, cue.NumberKind, cue.IntKind, cue.FloatKind, cue.BoolKind:
		start.Message = "want one task, a mapping of fields"
		d.add(start)
	default:
		start.Message = "no task in it: the file is empty"
		d.add(start)
	}
	return d
}

// extract is yaml.Extract without its panic on some texts with mixed line ends
// (cuelang.org/go v0.17.1: "\r\rn").
func extract(name string, text []byte) (f *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("unreadable; look for lines that end in a bare carriage return")
		}
	}()
	return yaml.Extract(name, text)
}

// maxNodes bounds the syntax of a task, with expanded aliases: more take seconds
// to compare. A long task has a few hundred nodes.
const maxNodes = 10_000

// notYAML adds the YAML reader's error: "name:line: what", of which the line may
// be missing. It has no column.
func (d *document) notYAML(start Problem, name string, err error) {
	for _, e := range cueerrors.Errors(err) {
		p := start
		p.Message = strings.TrimPrefix(strings.TrimSpace(e.Error()), name+":")
		if line, rest, ok := strings.Cut(p.Message, ": "); ok {
			if n, err := strconv.Atoi(line); err == nil {
				p.Pos.Line, p.Message = n, rest
			}
		}
		p.Message = "no YAML: " + strings.TrimSpace(p.Message)
		d.add(p)
	}
}

// reportDuplicates reports duplicate fields, which YAML forbids and CUE would unify.
func (d *document) reportDuplicates(path []string, decls []ast.Decl) {
	seen := map[string]ast.Node{}
	for _, decl := range decls {
		field, ok := decl.(*ast.Field)
		if !ok {
			continue
		}
		name, _, err := ast.LabelName(field.Label)
		if err != nil {
			continue
		}
		at := append(path[:len(path):len(path)], name)
		if first, ok := seen[name]; ok {
			d.add(Problem{Pos: d.at.Shown(field.Label.Pos()), Path: pathText(at), Message: "written twice", Hint: "the other one is at " + d.at.Shown(first.Pos()).String()})
		}
		seen[name] = field.Label
		d.twiceIn(at, field.Value)
	}
}

func (d *document) twiceIn(path []string, e ast.Expr) {
	switch e := e.(type) {
	case *ast.StructLit:
		d.reportDuplicates(path, e.Elts)
	case *ast.ListLit:
		for i, elem := range e.Elts {
			d.twiceIn(append(path[:len(path):len(path)], strconv.Itoa(i)), elem)
		}
	}
}

// badByte returns the place of the first byte that is not UTF-8.
func badByte(text []byte) (line, col int) {
	line, col = 1, 1
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		switch {
		case c == utf8.RuneError && n == 1:
			return line, col
		case c == '\n':
			line, col = line+1, 0
		}
		col += n
		text = text[n:]
	}
	return line, col
}

// task reads the form of version "1".
func (n node) task() spec.Task {
	meta, size := n.get("metadata"), n.get("complexity")
	t := spec.Task{
		Form: "1", ID: meta.getStr("id"), Source: meta.getStr("source"), CreatedBy: meta.getStr("created_by"),
		Goal: n.getStr("goal"), Priority: meta.get("priority").intOr(spec.TaskPriority),
		Tier: size.getStr("tier"), Capabilities: size.getStrings("required_capabilities"),
		Tokens: size.get("estimated_tokens").intOr(0), Duration: size.get("estimated_duration_seconds").seconds(0),
		Requires: n.get("dependencies").get("requires_completed").strings(), Blocks: n.get("dependencies").get("blocks").strings(),
		Verify: n.getStrings("verify"), Assumptions: n.getStrings("assumptions"),
	}
	t.CreatedAt = meta.get("created_at").time()
	n.bounds(&t)
	for _, s := range n.get("steps").elements() {
		t.Steps = append(t.Steps, spec.TaskStep{
			ID: s.getStr("id"), Action: s.getStr("action"), File: s.getStr("file"), Text: s.getStr("text"),
			Instructions: s.getStr("instructions"), Command: s.getStr("command"), Description: s.getStr("description"), Pos: s.valuePos(),
		})
	}
	return t
}

// bounds reads scope and constraints.
func (n node) bounds(t *spec.Task) {
	scope, limit := n.get("scope"), n.get("constraints")
	t.Write, t.Read = scope.getStrings("allowed_write_globs"), scope.getStrings("allowed_read_globs")
	t.MaxFiles = limit.get("max_files_changed").intOr(spec.TaskMaxFiles)
	t.MaxDiff = int64(limit.get("max_diff_bytes").intOr(spec.TaskMaxDiff))
	t.Timeout = limit.get("timeout_seconds").seconds(spec.TaskTimeout)
	t.Retries = limit.get("retries").intOr(spec.TaskRetries)
	t.Network = limit.getBool("network")
	t.Denied = limit.getStrings("denylisted_commands")
}
