package catalog

import (
	_ "embed"
	"encoding/json"
	"slices"
	"sync"

	"aisync.dev/aisync/schema/spec"
)

// Level is how one part of a spec reaches one program.
type Level string

// Proved: the program itself was seen to take it, by make test-runtimes.
// Written: aisync writes it as the program's documentation says. Manual:
// somebody must see to it.
const (
	Proved  Level = "proved"
	Written Level = "written"
	Manual  Level = "manual"
)

// Part is one kind of thing that a spec can give a program.
type Part struct {
	Name     string
	UserOnly bool // a project cannot say it
	written  func(spec.Runtime, spec.Scope) bool
}

// Parts is all of them, in the order in which people read them.
func Parts() []Part {
	return []Part{
		{"instructions", false, func(_ spec.Runtime, s spec.Scope) bool { return len(s.Instructions) > 0 }},
		{"rules", false, func(_ spec.Runtime, s spec.Scope) bool {
			return s.Rules != "" || s.RulesBlock != "" || s.RulesIndex != ""
		}},
		{"skills", false, func(_ spec.Runtime, s spec.Scope) bool { return s.Skills != "" }},
		{"hooks", false, func(_ spec.Runtime, s spec.Scope) bool { return s.Settings != nil && s.Settings.Hooks != "" }},
		{"mcp", false, func(_ spec.Runtime, s spec.Scope) bool { return s.MCP != nil }},
		{"settings", false, func(_ spec.Runtime, s spec.Scope) bool { return s.Settings != nil }},
		{"trust", true, func(_ spec.Runtime, s spec.Scope) bool { return len(s.Trust) > 0 }},
		{"endpoint", true, func(r spec.Runtime, s spec.Scope) bool { return len(s.Endpoint) > 0 || len(r.Launch.Endpoint) > 0 }},
		{"install", true, func(r spec.Runtime, _ spec.Scope) bool { return len(r.Packages) > 0 }},
	}
}

// User is how p reaches r from a host's spec, Project from a project's.
func (p Part) User(r spec.Runtime) Level { return p.level(r, r.User, proofs()[r.ID].User) }

// Project is Manual for a part that a project cannot say.
func (p Part) Project(r spec.Runtime) Level {
	if p.UserOnly {
		return Manual
	}
	return p.level(r, r.Project, proofs()[r.ID].Project)
}

func (p Part) level(r spec.Runtime, s spec.Scope, proved []string) Level {
	switch {
	case !p.written(r, s):
		return Manual
	case slices.Contains(proved, p.Name):
		return Proved
	}
	return Written
}

// Proof is what a program of that version was seen to take, by the names of
// parts, sorted.
type Proof struct {
	Version string   `json:"version"`
	User    []string `json:"user"`
	Project []string `json:"project"`
}

// ProofOf is what the program was seen to take; ok is false if it was not run.
func ProofOf(id string) (Proof, bool) {
	p, ok := proofs()[id]
	return p, ok
}

// make test-runtimes fails where this file says other than what it sees.
//
//go:embed proved.json
var proved []byte

var proofs = sync.OnceValue(func() map[string]Proof {
	var doc struct {
		Runtimes map[string]Proof `json:"runtimes"`
	}
	if err := json.Unmarshal(proved, &doc); err != nil {
		panic("catalog: proved.json: " + err.Error()) // embedded, and read by a test
	}
	return doc.Runtimes
})
