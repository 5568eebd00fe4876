package session

import (
	"fmt"
	"regexp"
	"strings"
)

// Subtree is one heading of an org or Markdown text with what stands below it,
// as places in the text.
type Subtree struct {
	Heading string // as it stands, without the line's end
	Line    int    // of the heading, from 1
	Start   int    // of the heading's line
	Body    int    // of what follows the heading's line
	End     int    // behind the last line of the subtree
	level   int
	title   string
}

var (
	orgHeading = regexp.MustCompile(`^(\*+)[ \t]+(.*?)[ \t]*$`)
	mdHeading  = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	fence      = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")
	orgDress   = regexp.MustCompile(`^(?:[A-Z][A-Z_-]+[ \t]+)?(?:\[#[A-Za-z0-9]\][ \t]+)?(.*?)(?:[ \t]+:[\w@#%:]+:)?$`)
)

// IsOrg reports whether a file is read as org, by its name; others are Markdown.
func IsOrg(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".org") }

// Subtrees lists the headings of a text. Lines within a fenced block of
// Markdown are none; in org a line that begins with a star always is.
func Subtrees(text string, org bool) []Subtree {
	var out []Subtree
	at, n, open := 0, 0, ""
	for line := range strings.Lines(text) {
		n++
		bare := strings.TrimRight(line, "\r\n")
		level, title := 0, ""
		if org {
			if m := orgHeading.FindStringSubmatch(bare); m != nil {
				level, title = len(m[1]), m[2]
			}
		} else if m := fence.FindStringSubmatch(bare); m != nil && (open == "" || strings.HasPrefix(m[1], open)) {
			if open == "" {
				open = m[1]
			} else if strings.Trim(bare, " \t`~") == "" {
				open = ""
			}
		} else if m := mdHeading.FindStringSubmatch(bare); m != nil && open == "" {
			level, title = len(m[1]), m[2]
		}
		if level > 0 {
			for i := range out {
				if out[i].End < 0 && out[i].level >= level {
					out[i].End = at
				}
			}
			out = append(out, Subtree{bare, n, at, at + len(line), -1, level, title})
		}
		at += len(line)
	}
	for i := range out {
		if out[i].End < 0 {
			out[i].End = at
		}
	}
	return out
}

// Find returns the one subtree that heading names: the whole heading line, its
// text, or in org its text without keyword, priority and tags. None and several
// are errors that name the lines.
func Find(text, heading string, org bool) (Subtree, error) {
	want := strings.TrimSpace(heading)
	if want == "" {
		return Subtree{}, fmt.Errorf("no heading is given")
	}
	var found []Subtree
	for _, s := range Subtrees(text, org) {
		bare := s.title
		if m := orgDress.FindStringSubmatch(s.title); org && m != nil {
			bare = m[1]
		}
		if want == strings.TrimSpace(s.Heading) || want == s.title || want == bare {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Subtree{}, fmt.Errorf("no heading %q; a heading is given as it stands, with or without its %s", want, map[bool]string{true: "stars, keyword and tags", false: "number signs"}[org])
	}
	var lines []string
	for _, s := range found {
		lines = append(lines, fmt.Sprint(s.Line))
	}
	return Subtree{}, fmt.Errorf("%d headings %q, on lines %s: an edit needs one that is there once; make it so, or give the whole line", len(found), want, strings.Join(lines, ", "))
}
