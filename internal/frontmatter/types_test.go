package frontmatter

import (
	"fmt"
	"testing"
)

func TestReadRuleReportsWrongTypes(t *testing.T) {
	for front, want := range map[string]string{
		"paths: 7":                         `line 2: front matter: paths is no list of patterns; write one, such as ["**/*.go"]`,
		"name: x\nglobs: {a: b}":           `line 3: front matter: globs is no list of patterns; write one, such as ["**/*.go"]`,
		"applyTo: [1, 2]":                  `line 2: front matter: applyTo holds no text; write a list of patterns, such as ["**/*.go"]`,
		"alwaysApply: maybe":               "line 2: front matter: alwaysApply is neither true nor false",
		"paths: 7\nglobs: \"**/*.go\"":     "<nil>",
		"paths: []":                        "<nil>",
		"globs:\nalwaysApply: true":        "<nil>",
		"alwaysApply: false\ndescription:": "<nil>",
		"runtimes: [claude]":               "<nil>",
	} {
		if _, err := ReadRule([]byte("---\n" + front + "\n---\n# R\n")); fmt.Sprint(err) != want {
			t.Errorf("%q: %v, want %s", front, err, want)
		}
	}
}
