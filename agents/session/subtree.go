package session

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Subtree is one heading of an org or Markdown text with the text below it, as
// offsets.
type Subtree struct {
	Heading string // without the line's end
	Line    int    // of the heading, from 1
	Start   int    // of the heading's line
	Body    int    // of what follows the heading's line
	End     int    // after the last line of the subtree
	level   int
	title   string
}

// patterns are compiled on first use: most commands need none.
var patterns = sync.OnceValue(func() (p struct {
	orgHeading, mdHeading, underline, paragraph, numbered, fence, orgCookie, orgTags, orgDress, orgStates *regexp.Regexp
}) {
	p.orgHeading = regexp.MustCompile(`^(\*+) +(.*?)[ \t]*$`)
	p.mdHeading = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	p.underline = regexp.MustCompile(`^ {0,3}(=+|-+)[ \t]*$`)
	p.paragraph = regexp.MustCompile("^ {0,3}[^ \t#>|`~*+=-]")
	p.numbered = regexp.MustCompile(`^ {0,3}[0-9]+[.)][ \t]`)
	p.fence = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})([^`]*)$")
	p.orgCookie = regexp.MustCompile(`[ \t]*\[[0-9]*(?:%|/[0-9]*)\][ \t]*$`)
	p.orgTags = regexp.MustCompile(`[ \t]+:[^ \t]+:$`)
	p.orgDress = regexp.MustCompile(`^(?:([A-Z][A-Z_-]*)[ \t]+)?(?:\[#[A-Za-z0-9]+\][ \t]+)?(.*)$`)
	p.orgStates = regexp.MustCompile(`(?im)^#\+(?:SEQ_|TYP_)?TODO:(.*)$`)
	return p
})

// commonKeywords are keywords of org files besides those that a file declares.
// TODO and DONE are org's; the others are common.
var commonKeywords = []string{"TODO", "DONE", "NEXT", "DOING", "STARTED", "WAITING", "WAIT", "HOLD", "VERIFY", "SOMEDAY", "MAYBE",
	"CANCELLED", "CANCELED", "DELEGATED", "FAILED", "STALLED", "BLOCKED", "INPROGRESS", "IN-PROGRESS", "PROJECT", "COMMENT"}

// IsOrg reports whether a file is org, by its name; others are Markdown.
func IsOrg(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".org") }

// Subtrees lists the headings of a text. In Markdown, lines in a fenced block, a
// comment or the front matter are not headings; in org every line that begins
// with a star is.
func Subtrees(text string, org bool) []Subtree {
	var out []Subtree
	var open []int // indices in out, each below the one before it
	end := func(level, at int) {
		for len(open) > 0 && out[open[len(open)-1]].level >= level {
			out[open[len(open)-1]].End = at
			open = open[:len(open)-1]
		}
	}
	add := func(s Subtree) {
		end(s.level, s.Start)
		open = append(open, len(out))
		out = append(out, s)
	}
	md := markdown{}
	at, n := 0, 0
	for line := range strings.Lines(text) {
		n++
		bare := strings.TrimRight(line, "\r\n")
		if n == 1 {
			bare = strings.TrimPrefix(bare, "\uFEFF")
		}
		next := at + len(line)
		if org {
			if m := patterns().orgHeading.FindStringSubmatch(bare + " "); m != nil { // a heading may be empty
				add(Subtree{Heading: bare, Line: n, Start: at, Body: next, level: len(m[1]), title: m[2]})
			}
		} else if level, title, over := md.heading(n, bare); over {
			add(Subtree{Heading: md.last, Line: n - 1, Start: md.lastAt, Body: next, level: level, title: title})
			bare = ""
		} else if level > 0 {
			add(Subtree{Heading: bare, Line: n, Start: at, Body: next, level: level, title: title})
			bare = ""
		}
		md.last, md.lastAt = bare, at
		at = next
	}
	end(0, at)
	return out
}

// markdown is the state of a Markdown scanner between lines.
type markdown struct {
	block  string // the end of the open block; "": none
	last   string // the previous line, "" if it was a heading
	lastAt int
}

// heading reports whether line n is a heading, or with over the underline that
// makes the previous line one.
func (m *markdown) heading(n int, line string) (level int, title string, over bool) {
	switch m.block {
	case "":
	case "---", "-->":
		if line == m.block || m.block == "-->" && strings.Contains(line, m.block) {
			m.block = ""
		}
		return 0, "", false
	default:
		if f := patterns().fence.FindStringSubmatch(line); f != nil && strings.HasPrefix(f[1], m.block) && strings.TrimSpace(f[2]) == "" {
			m.block = ""
		}
		return 0, "", false
	}
	if n == 1 && line == "---" {
		m.block = "---"
		return 0, "", false
	}
	if f := patterns().fence.FindStringSubmatch(line); f != nil {
		m.block = f[1]
		return 0, "", false
	}
	if _, rest, ok := strings.Cut(line, "<!--"); ok && strings.TrimSpace(line[:strings.Index(line, "<!--")]) == "" {
		if !strings.Contains(rest, "-->") {
			m.block = "-->"
		}
		return 0, "", false
	}
	if h := patterns().mdHeading.FindStringSubmatch(line); h != nil {
		return len(h[1]), h[2], false
	}
	if u := patterns().underline.FindStringSubmatch(line); u != nil && patterns().paragraph.MatchString(m.last) && !patterns().numbered.MatchString(m.last) {
		level = 1
		if u[1][0] == '-' {
			level = 2
		}
		return level, strings.TrimSpace(m.last), true
	}
	return 0, "", false
}

// Find returns the one subtree that heading names: the whole heading line, its
// text, or in org its text without keyword, priority and tags. No match and
// several matches are errors that name the lines.
func Find(text, heading string, org bool) (Subtree, error) {
	want := strings.TrimSpace(heading)
	if want == "" {
		return Subtree{}, fmt.Errorf("heading required")
	}
	var found []Subtree
	states := states(text)
	for _, s := range Subtrees(text, org) {
		bare := s.title
		if org {
			bare = plainTitle(s.title, states)
		}
		if want == strings.TrimSpace(s.Heading) || want == s.title || want == bare {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Subtree{}, fmt.Errorf("no heading %q; give a heading exactly, with or without its %s", want, map[bool]string{true: "stars, keyword and tags", false: "number signs"}[org])
	}
	var lines []string
	for _, s := range found {
		lines = append(lines, fmt.Sprint(s.Line))
	}
	return Subtree{}, fmt.Errorf("%d headings %q, on lines %s: an edit needs a unique one; rename one, or give the whole line", len(found), want, strings.Join(lines, ", "))
}

// states returns the keywords of an org file.
func states(text string) []string {
	out := commonKeywords
	for _, m := range patterns().orgStates.FindAllStringSubmatch(text, -1) {
		for _, word := range strings.Fields(m[1]) {
			word, _, _ = strings.Cut(word, "(") // a selection key follows
			out = append(slices.Clip(out), word)
		}
	}
	return out
}

// plainTitle returns the text of an org heading without its keyword, priority,
// cookie and tags.
func plainTitle(title string, states []string) string {
	title = strings.TrimSpace(patterns().orgTags.ReplaceAllString(title, ""))
	m := patterns().orgDress.FindStringSubmatch(title)
	if m[1] == "" || slices.Contains(states, m[1]) {
		title = m[2]
	}
	return strings.TrimSpace(patterns().orgCookie.ReplaceAllString(title, ""))
}
