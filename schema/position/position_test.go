package position

import (
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
)

func TestValueFindsWhatPatternsSay(t *testing.T) {
	f, err := parser.ParseFile("x.cue", `package aisync
hosts: [string]: bundles: own: source: "./bundle"
hosts: [=~"^lab-"]: {
	default: "codex"
	mcp: [Name=string]: command: "run"
}
hosts: anna: {
	match: hostname: "anna"
	bundles: own: parts: ["rules"]
}
hosts: "lab-1": {}
`)
	if err != nil {
		t.Fatal(err)
	}
	at := New([]*ast.File{f}, "")
	for path, line := range map[string]int{
		"hosts.anna.bundles.own.source": 2,
		"hosts.anna.bundles.own.parts":  9,
		"hosts.anna.bundles.own":        9,
		"hosts.anna.default":            7, // the pattern of lab- is not for it
		"hosts.lab-1.default":           4,
		"hosts.lab-1.mcp.x.command":     5,
		"hosts.lab-1":                   11,
		"hosts.other.bundles":           2,
	} {
		if got := at.Value(strings.Split(path, ".")...); got.Line != line {
			t.Errorf("%s is at %s, want line %d", path, got, line)
		}
	}
}
