package bundle

import (
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/quantity"
)

// Held is one kind of what a source holds, with the names.
type Held struct {
	What  string // "skill", "language", …
	Names []string
}

// counted is "17 skills: docx, pdf, pptx, …".
func counted(what string, names []string, n int) string {
	return quantity.Count(n, what) + ": " + listed(names)
}

func listed(names []string) string {
	const few = 20
	text := strings.Join(names[:min(few, len(names))], ", ")
	if len(names) > few {
		text += ", …"
	}
	return text
}

// Holds returns what t holds, whatever the spec takes of it. Parts that cannot be
// read are left out.
func (t *Tree) Holds() []Held {
	all := t
	if t.pick != nil {
		fresh, err := openTree(t.Dir)
		if err != nil {
			return nil
		}
		all, fresh.Name = fresh, t.Name
	}
	var out []Held
	add := func(what string, names []string) {
		if len(names) > 0 {
			slices.Sort(names)
			out = append(out, Held{what, slices.Compact(names)})
		}
	}
	add("language", slices.Clone(all.languages))
	add("team", slices.Clone(all.teams))
	if core, err := all.Core(); err == nil {
		add("rule", stems(core.Rules))
	}
	if skills, err := all.allSkills(); err == nil {
		var names []string
		for _, s := range skills {
			names = append(names, s.Name)
		}
		add("skill", names)
	}
	if p, err := all.Shared(); err == nil {
		add("command", stems(p.Neutral.Commands))
		add("subagent", stems(p.Neutral.Agents))
		var hooks, servers []string
		for _, h := range p.Neutral.Hooks {
			hooks = append(hooks, h.Event)
		}
		for _, s := range p.Neutral.Servers {
			servers = append(servers, s.Name)
		}
		add("hook", hooks)
		add("MCP server", servers)
	}
	var plugins []string
	for _, p := range all.marketplace() {
		plugins = append(plugins, p.Name)
	}
	add("plugin", plugins)
	return out
}

func stems(files []File) []string {
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(path.Base(f.Rel), ".md"))
	}
	return out
}

// contents is what t holds, in words.
func (t *Tree) contents() string {
	var parts []string
	for _, h := range t.Holds() {
		parts = append(parts, counted(h.What, h.Names, len(h.Names)))
	}
	if len(parts) > 0 {
		return strings.Join(parts, "; ")
	}
	entries, err := t.readDir()
	if err != nil || len(entries) == 0 {
		return "no files"
	}
	var names []string
	hint := ""
	for _, e := range entries {
		name := e.Name()
		switch {
		case name == ".git":
			continue
		case name == ".apm" && e.IsDir(): // https://microsoft.github.io/apm/reference/package-types/
			hint = "; that is a package of APM, whose parts lie in .apm: name that folder, as in OWNER/REPO//.apm"
		}
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	return "nothing that aisync reads, but " + listed(names) + hint
}

// Contents says in words what the source holds, whatever a spec takes of it, such
// as "17 skills: docx, pdf, …".
func (t *Tree) Contents() string { return t.contents() }

// HasOthers reports whether t has files that aisync reads, or some that it cannot
// read.
func (t *Tree) HasOthers() bool {
	files, err := t.Files()
	return err != nil || len(files) > 0
}
