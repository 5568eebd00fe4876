package bundle

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/bundle/plugin"
)

// Kind is the kind of a bundle.
type Kind string

const (
	Core     Kind = "core"
	Top      Kind = "top"
	Language Kind = "language"
	Team     Kind = "team"
)

// ErrUnknown means that a tree has no bundle with that name.
var ErrUnknown = errors.New("no such bundle")

// Part is one bundle: everything of a source for one language or team, or, as
// the core, for all. Every field may be empty.
type Part struct {
	Kind     Kind
	Name     string
	Rules    []File // for every runtime
	Seeds    []File // first contents of instruction files; Rel is AGENTS.md, CLAUDE.md …
	GitHooks []File
	Agents   []File   // documents for the project's .ai/, for agents that work together; Rel is relative to it
	Ignore   []string // lines for .gitignore
	Ignores  []File   // files of those lines
	Neutral  Neutral
	Runtimes []RuntimePart // sorted by ID
	Problems []Problem
}

// RuntimePart is the part of a bundle for one runtime.
type RuntimePart struct {
	ID           string
	Rules        []File
	Skills       []Skill
	Hooks        []File
	Seeds        []File
	Others       []File // copied below the runtime's folder, unchanged
	Settings     []Document
	Instructions []Document // text for agents, instructions.md
}

// Document is a file whose text determines what it declares.
type Document struct {
	File
	Text []byte
}

// Runtime returns the part of p for the runtime id.
func (p *Part) Runtime(id string) RuntimePart {
	for _, r := range p.Runtimes {
		if r.ID == id {
			return r
		}
	}
	return RuntimePart{ID: id}
}

// Skills returns the skills of p, including those for one runtime.
func (p *Part) Skills() []Skill {
	out := slices.Clone(p.Neutral.Skills)
	for _, r := range p.Runtimes {
		for _, s := range r.Skills {
			s.Runtimes = []string{r.ID}
			out = append(out, s)
		}
	}
	return out
}

// Files returns every file of p.
func (p *Part) Files() []File {
	out := slices.Concat(p.Rules, p.Seeds, p.GitHooks, p.Agents, p.Ignores, p.Neutral.files())
	for _, r := range p.Runtimes {
		out = slices.Concat(out, r.Rules, r.Hooks, r.Seeds, r.Others)
		for _, s := range r.Skills {
			out = append(out, s.Files...)
		}
		for _, d := range slices.Concat(r.Settings, r.Instructions) {
			out = append(out, d.File)
		}
	}
	return out
}

