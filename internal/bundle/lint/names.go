package lint

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// checkNames finds names that one program would find in two places.
func checkNames(s *source, say func(Finding)) {
	s.oneCase(say)
	s.oneRule(say)
	s.oneSkill(say)
	s.oneText(say)
}

// oneCase refuses names that are the same file on macOS and Windows.
func (s *source) oneCase(say func(Finding)) {
	folded := map[string]string{}
	for _, f := range s.files {
		key := strings.ToLower(f.name)
		if first, twice := folded[key]; twice {
			say(Finding{File: f.name, Level: Error, Text: fmt.Sprintf("and %s are one file on a case-insensitive file system", first)})
			continue
		}
		folded[key] = f.name
	}
}

// oneRule refuses rules with the same name and place: of a bundle and the
// generic ones, and of two bundles that a project may combine.
func (s *source) oneRule(say func(Finding)) {
	named := map[string][]file{}
	s.each(func(f file, _ use) {
		name := path.Base(f.name)
		for _, had := range named[name] {
			same := bytes.Equal(had.text, f.text)
			switch {
			case apart(had.name, f.name):
			case same && bundleOf(had.name) == bundleOf(f.name):
				say(Finding{File: f.name, Level: Error, Text: fmt.Sprintf("duplicates %s; a runtime that gets both reads it twice: keep one", had.name)})
			case !same:
				say(Finding{File: f.name, Level: Error, Text: fmt.Sprintf("and %s are installed under the same name but differ; rename one", had.name)})
			}
		}
		named[name] = append(named[name], f)
	}, rule)
}

// apart reports whether a and b are for two different runtimes.
func apart(a, b string) bool {
	ra, rb := runtimeOf(a), runtimeOf(b)
	return ra != "" && rb != "" && ra != rb
}

// runtimeOf is the only runtime that name is for; "" for all.
func runtimeOf(name string) string {
	parts := strings.Split(name, "/")
	if i := slices.Index(parts, "runtimes"); i >= 0 && i+1 < len(parts)-1 {
		return parts[i+1]
	}
	return ""
}

// oneSkill refuses a skill in two places. Programs read each other's folders:
// one of two runtimes finds such a skill twice.
func (s *source) oneSkill(say func(Finding)) {
	first := map[string]string{}
	s.each(func(f file, _ use) {
		dir := path.Dir(f.name)
		name := path.Base(dir)
		had, twice := first[name]
		if !twice {
			first[name] = dir
			return
		}
		text := fmt.Sprintf("skill %s is in %s too; a program that reads both folders offers it twice: keep one", name, had)
		if strings.Contains(dir, "/runtimes/") && strings.Contains(had, "/runtimes/") {
			text += `, in skills/, and name its programs in its front matter (runtimes: [claude, opencode])`
		}
		say(Finding{File: f.name, Level: Error, Text: text})
	}, skill)
	s.each(func(f file, _ use) {
		if dir, both := first[strings.TrimSuffix(path.Base(f.name), ".md")]; both {
			say(Finding{File: f.name, Level: Warning, Text: fmt.Sprintf("and the skill %s have the same name; programs that call both by /NAME run only one of them", dir)})
		}
	}, command)
}

// oneText refuses the same text as first content of two instruction files: the
// line @AGENTS.md in CLAUDE.md already imports the other.
func (s *source) oneText(say func(Finding)) {
	var seeds []file
	s.each(func(f file, _ use) { seeds = append(seeds, f) }, seed)
	for i, f := range seeds {
		j := slices.IndexFunc(seeds[:i], func(g file) bool {
			return bundleOf(g.name) == bundleOf(f.name) && path.Base(g.name) != path.Base(f.name) && bytes.Equal(g.text, f.text)
		})
		if j >= 0 {
			say(Finding{File: f.name, Level: Warning, Text: fmt.Sprintf("repeats %s; a program that reads both reads it twice: keep AGENTS.md", seeds[j].name)})
		}
	}
}
