package adapter

import (
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/frontmatter"
)

// listing is a rule that some programs learn of by a line.
type listing struct {
	readers []string
	rule    rule
	file    string
}

// lists returns the lines as rules that hold always, one for each set of
// programs.
func (b *builder) lists() []rule {
	var out []rule
	for _, l := range b.listed {
		i := slices.IndexFunc(out, func(r rule) bool { return slices.Equal(r.readers, l.readers) })
		if i < 0 {
			name := "aisync-index.md"
			if len(out) > 0 {
				name = "aisync-index-" + strings.Join(l.readers, "-") + ".md"
			}
			out, i = append(out, rule{rel: name, title: "rules to read when they apply", readers: l.readers, text: []byte("# Rules to read when they apply\n\n" + b.listedFrom()), label: l.rule.label}), len(out)
		}
		r := &out[i]
		r.text = append(r.text, "- "+l.rule.sentence(l.file)+"\n"...)
		r.origin = joined(r.origin, l.rule.origin)
	}
	return out
}

// sentence says when to read a rule. Programs that load the rule by themselves
// see it too.
func (r rule) sentence(file string) string {
	when := "before you touch `" + strings.Join(r.globs, "`, `") + "`"
	if r.kind == frontmatter.OnRequest {
		when = "for: " + r.src.About.Description + r.inFolders()
	}
	s := "If your program has not given you this rule already, read `" + file + "` " + when
	if len(r.only) > 0 {
		s += "; it is for " + list(r.only)
	}
	return s + "."
}

// inFolders says where a rule without patterns is for.
func (r rule) inFolders() string {
	if len(r.folders) == 0 {
		return ""
	}
	return fmt.Sprintf(" in `%s`", strings.Join(r.folders, "`, `"))
}

// listedFrom says where the paths of a list of rules start, if a program that is
// started in a folder may take that for it.
func (b *builder) listedFrom() string {
	if !slices.ContainsFunc(b.listed, func(l listing) bool { return len(l.rule.folders) > 0 }) {
		return ""
	}
	return "The paths start at the root of the project.\n\n"
}