// readCore reads the generic rules, and the documents for agents, under their
// new and their old names, one of which may be a link to the other.
func (t *Tree) readCore() (*Part, error) {
	p := &Part{Kind: Core, Name: "."}
	u, err := t.ruleUse(p, "")
	if err != nil {
		return nil, err
	}
	if t.pick.Parts() > 0 {
		return p, nil // the spec names what it takes, and rules have no names there
	}
	for _, dir := range t.oneOf(ruleFolders) {
		if err := t.rules(p, &p.Rules, dir, u); err != nil {
			return nil, err
		}
	}
	if err := t.add(&p.Rules, "instructions", u, nil, func(rel string) bool { return strings.HasSuffix(rel, ".instructions.md") }); err != nil {
		return nil, err
	}
	shorten(p.Rules, ".instructions.md") // as Copilot's users publish them
	if t.manifestIs(plugin.CursorManifest) {
		if err := t.rulesOfCursor(p, u); err != nil {
			return nil, err
		}
	}
	p.Rules = t.forPicked(p.Rules)
	for _, dir := range t.oneOf(templateFolders) {
		// Other files there belong to the project.
		if err := t.add(&p.Agents, dir+"/.ai", plain, func(rel string) bool { return !slices.Contains(ofTheProject, rel) }, nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// oneOf returns the names of a folder that exist, without links to another of
// them.
func (t *Tree) oneOf(names []string) []string {
	var links, folders []string
	for _, dir := range names {
		if info, err := t.lstat(dir); err != nil {
			continue
		} else if info.Mode()&os.ModeSymlink != 0 {
			links = append(links, dir)
		} else {
			folders = append(folders, dir)
		}
	}
	if len(folders) == 0 {
		return links
	}
	return folders
}

// readShared reads the top of the tree for user scope, without skills and
// rules.
func (t *Tree) readShared() (*Part, error) {
	p := &Part{Kind: Core, Name: "."}
	if err := errors.Join(t.neutral(&p.Neutral, &p.Problems, ""), t.neutralHooks(p, "hooks"), t.pluginParts(p)); err != nil {
		return nil, err
	}
	if err := t.choose(p); err != nil {
		return nil, err
	}
	t.rootless(p)
	ids, err := t.folders("runtimes")
	if err != nil {
		return nil, err
	}
	u, err := t.ruleUse(&Part{}, "")
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		r := RuntimePart{ID: id}
		if err := t.readRuntime(p, &r, "runtimes/"+id, u); err != nil {
			return nil, err
		}
		p.Runtimes = append(p.Runtimes, r)
	}
	return p, nil
}

// readRuntime reads the part in the folder dir for one runtime.
func (t *Tree) readRuntime(p *Part, r *RuntimePart, dir string, u use) error {
	if err := t.rules(p, &r.Rules, dir+"/rules", u); err != nil {
		return err
	}
	return t.runtime(p, r, dir)
}

// oldFolder is the folder of the layout before runtimes/<id>/, and the id of
// its only runtime.
const oldFolder = "claude"

// readPart reads a language or a team in both layouts: the new one with common/
// and runtimes/<id>/, the old one with claude/ and files at the top.
func (t *Tree) readPart(kind Kind, name string) (*Part, error) {
	root := "languages/" + name
	if kind == Team {
		root = "teams/" + name
	}
	p := &Part{Kind: kind, Name: name}
	u, err := t.ruleUse(p, root)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{root, root + "/common"} {
		if err := t.rules(p, &p.Rules, dir+"/rules", u); err != nil {
			return nil, err
		}
		if err := t.add(&p.Seeds, dir, plain, never, isSeed); err != nil {
			return nil, err
		}
		if err := t.add(&p.GitHooks, dir+"/githooks", gitHook, nil, notReadme); err != nil {
			return nil, err
		}
		if err := t.ignore(p, dir+"/gitignore-add.txt"); err != nil {
			return nil, err
		}
		if err := errors.Join(
			t.neutral(&p.Neutral, &p.Problems, dir),
			t.neutralHooks(p, dir+"/hooks"),
			t.skillsIn(&p.Neutral.Skills, &p.Problems, dir+"/skills"),
		); err != nil {
			return nil, err
		}
	}
	ids, err := t.folders(root + "/runtimes")
	if err != nil {
		return nil, err
	}
	if t.isDir(root+"/"+oldFolder) && !slices.Contains(ids, oldFolder) {
		ids = append(ids, oldFolder)
		slices.Sort(ids)
	}
	for _, id := range ids {
		r := RuntimePart{ID: id}
		if id == oldFolder {
			// Rules of the old layout are neutral: every runtime gets them.
			if err := t.rules(p, &p.Rules, root+"/"+oldFolder+"/rules", u); err != nil {
				return nil, err
			}
			if err := t.runtime(p, &r, root+"/"+oldFolder); err != nil {
				return nil, err
			}
		}
		if err := t.readRuntime(p, &r, root+"/runtimes/"+id, u); err != nil {
			return nil, err
		}
		p.Runtimes = append(p.Runtimes, r)
	}
	return p, nil
}

// runtime reads a folder for one runtime, without its rules.
func (t *Tree) runtime(p *Part, r *RuntimePart, dir string) error {
	if err := t.add(&r.Hooks, dir+"/hooks", program, nil, notReadme); err != nil {
		return err
	}
	if err := t.skillsIn(&r.Skills, &p.Problems, dir+"/skills"); err != nil {
		return err
	}
	if err := t.add(&r.Seeds, dir, plain, never, isSeed); err != nil {
		return err
	}
	for name, list := range map[string]*[]Document{"instructions.md": &r.Instructions, "settings.json": &r.Settings} {
		if !t.isFile(dir + "/" + name) {
			continue
		}
		d, err := t.document(dir+"/"+name, name)
		if err != nil {
			return err
		}
		*list = append(*list, *d)
	}
	if own := dir + "/settings.local.json"; t.isFile(own) {
		p.Problems = append(p.Problems, t.problem(t.at(own), "is not installed: settings with that name are personal"))
	}
	return t.add(&r.Others, dir, plain,
		func(rel string) bool { return !slices.Contains([]string{"rules", "hooks", "skills"}, rel) },
		func(rel string) bool {
			return notReadme(rel) && !isSeed(rel) && !slices.Contains([]string{"instructions.md", "settings.json", "settings.local.json"}, rel)
		})
}

// rules adds the Markdown files below dir to list, and reports those without a
// heading. u is rule or proseRule.
func (t *Tree) rules(p *Part, list *[]File, dir string, u use) error {
	before := len(*list)
	if err := t.add(list, dir, u, nil, isRule); err != nil {
		return err
	}
	for _, f := range (*list)[before:] {
		if f.About.Title == "" {
			p.Problems = append(p.Problems, t.problem(f.Path, "has no heading; start it with a line like \"# Commits\""))
		}
		if f.Fault != nil {
			p.Problems = append(p.Problems, t.problem(f.Path, f.Fault.Error()+"; until that is fixed the rule is for every file"))
		}
	}
	return nil
}

// add reads the files below dir (see Tree.list) and merges them into list. Two
// files with the same name must have the same bytes.
func (t *Tree) add(list *[]File, dir string, u use, enter, keep func(string) bool) error {
	jobs, err := t.list(dir, u, enter, keep)
	if err != nil {
		return err
	}
	files, err := t.read(jobs)
	if err != nil {
		return err
	}
	if len(*list) == 0 {
		*list = files
		return nil
	}
	had := map[string]File{}
	for _, f := range *list {
		had[f.Rel] = f
	}
	for _, f := range files {
		other, twice := had[f.Rel]
		if twice && other.Digest != f.Digest {
			return fmt.Errorf("%s and %s are both %s but differ; keep one of them", other.Path, f.Path, f.Rel)
		}
		if !twice {
			*list = append(*list, f)
		}
	}
	return nil
}

// ignore reads lines for .gitignore, without comments and blank lines.
func (t *Tree) ignore(p *Part, src string) error {
	if !t.isFile(src) {
		return nil
	}
	d, err := t.document(src, path.Base(src))
	if err != nil {
		return err
	}
	p.Ignores = append(p.Ignores, d.File)
	p.Ignore = lines(p.Ignore, d.Text)
	return nil
}

// document reads one file and keeps its text.
func (t *Tree) document(src, rel string) (*Document, error) {
	if err := t.inside(src); err != nil {
		return nil, err
	}
	files, err := t.read([]job{{rel: rel, src: src}})
	if err != nil {
		return nil, err
	}
	text, err := t.readFile(src)
	if err != nil {
		return nil, err
	}
	return &Document{File: files[0], Text: text}, nil
}

func (t *Tree) isDir(src string) bool {
	info, err := t.stat(src)
	return err == nil && info.IsDir()
}

func never(string) bool         { return false }
func isRule(rel string) bool    { return strings.HasSuffix(rel, ".md") && notReadme(rel) }
func notReadme(rel string) bool { return !strings.EqualFold(rel, "README.md") }

// isSeed recognizes an instruction file by its name: capitals, at the top.
func isSeed(rel string) bool {
	name, ok := strings.CutSuffix(rel, ".md")
	return ok && name != "" && !strings.Contains(rel, "/") && name == strings.ToUpper(name) && notReadme(rel)
}
