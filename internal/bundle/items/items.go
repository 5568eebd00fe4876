// Package items lists what parts of bundles hold as a person decides about it: a
// rule, a skill with all its files, a command, a subagent, a hook, an MCP server. It
// reads no file. Call Of.
package items

import (
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// Kinds are the kinds of items, in the order in which they are shown.
var Kinds = []string{"rule", "skill", "command", "subagent", "hook", "MCP server", "permission", "hook program", "settings", "git hook", "ignored file", "note", "document", "file"}

// Item is one thing of a bundle.
type Item struct {
	Kind     string
	Name     string
	Runtimes []string      // that it is for; none: all
	Does     string        // what a program or git does because of it, as a phrase; "": nothing
	Files    []bundle.File // none of what is an entry in a file with others
	Alone    *bundle.Part  // a part that holds nothing else
}

// Key identifies an item in two versions of a source.
func (i *Item) Key() string {
	return strings.Join(append([]string{i.Kind, i.Name, i.Does}, i.Runtimes...), "\x00")
}

// Of returns what parts hold, by kind and name, each once.
func Of(parts ...*bundle.Part) []*Item {
	l := &list{seen: map[string]bool{}}
	for _, p := range parts {
		l.neutral(p)
		l.files("rule", p.Rules, nil, func(f []bundle.File) *bundle.Part { return &bundle.Part{Rules: f} })
		l.files("note", p.Seeds, nil, func(f []bundle.File) *bundle.Part { return &bundle.Part{Seeds: f} })
		l.files("document", p.Agents, nil, func(f []bundle.File) *bundle.Part { return &bundle.Part{Agents: f} })
		for _, f := range p.GitHooks {
			l.add(&Item{Kind: "git hook", Name: f.Rel, Does: "git runs " + f.Src, Files: []bundle.File{f}, Alone: &bundle.Part{GitHooks: []bundle.File{f}}})
		}
		for _, r := range p.Runtimes {
			l.runtime(r)
		}
	}
	sort.SliceStable(l.items, func(i, j int) bool {
		a, b := l.items[i], l.items[j]
		if k := slices.Index(Kinds, a.Kind) - slices.Index(Kinds, b.Kind); k != 0 {
			return k < 0
		}
		return a.Name < b.Name
	})
	return l.items
}

type list struct {
	items []*Item
	seen  map[string]bool
}

func (l *list) add(i *Item) {
	if key := i.Key(); !l.seen[key] {
		l.seen[key] = true
		l.items = append(l.items, i)
	}
}

// files adds one item a file.
func (l *list) files(kind string, files []bundle.File, runtimes []string, alone func([]bundle.File) *bundle.Part) {
	for _, f := range files {
		one, ids := []bundle.File{f}, runtimes
		if len(f.About.Runtimes) > 0 {
			ids = f.About.Runtimes
		}
		l.add(&Item{Kind: kind, Name: strings.TrimSuffix(f.Rel, ".md"), Runtimes: ids, Files: one, Alone: alone(one)})
	}
}

func (l *list) skills(skills []bundle.Skill, alone func([]bundle.Skill) *bundle.Part) {
	for _, s := range skills {
		l.add(&Item{Kind: "skill", Name: s.Name, Runtimes: s.Runtimes, Files: s.Files, Alone: alone([]bundle.Skill{s})})
	}
}

// neutral adds what each runtime gets in its form.
func (l *list) neutral(p *bundle.Part) {
	n := p.Neutral
	of := func(n bundle.Neutral) *bundle.Part { return &bundle.Part{Neutral: n} }
	l.skills(n.Skills, func(s []bundle.Skill) *bundle.Part { return of(bundle.Neutral{Skills: s}) })
	l.files("command", n.Commands, nil, func(f []bundle.File) *bundle.Part { return of(bundle.Neutral{Commands: f}) })
	l.files("subagent", n.Agents, nil, func(f []bundle.File) *bundle.Part { return of(bundle.Neutral{Agents: f}) })
	for _, h := range n.Hooks {
		does := "runs " + h.Shown() + " at " + h.Event
		if len(h.Tools) > 0 {
			does += " of " + strings.Join(h.Tools, ", ")
		}
		l.add(&Item{Kind: "hook", Name: h.Event, Runtimes: h.Runtimes, Does: does, Alone: of(bundle.Neutral{Hooks: []bundle.Hook{h}})})
	}
	for _, s := range n.Servers {
		l.add(&Item{Kind: "MCP server", Name: s.Name, Runtimes: s.Runtimes, Does: Server(s), Alone: of(bundle.Neutral{Servers: []spec.MCPServer{s}})})
	}
	for _, x := range n.Permissions {
		item := &Item{Kind: "permission", Name: x.Action + " " + x.String(), Alone: of(bundle.Neutral{Permissions: []bundle.Permission{x}})}
		if x.Action == "allow" {
			item.Does = "allows " + x.String() + " without a question"
		}
		l.add(item)
	}
	for _, pattern := range n.Ignored {
		l.add(&Item{Kind: "ignored file", Name: pattern, Alone: of(bundle.Neutral{Ignored: []string{pattern}})})
	}
	l.programs(n.Programs, nil)
}

// programs adds the files of hooks; those that are aisync's own are none.
func (l *list) programs(files []bundle.File, runtimes []string) {
	for _, f := range files {
		if f.Src != "" {
			l.add(&Item{Kind: "hook program", Name: f.Rel, Runtimes: runtimes, Files: []bundle.File{f}, Alone: &bundle.Part{Neutral: bundle.Neutral{Programs: []bundle.File{f}}}})
		}
	}
}

// runtime adds what one runtime alone gets.
func (l *list) runtime(r bundle.RuntimePart) {
	ids := []string{r.ID}
	of := func(r2 bundle.RuntimePart) *bundle.Part {
		r2.ID = r.ID
		return &bundle.Part{Runtimes: []bundle.RuntimePart{r2}}
	}
	l.files("rule", r.Rules, ids, func(f []bundle.File) *bundle.Part { return of(bundle.RuntimePart{Rules: f}) })
	for _, s := range r.Skills {
		s.Runtimes = ids
		l.skills([]bundle.Skill{s}, func(s []bundle.Skill) *bundle.Part { return of(bundle.RuntimePart{Skills: s}) })
	}
	l.programs(r.Hooks, ids)
	l.files("note", r.Seeds, ids, func(f []bundle.File) *bundle.Part { return of(bundle.RuntimePart{Seeds: f}) })
	l.files("file", r.Others, ids, func(f []bundle.File) *bundle.Part { return of(bundle.RuntimePart{Others: f}) })
	for kind, documents := range map[string][]bundle.Document{"settings": r.Settings, "note": r.Instructions} {
		for _, d := range documents {
			item := &Item{Kind: kind, Name: path.Join(r.ID, d.Rel), Runtimes: ids, Files: []bundle.File{d.File}, Alone: of(bundle.RuntimePart{Settings: []bundle.Document{d}})}
			if kind == "settings" {
				item.Does = "sets what " + d.Src + " says"
			}
			l.add(item)
		}
	}
}

// Server says what a program does with an MCP server.
func Server(s spec.MCPServer) string {
	if s.Command != "" {
		return "runs " + strings.Join(append([]string{s.Command}, s.Args...), " ")
	}
	return "calls " + s.URL
}

// Group is the names of items of one kind that have something in common.
type Group struct {
	Kind, Of string
	Names    []string
}

// Grouped returns list by kind and by what of returns for an item. Programs of hooks,
// which come with their hooks, are left out.
func Grouped(list []*Item, of func(*Item) string) []Group {
	var out []Group
	for _, i := range list {
		if i.Kind == "hook program" {
			continue
		}
		key := of(i)
		k := slices.IndexFunc(out, func(g Group) bool { return g.Kind == i.Kind && g.Of == key })
		if k < 0 {
			k, out = len(out), append(out, Group{Kind: i.Kind, Of: key})
		}
		out[k].Names = append(out[k].Names, i.Name)
	}
	return out
}
