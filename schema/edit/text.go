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

// String is s as CUE writes it.
func String(s string) string { return literal.String.Quote(s) }

// Label is name as CUE writes a field's name.
func Label(name string) string {
	if ast.StringLabelNeedsQuoting(name) {
		return String(name)
	}
	return name
}

// Struct is CUE text of a struct on one line. Empty values are left out.
func Struct(fields ...Field) string {
	var parts []string
	for _, f := range fields {
		if f.Value != "" {
			parts = append(parts, Label(f.Name)+": "+f.Value)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Field is a name with its value, CUE text.
type Field struct{ Name, Value string }

// Text is a field of s, left out where s is empty.
func Text(name, s string) Field {
	if s == "" {
		return Field{}
	}
	return Field{name, String(s)}
}

// Number is a field of n, left out where n is 0.
func Number(name string, n int) Field {
	if n == 0 {
		return Field{}
	}
	return Field{name, strconv.Itoa(n)}
}

// Texts is a field with a list of strings, left out where there is none.
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

// Same reports whether what is written at path is value, CUE text. It is false
// where path is written in several places, or not as plain data.
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
