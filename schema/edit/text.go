package edit

import (
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"

	"aisync.dev/aisync/schema/cuectx"
)

// String returns s as a CUE string.
func String(s string) string { return literal.String.Quote(s) }

// Label returns name as a CUE label.
func Label(name string) string {
	if ast.StringLabelNeedsQuoting(name) {
		return String(name)
	}
	return name
}

// Struct returns a struct on one line, as CUE text, without empty fields.
func Struct(fields ...Field) string {
	var parts []string
	for _, f := range fields {
		if f.Value != "" {
			parts = append(parts, Label(f.Name)+": "+f.Value)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Field is a name and its value, as CUE text.
type Field struct{ Name, Value string }

// Text returns a field with s, an empty one if s is empty.
func Text(name, s string) Field {
	if s == "" {
		return Field{}
	}
	return Field{name, String(s)}
}

// Number returns a field with n, an empty one if n is 0.
func Number(name string, n int) Field {
	if n == 0 {
		return Field{}
	}
	return Field{name, strconv.Itoa(n)}
}

// Texts returns a field with a list of strings, an empty one without any.
func Texts(name string, list []string) Field {
	if len(list) == 0 {
		return Field{}
	}
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = String(s)
	}
	return Field{name, "[" + strings.Join(quoted, ", ") + "]"}
}

// Same reports whether path has the value, CUE text. It is false where path is
// written in several places, or not as plain data.
func (e *Files) Same(value string, path ...string) bool {
	spots := e.find(e.at(path))
	if len(spots) != 1 {
		return false
	}
	ctx := cuectx.Context()
	x, err := parser.ParseExpr("value", value)
	if err != nil {
		panic(fmt.Sprintf("edit: %s: %v", value, err))
	}
	have, want := ctx.BuildExpr(spots[0].field.Value), ctx.BuildExpr(x)
	return have.Err() == nil && have.Equals(want)
}
