package session

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/internal/termtext"
)

// dataPatterns match the lines below an org heading that are its data rather than
// its text.
var dataPatterns = sync.OnceValue(func() (p struct{ planning, clock, drawer, end *regexp.Regexp }) {
	p.planning = regexp.MustCompile(`^[ \t]*(?:(?:SCHEDULED|DEADLINE|CLOSED):[ \t]*(?:<[^>\n]*>(?:--<[^>\n]*>)?|\[[^\]\n]*\])[ \t]*)+$`)
	p.clock = regexp.MustCompile(`^[ \t]*CLOCK:[ \t]`)
	p.drawer = regexp.MustCompile(`^[ \t]*:([\pL\pN_-]+):[ \t]*$`)
	p.end = regexp.MustCompile(`(?i)^[ \t]*:END:[ \t]*$`)
	return p
})

// dataLen returns the length of the planning lines, drawers and clock lines with
// which the text below an org heading begins.
func dataLen(body string) int {
	kept, at, open := 0, 0, false
	for line := range strings.Lines(body) {
		bare := strings.TrimRight(line, "\r\n")
		at += len(line)
		switch {
		case open:
			if dataPatterns().end.MatchString(bare) {
				open, kept = false, at
			}
		case isDrawer(bare):
			open = true
		case isPlanning(bare):
			kept = at
		case strings.TrimSpace(bare) != "": // an empty line may stand between two of them
			return kept
		}
	}
	return kept
}

func isDrawer(line string) bool {
	return dataPatterns().drawer.MatchString(line) && !dataPatterns().end.MatchString(line)
}

func isPlanning(line string) bool {
	return dataPatterns().planning.MatchString(line) || dataPatterns().clock.MatchString(line)
}

// dataIn returns the lines of an org text that are a heading's data: drawers with
// what they hold, planning and clock lines. A drawer that does not end is text.
func dataIn(text string) []string {
	var found, drawer []string
	block := "" // the end of an open block, whose lines are text
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		lower := strings.ToLower(bare)
		switch {
		case block != "":
			if lower == block {
				block = ""
			}
		case drawer != nil:
			drawer = append(drawer, bare)
			if dataPatterns().end.MatchString(bare) {
				found, drawer = append(found, drawer...), nil
			}
		case strings.HasPrefix(lower, "#+begin_"):
			name, _, _ := strings.Cut(lower[len("#+begin_"):], " ")
			block = "#+end_" + name
		case isDrawer(bare):
			drawer = []string{bare}
		case isPlanning(bare):
			found = append(found, bare)
		}
	}
	return found
}

// withBody returns the text below a heading with its text replaced, and keeps what
// else stands there: in org planning lines, drawers and clock lines, and all
// sub-headings. children are those of the subtree, offsets in it; head is the
// length of its heading's line. It refuses what it could not keep.
func (e Edit) withBody(subtree, body string, head int, org bool, eol string, native func(string) string) (string, error) {
	own := len(body)
	var children []Subtree
	if all := Subtrees(subtree, org); len(all) > 1 {
		children = all[1:]
		own = children[0].Start - head
	}
	text := native(*e.Body)
	if len(children) > 0 && len(Subtrees(text, org)) > 0 {
		return "", fmt.Errorf("%q has sub-headings, which stay, and the new body has headings too; give its text alone, and add headings with --append", e.Heading)
	}
	data := 0
	if org {
		data = dataLen(body[:own])
		if given := dataLen(text); given > 0 && data > 0 {
			if !slices.Equal(dataIn(text[:given]), dataIn(body[:data])) {
				return "", fmt.Errorf("%q has planning lines or drawers, which stay; give the text below them alone, or replace them with --old and --new", e.Heading)
			}
			text = strings.TrimLeft(text[given:], "\r\n")
		}
		kept := dataIn(text)
		for _, line := range dataIn(body[data:own]) {
			if !slices.Contains(kept, line) {
				return "", fmt.Errorf("the text of %q holds %q, which the new body lacks; keep that line in it, or replace a part with --old and --new", e.Heading, termtext.Clip(line, 60))
			}
		}
	}
	last := data + trimmedLen(body[data:own]) // empty lines before what follows stay
	return body[:data] + terminated(text, eol) + body[last:], nil
}
