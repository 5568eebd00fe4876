package bundle

import (
	"fmt"
	"path"
	"slices"

	"aisync.dev/aisync/internal/bundle/plugin"
	"aisync.dev/aisync/internal/frontmatter"
)

// Skill is one folder with a SKILL.md.
type Skill struct {
	Name     string   // of its folder
	Runtimes []string // runtimes it is for; none: all
	Files    []File   // all files, Rel relative to the folder
	Problems []Problem
	dir      string // slash-separated, relative to the tree
}

// Bridges returns the folders of rules that the text of s refers to as
// siblings: agent-rules, claude-rules.
func (s Skill) Bridges() []string {
	var out []string
	for _, f := range s.Files {
		for _, b := range f.Bridges {
			if !slices.Contains(out, b) {
				out = append(out, b)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Hooks are the global hook programs of a source.
type Hooks struct {
	Programs []File    // with the files that they need, executable or not
	Snippet  *Document // settings-snippet.json, in the form of Claude's settings; nil if there is none
	Neutral  bool      // it has a hooks.json, which is for every runtime
}

// skillsIn adds the skills of one part.
func (t *Tree) skillsIn(list *[]Skill, problems *[]Problem, dir string) error {
	names, err := t.folders(dir)
	for _, name := range names {
		if !t.isFile(dir + "/" + name + "/SKILL.md") {
			*problems = append(*problems, t.problem(t.at(dir, name), "has no SKILL.md, so it is not a skill and not installed"))
			continue
		}
		s, err := t.readSkill(dir + "/" + name)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(*list, func(o Skill) bool { return o.Name == name }); i >= 0 {
			return fmt.Errorf("duplicate skill %s: %s and %s; keep one of them", name, (*list)[i].Files[0].Path, t.at(dir, name))
		}
		*list = append(*list, s)
	}
	return err
}

func (t *Tree) readSkill(dir string) (Skill, error) {
	s := Skill{Name: path.Base(dir), dir: dir}
	if dir == "." {
		s.Name = t.Name
	} else if err := t.plainName(dir); err != nil {
		return s, err
	}
	if err := t.add(&s.Files, dir, skill, nil, nil); err != nil {
		return s, err
	}
	d, err := t.document(dir+"/SKILL.md", "SKILL.md")
	if err != nil {
		return s, err
	}
	if plugin.UsesRoot(string(d.Text)) {
		s.Problems = append(s.Problems, t.problem(d.Path, noRoot))
	}
	front, _, _, err := frontmatter.Split(d.Text)
	var fields frontmatter.Fields
	if err == nil {
		fields, err = frontmatter.Parse(front)
	}
	if err != nil {
		s.Problems = append(s.Problems, t.problem(d.Path, err.Error()))
		return s, nil
	}
	if name := fields.Text("name"); dir == "." && skillName.MatchString(name) {
		s.Name = name
	}
	for _, field := range []string{"name", "description"} {
		if fields.Text(field) == "" {
			s.Problems = append(s.Problems, t.problem(d.Path, fmt.Sprintf("has no %s in its front matter; programs find a skill by it", field)))
		}
	}
	s.Runtimes = fields.List("runtimes")
	if more, ok := fields["metadata"].(frontmatter.Fields); ok && len(s.Runtimes) == 0 {
		s.Runtimes = more.List("runtimes")
	}
	return s, nil
}

func (t *Tree) readHooks() (*Hooks, error) {
	h := &Hooks{Neutral: t.isFile("hooks/hooks.json")}
	if err := t.add(&h.Programs, "hooks", program, nil, func(rel string) bool { return rel != "settings-snippet.json" && rel != "hooks.json" && notReadme(rel) }); err != nil {
		return nil, err
	}
	if !t.isFile("hooks/settings-snippet.json") {
		return h, nil
	}
	d, err := t.document("hooks/settings-snippet.json", "settings-snippet.json")
	h.Snippet = d
	return h, err
}
