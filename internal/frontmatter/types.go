package frontmatter

import (
	"bytes"
	"fmt"
)

// wrongType reports a field of a rule's front matter that should limit the rule,
// and has a value that no program can use: nil where there is none, or where
// another field decides when the rule is loaded.
func wrongType(front []byte, f Fields) error {
	limited := f["alwaysApply"] == true || f["alwaysApply"] == false
	for _, name := range []string{"paths", "globs", "applyTo"} {
		limited = limited || len(f.List(name)) > 0
	}
	if limited {
		return nil
	}
	for _, name := range []string{"paths", "globs", "applyTo"} {
		switch v := f[name].(type) {
		case nil, string:
		case []any:
			if len(v) > 0 {
				return typeError(front, name, `holds no text; write a list of patterns, such as ["**/*.go"]`)
			}
		default:
			return typeError(front, name, `is no list of patterns; write one, such as ["**/*.go"]`)
		}
	}
	if f["alwaysApply"] != nil {
		return typeError(front, "alwaysApply", "is neither true nor false")
	}
	return nil
}

// typeError is an error about the line of a field.
func typeError(front []byte, name, what string) error {
	line := 1
	for i, l := range bytes.Split(front, []byte("\n")) {
		if bytes.HasPrefix(l, []byte(name+":")) {
			line = min(i+2, bytes.Count(front, []byte("\n"))+1)
		}
	}
	return &Error{line, fmt.Sprintf("%s %s", name, what)}
}
