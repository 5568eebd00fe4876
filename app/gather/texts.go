package gather

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// text is one rule, command or agent of one program.
type text struct {
	what    string // "rule", "command", "agent"
	runtime string // "" for a neutral source
	from    string
	rel     string // ends in .md
	content []byte
	mode    fs.FileMode
	note    string
}

// skill is one folder with a SKILL.md of one program.
type skill struct {
	runtime, from, name string
	neutral             bool   // of a source for all programs
	files               []File // by relative path
}

var folderOf = map[string]string{"rule": "rules", "command": "commands", "agent": "agents"}

// textsIn collects the files below dir with one of suffixes. Other files are
// taken for the program alone, where a bundle has a place for them.
func (g *gatherer) textsIn(what, runtime, dir string, suffixes ...string) {
	for _, rel := range g.walk(dir) {
		from := path.Join(dir, rel)
		base, ok := withSuffix(rel, suffixes...)
		switch {
		case g.isOurs(from):
		case strings.EqualFold(path.Base(rel), "README.md"):
			g.keep(from, "a README is for people")
		case !ok:
			g.beside(what, runtime, from)
		default:
			if g.isFile(from) {
				g.runtime(runtime) // it is in use, whatever is wrong with the file
			}
			if content, mode, ok := g.readText(from); ok {
				g.texts = append(g.texts, text{what: what, runtime: runtime, from: from, rel: base + ".md", content: content, mode: mode})
			}
		}
	}
}

// beside takes a file of a program's folder that is none of what is looked for.
func (g *gatherer) beside(what, runtime, from string) {
	if what == "rule" || runtime == "" {
		g.keep(from, "not a "+what+" by its name")
		return
	}
	if to, why := g.ownPlace(what, runtime, from, nil); to == "" {
		g.keep(from, why)
	} else if g.copyFile("file", from, to, "") {
		g.runtime(runtime)
	}
}

// skillsIn collects the skills in dir. With runtime "" they are those of a
// folder that several programs read.
func (g *gatherer) skillsIn(runtime, dir string) { g.skillsOf(runtime, dir, false) }

// neutralSkills collects the skills of a source for all programs.
func (g *gatherer) neutralSkills(dir string) { g.skillsOf("", dir, true) }

func (g *gatherer) skillsOf(runtime, dir string, neutral bool) {
	for _, e := range g.entries(dir) {
		at := path.Join(dir, e.Name())
		switch {
		case g.isOurs(path.Join(at, "SKILL.md")):
		case g.isLink(at):
			g.keep(at, "a link; the program goes on following it")
			g.runtime(runtime)
		case !g.isFile(path.Join(at, "SKILL.md")):
			g.keep(at, "not a skill: it has no SKILL.md")
		default:
			s, leaks := skill{runtime: runtime, from: at, name: e.Name(), neutral: neutral}, g.leaks
			for _, rel := range g.walk(at) {
				if content, mode, ok := g.read(path.Join(at, rel)); ok {
					s.files = append(s.files, File{rel, content, mode})
				}
			}
			g.runtime(runtime)
			if g.leaks > leaks {
				g.keep(at, "a skill comes in whole, and a file of it holds a secret")
				continue
			}
			if i := slices.IndexFunc(s.files, func(f File) bool { return f.Path == "SKILL.md" }); i < 0 || !g.readable(path.Join(at, "SKILL.md"), s.files[i].Text) {
				continue
			}
			g.skills = append(g.skills, s)
		}
	}
}

func sameFiles(a, b []File) bool {
	return slices.EqualFunc(a, b, func(x, y File) bool { return x.Path == y.Path && x.Mode == y.Mode && bytes.Equal(x.Text, y.Text) })
}

// ignoreList is the list of files that a program must not read.
type ignoreList struct {
	runtime, from string // runtime is "" for a neutral source
	lines         []string
}

// ignoreFile reads the lines of such a list.
func (g *gatherer) ignoreFile(runtime, name string) {
	content, _, ok := g.readAny(name)
	if !ok {
		return
	}
	l := ignoreList{runtime: runtime, from: name}
	for line := range strings.Lines(string(content)) {
		l.lines = append(l.lines, strings.TrimRight(line, "\r\n"))
	}
	g.lists = append(g.lists, l)
	if s, ok := g.scope(runtime); ok && g.at(s.Ignore) == name {
		g.runtime(runtime)
	}
}

// settleIgnores takes the lists that all programs of the spec have, or that are
// to be shared, as one.
func (g *gatherer) settleIgnores() {
	var lines []string
	for _, l := range g.lists {
		if l.runtime != "" && !g.Share && !g.allIgnore(l) {
			g.keep(l.from, "the program goes on reading it; --share gives its lines to every program")
			continue
		}
		for _, line := range l.lines {
			if line == "" || strings.HasPrefix(line, "#") || !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		g.took("ignore list", l.from, g.common("ignore"), "")
	}
	if len(lines) > 0 {
		g.put(g.common("ignore"), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
	}
}

// allIgnore reports whether every program of the spec has the lines of l, in the
// list that aisync writes for it.
func (g *gatherer) allIgnore(l ignoreList) bool {
	for _, id := range g.wanted() {
		s, ok := g.scope(id)
		if ok && !slices.ContainsFunc(g.lists, func(o ignoreList) bool {
			return o.runtime == id && g.at(s.Ignore) == o.from && slices.Equal(o.lines, l.lines)
		}) {
			return false
		}
	}
	return true
}
