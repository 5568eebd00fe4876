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

// Level says how one part of a spec reaches one program.
type Level string

// Run: make test-runtimes has seen the program load it. Parsed: the program's own
// parser or schema takes it. Documented: aisync writes it as a page describes.
// Manual: a person must set it up.
const (
	Run        Level = "run"
	Parsed     Level = "parsed"
	Documented Level = "documented"
	Manual     Level = "manual"
)

// Part is one kind of content that a spec can give a program.
type Part struct {
	Name     string
	UserOnly bool // only in a host's spec

	// where describes its place in a scope, paths in backquotes; "": none.
	where func(spec.Runtime, spec.Scope) string
}

// Parts returns all parts, in reading order.
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

// ignorePlace returns a list of files, or the permissions that deny reading,
// where permissions have paths.
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

// code returns the non-empty paths, each in backquotes.
func code(paths ...string) string {
	var out []string
	for _, p := range paths {
		if p != "" {
			out = append(out, "`"+p+"`")
		}
	}
	return strings.Join(out, ", ")
}

// files returns the files of refs, without duplicates.
func files(refs []spec.Reference) string {
	var out []string
	for _, r := range refs {
		if !slices.Contains(out, r.Path) {
			out = append(out, r.Path)
		}
	}
	return code(out...)
}

// User returns how p reaches r from a host's spec, and its place in words.
func (p Part) User(r spec.Runtime) (level Level, where string) {
	return p.level(r, r.User, proofs()[r.ID].User)
}

// Project is User for a project's spec; Manual for a part that a project cannot
// have.
func (p Part) Project(r spec.Runtime) (level Level, where string) {
	if p.UserOnly {
		return Manual, ""
	}
	return p.level(r, r.Project, proofs()[r.ID].Project)
}

func (p Part) level(r spec.Runtime, s spec.Scope, seen []string) (Level, string) {
	where := p.where(r, s)
	switch {
	case where == "":
		return Manual, ""
	case slices.Contains(seen, p.Name):
		return Run, where
	case factsOf(r, p.Name).Evidence == string(Parsed):
		return Parsed, where
	}
	return Documented, where
}

// Proof lists the parts that a program of that version was seen to load, sorted
// by name.
type Proof struct {
	Version string   `json:"version"`
	Date    string   `json:"date"` // when it was first seen so
	User    []string `json:"user"`
	Project []string `json:"project"`
}

// ProofOf returns the proof for a program; ok is false if it was not run.
func ProofOf(id string) (Proof, bool) {
	p, ok := proofs()[id]
	return p, ok
}

// make test-runtimes fails if this file differs from its results.
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

// factsOf returns what r's entry says of a part, else of all; the zero value if it
// says nothing.
func factsOf(r spec.Runtime, part string) spec.PartFacts {
	for _, name := range []string{part, "all"} {
		if i := slices.IndexFunc(r.Parts, func(f spec.PartFacts) bool { return f.Part == name && f.Evidence != "" }); i >= 0 {
			return r.Parts[i]
		}
	}
	return spec.PartFacts{}
}
