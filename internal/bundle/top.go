package bundle

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/spec"
)

// readTop is what a project gets of a source that it names alone, besides the
// rules of the core.
func (t *Tree) readTop() (*Part, error) {
	shared, err := t.Shared()
	if err != nil {
		return nil, err
	}
	p := &Part{Kind: Top, Name: t.Name, Neutral: shared.Neutral, Problems: slices.Clone(shared.Problems)}
	if p.Neutral.Skills, err = t.Skills(); err != nil {
		return nil, err
	}
	if file := "hooks/settings-snippet.json"; t.isFile(file) && len(p.Neutral.Hooks) == 0 && t.pick.Parts() == 0 {
		p.Problems = append(p.Problems, t.problem(t.at(file), "is for hosts, so this project gets no hooks of it; in a hooks/hooks.json they would be for all"))
	}
	return p, nil
}

// choose leaves in p what the spec takes of it.
func (t *Tree) choose(p *Part) error {
	if t.pick == nil {
		return nil
	}
	n, k := &p.Neutral, t.pick
	if k.Parts() > 0 {
		n.Permissions, n.Ignored = nil, nil
		for _, err := range []error{
			chosen(t, "command", k.Commands, &n.Commands, fileName),
			chosen(t, "subagent", k.Agents, &n.Agents, fileName),
			chosen(t, "hook", k.Hooks, &n.Hooks, func(h Hook) []string { return []string{h.Event} }),
			chosen(t, "MCP server", k.Servers, &n.Servers, func(s spec.MCPServer) []string { return []string{s.Name} }),
		} {
			if err != nil {
				return err
			}
		}
	}
	n.Commands, n.Agents = t.forPicked(n.Commands), t.forPicked(n.Agents)
	n.Hooks = only(t, n.Hooks, func(h *Hook) *[]string { return &h.Runtimes })
	n.Servers = only(t, n.Servers, func(s *spec.MCPServer) *[]string { return &s.Runtimes })
	return nil
}

// fileName are the names of a command or subagent: its file's, and its path.
func fileName(f File) []string {
	rel := strings.TrimSuffix(f.Rel, ".md")
	return []string{path.Base(rel), rel}
}

// chosenSkills are the folders of the skills that the spec takes.
func (t *Tree) chosenSkills(dirs []string) ([]string, error) {
	if t.pick.Parts() == 0 {
		return dirs, nil
	}
	dirs = slices.Clone(dirs)
	err := chosen(t, "skill", t.pick.Skills, &dirs, t.skillNames)
	return dirs, err
}

// Lacks returns those of patterns that match no skill of t.
func (t *Tree) Lacks(patterns []string) ([]string, error) {
	dirs, err := t.dirs()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(patterns), func(pattern string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return matches(pattern, t.skillNames(dir)) })
	}), nil
}

// skillNames are the names of the skill in dir: its own, and its folder.
func (t *Tree) skillNames(dir string) []string {
	if dir == "." {
		if s, err := t.readSkill("."); err == nil {
			return []string{s.Name, "."}
		}
	}
	return []string{path.Base(dir), dir}
}

func matches(pattern string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { ok, err := path.Match(pattern, name); return ok && err == nil })
}

// chosen leaves in list what patterns match, by one of its names. A pattern that
// matches nothing is an error that lists what there is.
func chosen[T any](t *Tree, what string, patterns []string, list *[]T, names func(T) []string) error {
	var out []T
	used := make([]bool, len(patterns))
	var all []string
	for _, item := range *list {
		take := false
		of := names(item)
		all = append(all, of[0])
		for i, pattern := range patterns {
			if matches(pattern, of) {
				take, used[i] = true, true
			}
		}
		if take {
			out = append(out, item)
		}
	}
	for i, pattern := range patterns {
		switch {
		case used[i]:
		case len(all) == 0:
			return fmt.Errorf("no %s %q: the source has %s", what, pattern, t.contents())
		default:
			slices.Sort(all)
			all = slices.Compact(all)
			hint := ""
			if near := nearest.Name(pattern, all); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			return fmt.Errorf("no %s %q%s; the source has %s", what, pattern, hint, counted(what, all, len(all)))
		}
	}
	*list = out
	return nil
}

// forPicked limits files to the runtimes for which the spec takes them.
func (t *Tree) forPicked(files []File) []File {
	return only(t, files, func(f *File) *[]string { return &f.About.Runtimes })
}

func (t *Tree) skillsForPicked(skills []Skill) []Skill {
	return only(t, skills, func(s *Skill) *[]string { return &s.Runtimes })
}

// only limits items to the runtimes for which the spec takes them.
func only[T any](t *Tree, items []T, runtimes func(*T) *[]string) []T {
	if t.pick == nil || len(t.pick.Runtimes) == 0 {
		return items
	}
	var out []T
	for _, item := range items {
		list := runtimes(&item)
		if len(*list) == 0 {
			*list = t.pick.Runtimes
		} else if *list = slices.DeleteFunc(slices.Clone(*list), func(id string) bool { return !slices.Contains(t.pick.Runtimes, id) }); len(*list) == 0 {
			continue
		}
		out = append(out, item)
	}
	return out
}
