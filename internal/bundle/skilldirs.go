package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// skillName is a name that an Agent Skill may have.
// https://agentskills.io/specification
var skillName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// hidden are folders of programs in which repositories keep skills too.
var hidden = []string{".claude", ".agents", ".codex", ".cursor", ".gemini", ".github", ".opencode"}

// maxFolders bounds the search for skills in a folder that is no bundle.
const maxFolders = 50_000

// skillDirs finds the folders with a SKILL.md: the source itself, those at the top
// and below skills/, and those that the plugin's manifest names. Where these have
// none, it looks everywhere, unless the source is laid out for something else.
func (t *Tree) skillDirs() ([]string, error) {
	if t.isFile("SKILL.md") {
		return []string{"."}, nil
	}
	var dirs []string
	for _, name := range t.folder {
		if t.isFile(name + "/SKILL.md") {
			dirs = append(dirs, name)
		}
	}
	m, err := t.plugin()
	if err != nil {
		return nil, err
	}
	left := maxFolders
	for _, dir := range append([]string{"skills"}, m.Skills...) {
		if dir != "." {
			if dirs, err = t.skillsBelow(dirs, dir, &left); err != nil {
				return nil, err
			}
		}
	}
	if len(dirs) > 0 || !t.looksAnywhere() {
		return distinct(dirs), nil
	}
	dirs, err = t.skillsBelow(nil, ".", &left)
	return distinct(dirs), err
}

// looksAnywhere reports whether skills may lie anywhere: not in a bundle for
// languages, nor in a marketplace, whose plugins a spec names one by one.
func (t *Tree) looksAnywhere() bool {
	return t.embedded == nil && len(t.languages)+len(t.teams)+len(t.oneOf(ruleFolders)) == 0 && (len(t.marketplace()) == 0 || t.pick.Parts() > 0)
}

// skillsBelow adds the folders with a SKILL.md in dir, at any depth. It follows no
// links, and looks into no skill.
func (t *Tree) skillsBelow(dirs []string, dir string, left *int) ([]string, error) {
	if t.isFile(dir + "/SKILL.md") {
		return append(dirs, dir), nil
	}
	if *left--; *left < 0 {
		return nil, fmt.Errorf("%s has more than %d folders; name one, as in //skills", t.at("."), maxFolders)
	}
	if err := t.inside(dir); err != nil {
		return nil, err
	}
	entries, err := t.readDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return dirs, nil
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || name == "node_modules" || name[0] == '.' && !slices.Contains(hidden, name) {
			continue
		}
		if dirs, err = t.skillsBelow(dirs, path.Join(dir, name), left); err != nil {
			return nil, err
		}
	}
	return dirs, err
}

func distinct(dirs []string) []string {
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// readSkills reads the skills that the spec takes.
func (t *Tree) readSkills() ([]Skill, error) {
	dirs, err := t.dirs()
	if err != nil {
		return nil, err
	}
	dirs, err = t.chosenSkills(dirs)
	if err != nil {
		return nil, err
	}
	skills, err := t.skillsOf(dirs)
	if err != nil {
		return nil, err
	}
	sort.Slice(skills, func(i, j int) bool { return skills[i].Name < skills[j].Name })
	for i, s := range skills {
		if j := slices.IndexFunc(skills[:i], func(o Skill) bool { return strings.EqualFold(o.Name, s.Name) }); j >= 0 {
			return nil, fmt.Errorf("duplicate skill %s: %s and %s; keep one of them, or name one by its folder: skills: [%q]",
				s.Name, t.at(skills[j].dir), t.at(s.dir), s.dir)
		}
	}
	return t.skillsForPicked(skills), nil
}

// allSkills reads every skill, for the digest of the tree.
func (t *Tree) allSkills() ([]Skill, error) {
	dirs, err := t.dirs()
	if err != nil {
		return nil, err
	}
	return t.skillsOf(dirs)
}

func (t *Tree) skillsOf(dirs []string) ([]Skill, error) {
	var skills []Skill
	files := 0
	for _, dir := range dirs {
		s, err := t.readSkill(dir)
		if err != nil {
			return nil, err
		}
		if files += len(s.Files); files > maxFiles {
			return nil, t.tooMany(".")
		}
		skills = append(skills, s)
	}
	return skills, nil
}
