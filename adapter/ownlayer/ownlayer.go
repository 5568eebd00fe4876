// Package ownlayer says where programs read what one person adds to a project,
// from aisync.local.cue: in places that git does not carry, or that no file of the
// project takes. It is pure. Call Runtime.
package ownlayer

import (
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/schema/spec"
)

// Folder is the folder of the person's rules below that of the project's. A
// program that loads the one loads the other.
const Folder = "local"

// Runtime returns rt with those places of a project that may hold what one person
// adds in dir. shared reports whether a file is everyone's: then nothing of one
// person goes there. Notes such as AGENTS.md and CLAUDE.local.md are never among
// the places, because a new one ends a program's reading of another.
func Runtime(rt spec.Runtime, dir string, shared func(path string) bool) spec.Runtime {
	s := rt.Project
	o := spec.Scope{
		Dir: s.Dir, RulesForm: s.RulesForm, Skills: s.Skills, SkillsAlso: s.SkillsAlso, Hooks: s.Hooks,
		Commands: s.Commands, Agents: s.Agents, Obeys: s.Obeys,
		Settings: s.SettingsOwn, MCP: s.MCPOwn,
	}
	if o.Settings == nil && s.Settings != nil && !shared(s.Settings.Path) {
		o.Settings = s.Settings
	}
	switch {
	case o.MCP != nil:
		f := *o.MCP
		f.Pointer = strings.ReplaceAll(f.Pointer, "{dir}", strings.TrimPrefix(merge.Pointer(dir), "/"))
		o.MCP = &f
	case s.MCP != nil && !shared(s.MCP.Path):
		o.MCP = s.MCP
	}
	for _, folder := range s.RulesAlso {
		if path.Ext(folder) == "" && looksInto(rt, folder) {
			o.RulesAlso = append(o.RulesAlso, path.Join(folder, Folder))
		}
	}
	switch ref := s.RulesRef; {
	case s.Rules == "":
	case ref == nil && rt.Loads != nil && !looksInto(rt, s.Rules):
	case ref == nil:
		o.Rules = path.Join(s.Rules, Folder)
	case s.SettingsOwn != nil:
		own := *ref
		own.Path, own.Format = inOwn(s, ref.Path, ref.Format)
		o.Rules = path.Join(s.Rules, Folder)
		own.JSON = []byte(strings.Replace(string(ref.JSON), s.Rules, o.Rules, 1))
		o.RulesRef = &own
	}
	if o.Rules != "" && s.RulesKept != "" {
		o.RulesKept = path.Join(s.RulesKept, Folder)
	}
	if f := s.Events; f != nil {
		own := *f
		own.Path, own.Format = inOwn(s, own.Path, own.Format)
		if !shared(own.Path) {
			o.Events = &own
		}
	}
	if f := s.Permissions; f != nil {
		own := *f
		own.Path, own.Format = inOwn(s, own.Path, own.Format)
		if !shared(own.Path) {
			o.Permissions = &own
		}
	}
	if s.Ignore != "" && !shared(s.Ignore) {
		o.Ignore = s.Ignore
	}
	for _, ref := range s.Always {
		ref.Path, ref.Format = inOwn(s, ref.Path, ref.Format)
		o.Always = append(o.Always, ref)
	}
	rt.Project = o
	return rt
}

// inOwn returns the settings file of one person for that of s, and each other file
// as it is.
func inOwn(s spec.Scope, name, format string) (string, string) {
	if own := s.SettingsOwn; own != nil && s.Settings != nil && name == s.Settings.Path {
		return own.Path, own.Format
	}
	return name, format
}

// LeftOut names the parts of a bundle that have no place of one person; "" if it
// has none of them.
func LeftOut(part *bundle.Part) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{len(part.Seeds), "first contents of notes"}, {len(part.GitHooks), "git hooks"},
		{len(part.Ignore), "lines for .gitignore"}, {len(part.Agents), "documents for agents"},
	} {
		if p.n > 0 {
			parts = append(parts, p.what)
		}
	}
	return strings.Join(parts, ", ")
}

// looksInto reports whether a program loads a folder and those below it by itself,
// and not because a file of the project names it.
func looksInto(rt spec.Runtime, folder string) bool {
	return rt.Loads != nil && slices.ContainsFunc(rt.Loads.Texts, func(t spec.LoadedText) bool {
		return slices.ContainsFunc(t.Files, func(f string) bool { return strings.HasPrefix(f, folder+"/**/") })
	})
}
