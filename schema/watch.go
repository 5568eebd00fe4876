package schema

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"aisync.dev/aisync/internal/limit"
)

// CostlyError says that specs take more memory, depth or time than they may.
type CostlyError struct {
	Specs string // their files or folder
	What  string // they do, such as "take more than 1024 MiB of memory"
}

func (e *CostlyError) Error() string {
	return e.Specs + ": cannot be evaluated: " + e.What + "; look for loops within loops, and for lists and texts that are repeated"
}

// costly is the error for the specs of o, which take what they may not.
func (o Options) costly(what string) error { return &CostlyError{o.specs(), what} }

// specs names what Load reads, for a person.
func (o Options) specs() string {
	host, project := o.HostDir, ""
	if o.ProjectDir != "" && o.Scope != HostOnly {
		project = filepath.Join(o.ProjectDir, ProjectFile)
	}
	if o.Scope == ProjectOnly {
		host = ""
	}
	if host != "" && project != "" {
		return project + ", or a spec in " + host
	}
	return cmp.Or(project, host, "the embedded specs")
}

// watched runs work, which CUE may never end, and returns its error, or the
// reason to wait no longer: ctx, a limit, or patience. What goes on then is
// ended by the end of the program, or by o.Abort where it takes still more.
func (o Options) watched(ctx context.Context, work func() error) error {
	done := make(chan error, 2)
	abort := func(e limit.Exceeded) {
		if o.Abort != nil {
			o.Abort(o.costly(e.Error()))
		}
	}
	stop := limit.Watch(limit.Default, func(e limit.Exceeded) { done <- o.costly(e.Error()) }, abort)
	go func() {
		defer stop()
		defer func() {
			if bad := recover(); bad != nil {
				done <- o.costly(fmt.Sprint(bad))
			}
		}()
		done <- work()
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return o.costly("not done after " + patience.String())
	}
}

// patience is how long specs may take by the clock, on a machine however busy.
var patience = 2 * time.Minute

// takesAtOnce reports whether a spec has what can ask for a lot of memory in one
// step, during which no watch of the same process gets to run: texts that are put
// together, sums and products, which repeat texts and lists, and CUE's own
// packages. A file that is wrong has none: it is not evaluated.
func takesAtOnce(text []byte) bool {
	if !bytes.ContainsAny(text, "(+*") && !bytes.Contains(text, []byte("import")) {
		return false
	}
	f, err := parser.ParseFile("", text)
	if err != nil {
		return false
	}
	found := false
	ast.Walk(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Interpolation:
			found = true
		case *ast.BinaryExpr:
			found = found || n.Op == token.MUL || n.Op == token.ADD
		case *ast.ImportSpec:
			path, err := strconv.Unquote(n.Path.Value)
			path, _, _ = strings.Cut(path, ":")
			found = found || err != nil || path != schemaPackage && path != catalogPackage
		}
		return !found
	}, nil)
	return found
}
