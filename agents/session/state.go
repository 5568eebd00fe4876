package session

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// commonDone are the common keywords of tasks that have ended.
var commonDone = []string{"DONE", "CANCELLED", "CANCELED", "FAILED"}

// keywords returns the keywords that a heading of an org file may have, and those
// of them that end a task. A file that declares keywords has no others.
func keywords(text string) (all, done []string) {
	for _, m := range patterns().orgStates.FindAllStringSubmatch(text, -1) {
		open, ended, bar := strings.Cut(m[1], "|")
		words, last := strings.Fields(open), strings.Fields(ended)
		if !bar && len(words) > 0 { // the last one ends a task
			words, last = words[:len(words)-1], words[len(words)-1:]
		}
		for i, word := range slices.Concat(words, last) {
			word, _, _ = strings.Cut(word, "(") // a selection key follows
			all = append(all, word)
			if i >= len(words) {
				done = append(done, word)
			}
		}
	}
	if len(all) > 0 {
		return all, done
	}
	return slices.DeleteFunc(slices.Clone(commonKeywords), func(w string) bool { return w == "COMMENT" }), commonDone
}

var statePatterns = sync.OnceValue(func() (p struct{ heading, logs, repeats, closed *regexp.Regexp }) {
	p.heading = regexp.MustCompile(`^(\x{FEFF}?\*+ +)([^ \t\r\n]*)([ \t]*)`)
	p.logs = regexp.MustCompile(`(?im)^#\+STARTUP:.*\blog(?:note)?done\b`)
	p.repeats = regexp.MustCompile(`<[^>\n]*[ \t](?:\.\+|\+\+|\+)[0-9]+[hdwmy][^>\n]*>`)
	p.closed = regexp.MustCompile(`[ \t]*CLOSED:[ \t]*\[[^\]\n]*\]`)
	return p
})

// withState returns a subtree of an org text with another keyword in its heading;
// "" is none. As org does, it removes CLOSED where a task is open again, and
// writes it where the file asks for that (#+STARTUP: logdone). A task that repeats
// is refused: its end moves its date.
func (e Edit) withState(text, subtree string, head int, eol string, now time.Time) (string, error) {
	all, done := keywords(text)
	state := *e.State
	if state != "" && !slices.Contains(all, state) {
		return "", fmt.Errorf("unknown state %q; this file has %s", state, strings.Join(all, ", "))
	}
	m := statePatterns().heading.FindStringSubmatch(subtree[:head])
	if m == nil {
		return "", fmt.Errorf("%q has no stars", e.Heading)
	}
	before, rest := m[2], subtree[len(m[0]):head]
	if !slices.Contains(all, before) && !slices.Contains(commonKeywords[:2], before) {
		before, rest = "", m[2]+m[3]+rest // the first word is of the title
	}
	if before == state {
		return subtree, nil
	}
	ends := slices.Contains(done, state)
	line := m[1] + state
	if state != "" && strings.Trim(rest, "\r\n") != "" {
		line += " "
	}
	line += rest
	body := subtree[head:]
	data := dataLen(body)
	if ends && statePatterns().repeats.MatchString(body[:data]) {
		return "", fmt.Errorf("%q repeats, and its end moves its date; change both with --old and --new", e.Heading)
	}
	return line + withClosed(body, data, ends, ends && !slices.Contains(done, before) && statePatterns().logs.MatchString(text), eol, now), nil
}

// withClosed returns the text below a heading, whose data are its first bytes,
// without CLOSED if the task has not ended, and with the time if write is set.
func withClosed(body string, data int, ended, write bool, eol string, now time.Time) string {
	if ended && !write {
		return body
	}
	var out strings.Builder
	stamp := "CLOSED: [" + now.Format("2006-01-02 Mon 15:04") + "]"
	for line := range strings.Lines(body[:data]) {
		if dataPatterns().planning.MatchString(strings.TrimRight(line, "\r\n")) {
			if bare := statePatterns().closed.ReplaceAllString(line, ""); bare != line {
				line = line[:len(line)-len(strings.TrimLeft(line, " \t"))] + strings.TrimLeft(bare, " \t")
				if strings.TrimSpace(bare) == "" {
					line = ""
				}
			}
			if write && line != "" { // org writes it first on the planning line
				text := strings.TrimLeft(line, " \t")
				line = line[:len(line)-len(text)] + stamp + " " + text
				write = false
			}
		}
		out.WriteString(line)
	}
	if write {
		return stamp + eol + out.String() + body[data:]
	}
	return out.String() + body[data:]
}
