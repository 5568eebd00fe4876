package bundle

import (
	"fmt"
	"path"
	"slices"
	"sort"

	"aisync.dev/aisync/internal/frontmatter"
)

// Skill is one folder with a SKILL.md.
type Skill struct {
	Name     string   // of its folder
	Runtimes []string // runtimes it is for; none: all
	Files    []File   // all files, Rel relative to the folder
	Problems []Problem
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

// readSkills finds skills at the top of the tree and in skills/.
func (t *Tree) readSkills() ([]Skill, error) {
	in, err := t.folders("skills")
	if err != nil {
		return nil, err
	}
	dirs := slices.Clone(t.top)
	for _, name := range in {
		dirs = append(dirs, "skills/"+name)
	}
	var skills []Skill
	for _, dir := range dirs {
		if !t.isFile(dir + "/SKILL.md") {
			continue
		}
		s, err := t.readSkill(dir)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(skills, func(o Skill) bool { return o.Name == s.Name }); i >= 0 {
			return nil, fmt.Errorf("duplicate skill %s: %s and %s; keep one of them", s.Name, t.at(s.Name), t.at(dir))
		}
		skills = append(skills, s)
	}
	sort.Slice(skills, func(i, j int) bool { return skills[i].Name < skills[j].Name })
	return skills, nil
}

// skillsIn adds the skills of one part.
func (t *Tree) skillsIn(list *[]Skill, problems *[]Problem, dir string) error {
	names, err := t.folders(dir)
	for _, name := range names {
		if !t.isFile(dir + "/" + name + "/SKILL.md") {
			*problems = append(*problems, Problem{t.at(dir, name), "has no SKILL.md, so it is not a skill and not installed"})
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
	s := Skill{Name: path.Base(dir)}
	if err := t.add(&s.Files, dir, skill, nil, nil); err != nil {
		return s, err
	}
	d, err := t.document(dir+"/SKILL.md", "SKILL.md")
	if err != nil {
		return s, err
	}
	front, _, _, err := frontmatter.Split(d.Text)
	var fields frontmatter.Fields
	if err == nil {
		fields, err = frontmatter.Parse(front)
	}
	if err != nil {
		s.Problems = append(s.Problems, Problem{d.Path, err.Error()})
		return s, nil
	}
	for _, field := range []string{"name", "description"} {
		if fields.Text(field) == "" {
			s.Problems = append(s.Problems, Problem{d.Path, fmt.Sprintf("has no %s in its front matter; programs find a skill by it", field)})
		}
	}
	s.Runtimes = fields.List("runtimes")
	if more, ok := fields["metadata"].(map[string]any); ok && len(s.Runtimes) == 0 {
		s.Runtimes = frontmatter.Fields(more).List("runtimes")
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
