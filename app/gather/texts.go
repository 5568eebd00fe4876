package gather

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/schema/spec"
)

// text is one rule, command or agent of one program.
type text struct {
	what    string // "rule", "command", "agent"
	runtime string // "" for a neutral source
	from    string
	rel     string // ends in .md
	content []byte
	note    string
}

// skill is one folder with a SKILL.md of one program.
type skill struct {
	runtime, from, name string
	files               []File // by relative path
}

var folderOf = map[string]string{"rule": "rules", "command": "commands", "agent": "agents"}

// textsIn collects the files below dir with one of suffixes; all others are
// left alone.
func (g *gatherer) textsIn(what, runtime, dir string, suffixes ...string) {
	for _, rel := range g.walk(dir) {
		from := path.Join(dir, rel)
		base, ok := withSuffix(rel, suffixes...)
		switch {
		case !ok:
			g.keep(from, "no "+what+" by its name")
		case strings.EqualFold(path.Base(base), "README"):
			g.keep(from, "a README is for people")
		default:
			if content, mode, ok := g.read(from); ok && g.ownWords(what, runtime, from, File{"", content, mode}) {
				g.runtime(runtime)
			} else if ok {
				g.texts = append(g.texts, text{what: what, runtime: runtime, from: from, rel: base + ".md", content: content})
				g.runtime(runtime)
			}
		}
	}
}

// ownWords takes a command or agent that has words of its program alone, such as
// opencode's permission, for that program: elsewhere they mean nothing, or
// something else. It reports whether f is one.
func (g *gatherer) ownWords(what, runtime, from string, f File) bool {
	words := render.AgentWords
	switch what {
	case "command":
		words = render.CommandWords
	case "agent":
	default:
		return false
	}
	id, own := words(catalog.Runtimes()).Own(f.Text)
	rt, ok := catalog.With(spec.Catalog{}).Runtime(runtime)
	dir := rt.Project.Dir
	if g.Home {
		dir = strings.TrimPrefix(rt.User.Dir, "~/")
	}
	rel, below := strings.CutPrefix(from, dir+"/")
	if !own || !ok || id != runtime || !below {
		return false
	}
	to := g.own(runtime, rel)
	if !g.put(to, f.Text, f.Mode) {
		return false
	}
	g.took(what, from, to, "for "+runtime+" only: its front matter has words of "+runtime+"; move it to "+g.common(folderOf[what])+" to share it")
	return true
}

// skillsIn collects the skills in dir.
func (g *gatherer) skillsIn(runtime, dir string) {
	for _, e := range g.entries(dir) {
		at := path.Join(dir, e.Name())
		switch {
		case g.isLink(at):
			g.keep(at, "a link")
		case !g.isFile(path.Join(at, "SKILL.md")):
			g.keep(at, "not a skill: it has no SKILL.md")
		default:
			s := skill{runtime: runtime, from: at, name: e.Name()}
			for _, rel := range g.walk(at) {
				if content, mode, ok := g.read(path.Join(at, rel)); ok {
					s.files = append(s.files, File{rel, content, mode})
				}
			}
			g.skills = append(g.skills, s)
			g.runtime(runtime)
		}
	}
}

// settleTexts writes texts that several programs share once, for all runtimes,
// and texts that differ for each program separately.
func (g *gatherer) settleTexts() {
	for _, t := range g.texts {
		twins := slices.DeleteFunc(slices.Clone(g.texts), func(o text) bool { return o.what != t.what || o.rel != t.rel })
		first := twins[0]
		different := slices.ContainsFunc(twins, func(o text) bool { return !alike(first.content, o.content) })
		to := g.common(folderOf[t.what], t.rel)
		switch {
		case !different && t.from == first.from:
			g.put(to, t.content, 0o644)
			g.took(t.what, t.from, to, t.note)
		case !different && bytes.Equal(t.content, first.content):
			g.took(t.what, t.from, to, "the same as "+first.from)
		case !different:
			g.took(t.what, t.from, to, "means the same as "+first.from+", in the form of "+t.runtime)
		case t.runtime == "":
			g.put(to, t.content, 0o644)
			g.took(t.what, t.from, to, t.note)
		default:
			to = g.own(t.runtime, folderOf[t.what], t.rel)
			if !g.put(to, t.content, 0o644) {
				g.keep(t.from, "the bundle has another "+t.what+" of that name for "+t.runtime)
				continue
			}
			g.took(t.what, t.from, to, "for "+t.runtime+" only: others have a different one with that name")
		}
	}
}

// alike reports whether two texts are equal apart from the form of their front
// matter.
func alike(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, _ := frontmatter.ReadRule(a)
	y, _ := frontmatter.ReadRule(b)
	return slices.Equal(x.Globs, y.Globs) && bytes.Equal(bodyOf(a), bodyOf(b))
}

func bodyOf(content []byte) []byte {
	_, body, _, _ := frontmatter.Split(content)
	return bytes.TrimSpace(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")))
}

// settleSkills is settleTexts for skills.
func (g *gatherer) settleSkills() {
	for _, s := range g.skills {
		twins := slices.DeleteFunc(slices.Clone(g.skills), func(o skill) bool { return o.name != s.name })
		first := twins[0]
		to, note := g.common("skills", s.name), ""
		switch different := slices.ContainsFunc(twins, func(o skill) bool { return !sameFiles(first.files, o.files) }); {
		case different && s.runtime != "":
			to, note = g.own(s.runtime, "skills", s.name), "for "+s.runtime+" only: others have a different one with that name"
		case !different && s.from != first.from:
			note = "the same as " + first.from
		}
		for _, f := range s.files {
			g.put(path.Join(to, f.Path), f.Text, f.Mode)
		}
		g.took("skill", s.from, to, note)
	}
}

func sameFiles(a, b []File) bool {
	return slices.EqualFunc(a, b, func(x, y File) bool { return x.Path == y.Path && bytes.Equal(x.Text, y.Text) })
}

// ignoreFile takes the lines of a list of files that agents must not read.
func (g *gatherer) ignoreFile(name string) {
	content, _, ok := g.read(name)
	if !ok {
		return
	}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") || !slices.Contains(g.ignores, line) {
			g.ignores = append(g.ignores, line)
		}
	}
	g.took("ignore list", name, g.common("ignore"), "")
}
