package catalog

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
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

	// where says in words where it goes in a scope, paths in backquotes; "" is
	// nowhere.
	where func(spec.Runtime, spec.Scope) string
}

// Parts is all of them, in the order in which people read them.
func Parts() []Part {
	return []Part{
		{"instructions", false, func(_ spec.Runtime, s spec.Scope) string { return code(s.Instructions...) }},
		{"rules", false, rulesPlace},
		{"skills", false, func(_ spec.Runtime, s spec.Scope) string { return code(s.Skills) }},
		{"commands", false, func(_ spec.Runtime, s spec.Scope) string { return promptsPlace(s.Commands) }},
		{"subagents", false, func(_ spec.Runtime, s spec.Scope) string { return promptsPlace(s.Agents) }},
		{"hooks", false, hooksPlace},
		{"permissions", false, func(_ spec.Runtime, s spec.Scope) string {
			if s.Permissions == nil {
				return ""
			}
			return code(s.Permissions.Path) + below(s.Permissions.Pointer)
		}},
		{"ignore", false, ignorePlace},
		{"mcp", false, func(_ spec.Runtime, s spec.Scope) string {
			if s.MCP == nil {
				return ""
			}
			return code(s.MCP.Path) + below(s.MCP.Pointer)
		}},
		{"settings", false, func(_ spec.Runtime, s spec.Scope) string {
			if s.Settings == nil {
				return ""
			}
			return code(s.Settings.Path)
		}},
		{"trust", true, func(r spec.Runtime, s spec.Scope) string {
			refs := slices.Clone(s.Trust)
			for _, t := range r.Trust {
				refs = append(refs, t.Records...)
			}
			return files(refs)
		}},
		{"endpoint", true, func(r spec.Runtime, s spec.Scope) string {
			if len(s.Endpoint) == 0 && len(r.Launch.Endpoint) > 0 {
				return "the environment that it is started in"
			}
			return files(s.Endpoint)
		}},
		{"install", true, func(r spec.Runtime, _ spec.Scope) string {
			return strings.Join(slices.Sorted(maps.Keys(r.Packages)), ", ")
		}},
	}
}

func rulesPlace(_ spec.Runtime, s spec.Scope) string {
	var ways []string
	switch {
	case s.Rules != "" && s.RulesRef != nil:
		ways = append(ways, code(s.Rules)+", named in "+code(s.RulesRef.Path))
	case s.Rules != "" && s.RulesIndex != "":
		ways = append(ways, code(s.Rules)+", named in a marked block of "+code(s.RulesIndex))
	case s.Rules != "":
		ways = append(ways, code(s.Rules))
	}
	if s.RulesBlock != "" {
		ways = append(ways, "a marked block in "+code(s.RulesBlock))
	}
	return strings.Join(ways, ", or ")
}

func hooksPlace(_ spec.Runtime, s spec.Scope) string {
	switch {
	case s.Events != nil:
		return code(s.Events.Path) + below(s.Events.Pointer)
	case s.Settings != nil && s.Settings.Hooks != "":
		return code(s.Settings.Path) + below(s.Settings.Hooks)
	}
	return ""
}

// ignorePlace is a list of files, or what is not to be read where permissions
// are about paths.
func ignorePlace(_ spec.Runtime, s spec.Scope) string {
	if p := s.Permissions; s.Ignore == "" && p != nil && slices.Contains([]string{"claude", "cursor", "opencode"}, p.Shape) {
		return "what is denied in " + code(p.Path)
	}
	return code(s.Ignore)
}

func promptsPlace(f *spec.PromptFolder) string {
	if f == nil {
		return ""
	}
	return code(f.Path)
}

func below(pointer string) string {
	if pointer == "" {
		return ""
	}
	return " at " + code(pointer)
}

// code is the paths that are not empty, each in backquotes.
func code(paths ...string) string {
	var out []string
	for _, p := range paths {
		if p != "" {
			out = append(out, "`"+p+"`")
		}
	}
	return strings.Join(out, ", ")
}

// files is the files of refs, each once.
func files(refs []spec.Reference) string {
	var out []string
	for _, r := range refs {
		if !slices.Contains(out, r.Path) {
			out = append(out, r.Path)
		}
	}
	return code(out...)
}

// User is how p reaches r from a host's spec, and in words where it goes.
func (p Part) User(r spec.Runtime) (level Level, where string) {
	return p.level(r, r.User, proofs()[r.ID].User)
}

// Project is Manual for a part that a project cannot say.
func (p Part) Project(r spec.Runtime) (level Level, where string) {
	if p.UserOnly {
		return Manual, ""
	}
	return p.level(r, r.Project, proofs()[r.ID].Project)
}

func (p Part) level(r spec.Runtime, s spec.Scope, proved []string) (Level, string) {
	where := p.where(r, s)
	switch {
	case where == "":
		return Manual, ""
	case slices.Contains(proved, p.Name):
		return Proved, where
	}
	return Written, where
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
var provedText []byte

var proofs = sync.OnceValue(func() map[string]Proof {
	var doc struct {
		Runtimes map[string]Proof `json:"runtimes"`
	}
	if err := json.Unmarshal(provedText, &doc); err != nil {
		panic("catalog: proved.json: " + err.Error()) // embedded, and read by a test
	}
	return doc.Runtimes
})
