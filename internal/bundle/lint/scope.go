package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/frontmatter"
)

// scopeFields are the fields that limit a rule to files: those of Claude Code,
// Cursor and GitHub Copilot.
var scopeFields = []string{"paths", "globs", "applyTo"}

// byProse reports whether a manifest makes the line "Applies to:" of the rule
// name its scope.
func (s *source) byProse(name string) bool {
	places := []string{bundle.ManifestName}
	if parts := strings.SplitN(name, "/", 3); len(parts) == 3 && (parts[0] == "languages" || parts[0] == "teams") {
		places = append(places, path.Join(parts[0], parts[1], bundle.ManifestName))
	}
	return slices.ContainsFunc(s.files, func(f file) bool {
		if !slices.Contains(places, f.name) {
			return false
		}
		m, err := bundle.ReadManifest(f.text) // an error is one of the check "read"
		return err == nil && m.Scope == bundle.ByProse
	})
}

// checkAppliesTo requires a line "Applies to:" to be what it looks like: a scope
// needs patterns, and a manifest that makes the line count.
func checkAppliesTo(s *source, say func(Finding)) {
	s.each(func(f file, _ use) {
		globs, line := frontmatter.AppliesTo(f.text)
		r, err := frontmatter.ReadRule(f.text)
		if line == 0 || err != nil || r.Kind != frontmatter.Always {
			return
		}
		said := lineAt(f.text, line)
		quoted := strings.Count(said, "`") > 1
		wrong := func(level Level, text string) { say(Finding{File: f.name, Line: line, Level: level, Text: text}) }
		switch {
		case !s.byProse(f.name) && quoted && len(globs) > 0:
			wrong(Warning, `"Applies to:" is prose: programs take the rule for every file; write its patterns as paths in front matter, or {"scope": "applies-to"} into `+bundle.ManifestName)
		case !s.byProse(f.name):
		case strings.TrimSpace(strings.TrimPrefix(said, "Applies to:")) == "":
			wrong(Error, `"Applies to:" names nothing; put patterns between backquotes after it`)
		case !quoted:
			wrong(Error, `"Applies to:" has no pattern between backquotes, so programs take its words for one; write patterns, such as `+"`**/*.py`")
		}
	}, rule)
}

// checkPatterns requires patterns that programs read, and read alike.
func checkPatterns(s *source, say func(Finding)) {
	s.each(func(f file, _ use) {
		front, _, ok, err := frontmatter.Split(f.text)
		if err != nil {
			return // reported by the check "front-matter"
		}
		fields, err := frontmatter.Parse(front)
		if err != nil {
			return
		}
		scoped := false
		if ok {
			scoped = checkFields(f, front, fields, say)
		}
		if globs, line := frontmatter.AppliesTo(f.text); !scoped && s.byProse(f.name) && strings.Contains(lineAt(f.text, line), "`") {
			for _, g := range globs {
				checkPattern(f.name, line, g, say)
			}
		}
	}, rule)
}

// checkFields checks the patterns of front matter and reports whether it says
// when the rule is loaded.
func checkFields(f file, front []byte, fields frontmatter.Fields, say func(Finding)) bool {
	_, scoped := fields["alwaysApply"]
	for _, name := range scopeFields {
		value, there := fields[name]
		if !there {
			continue
		}
		scoped = true
		at := lineOfField(front, name)
		warn := func(text string) { say(Finding{File: f.name, Line: at, Level: Warning, Text: text}) }
		globs := fields.List(name)
		if _, text := value.(string); text && name == "paths" && len(globs) > 1 {
			warn("Qwen Code takes paths with commas for one pattern; write a list, a line each")
		}
		if name == "paths" && fields["alwaysApply"] == true && len(globs) > 0 {
			warn("paths and alwaysApply: true contradict each other: Claude Code goes by the first, Cursor by the second; keep one")
		}
		for _, g := range globs {
			if frontmatter.EveryFile(g) {
				if name == "paths" {
					warn(fmt.Sprintf("with pattern %q some programs load the rule at the start, and others with the first file; leave paths out, and the rule always holds", g))
				}
				continue
			}
			checkPattern(f.name, cmp.Or(lineOfEntry(front, g), at), g, say)
		}
	}
	return scoped
}

// lineOfField is the line in the file of a field of its front matter.
func lineOfField(front []byte, name string) int {
	n := 2
	for line := range bytes.Lines(front) {
		if bytes.HasPrefix(line, []byte(name+":")) {
			return n
		}
		n++
	}
	return 1
}

// lineOfEntry is the line in the file of a list's entry that has its own, 0 if
// there is none.
func lineOfEntry(front []byte, entry string) int {
	n := 2
	for line := range bytes.Lines(front) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "- "); ok && strings.Trim(rest, "\"' ") == entry {
			return n
		}
		n++
	}
	return 0
}

func checkPattern(name string, line int, pattern string, say func(Finding)) {
	if why := badGlob(pattern); why != "" {
		say(Finding{File: name, Line: line, Level: Error, Text: fmt.Sprintf("pattern %q %s", pattern, why)})
	} else if next, why := CommonPattern(pattern); why != "" {
		say(Finding{File: name, Line: line, Level: Warning, Text: fmt.Sprintf("pattern %q: %s; write %s", pattern, why, next)})
	}
}

// badGlob says why pattern cannot match anything in a project.
func badGlob(pattern string) string {
	switch {
	case pattern == "":
		return "is empty"
	case strings.HasPrefix(pattern, "~"), strings.HasPrefix(pattern, "../"):
		return "leads out of the project; patterns start at its top"
	case strings.Contains(pattern, `\`):
		return `has a \; folders are set apart by /`
	}
	plain := strings.NewReplacer("{", "", "}", "", "**", "*").Replace(pattern)
	if _, err := path.Match(plain, ""); err != nil {
		return "cannot be read: a [ has no ]"
	}
	if strings.Count(pattern, "{") != strings.Count(pattern, "}") {
		return "cannot be read: a { has no }"
	}
	return ""
}

// CommonPattern says why programs find different files by pattern, "" if they
// find the same, and what to write instead. Claude Code reads patterns as
// .gitignore does, Copilot CLI and Qwen Code as paths; the catalog has it with
// sources, and a test of adapter/loads holds this against it.
func CommonPattern(pattern string) (next, why string) {
	p := pattern
	switch {
	case strings.HasPrefix(p, "!"):
		return "patterns of the files that the rule is for", "only Claude Code leaves files out with !"
	case strings.HasPrefix(p, "./"):
		p, why = strings.TrimPrefix(p, "./"), "Claude Code finds nothing with ./"
	case strings.HasPrefix(p, "/"):
		p, why = strings.TrimPrefix(p, "/"), "only Claude Code finds files with a / at the start"
	}
	if folder, ok := strings.CutSuffix(p, "/"); ok {
		if why == "" {
			why = "only Claude Code finds files by their folder"
		}
		return folder + "/**", why
	}
	if strings.Contains(p, "/") {
		return p, why
	}
	if why == "" {
		why = "Qwen Code finds a name without a folder at the top alone, others anywhere"
	}
	if strings.ContainsAny(p, "*?.") {
		return "**/" + p, why
	}
	return fmt.Sprintf("**/%s, or %s/** if it is a folder", p, p), why
}
