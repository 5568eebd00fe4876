package gitea

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"aisync.dev/aisync/internal/termtext"
)

var (
	heading = regexp.MustCompile(`^#{1,6}[ \t]+(.*?)[ \t#]*$`)
	fence   = regexp.MustCompile("^[ \t]*(```+|~~~+)")
	item    = regexp.MustCompile(`^([ \t]*)(?:[-*+]|[0-9]+[.)])[ \t]+(?:\[([ xX])\][ \t]+)?(.*)$`)
	quoted  = regexp.MustCompile("`([^`]+)`")
	runs    = regexp.MustCompile("^(?i:run)(?::[ \t]*(.+)|[ \t]+`([^`]+)`.*)$")
)

// section is the text below one heading, or before the first one, which has no
// name.
type section struct{ name, text string }

// sections splits Markdown at its headings, in order. Headings in a code block do
// not count.
func sections(body string) []section {
	out := []section{{}}
	for line := range fencedLines(body) {
		if h := heading.FindStringSubmatch(line.text); h != nil && !line.fenced {
			out = append(out, section{name: strings.Trim(h[1], "*_: \t")})
			continue
		}
		out[len(out)-1].text += line.text + "\n"
	}
	return out
}

// line is one line of Markdown. The marks of a code block are fence and fenced.
type line struct {
	text          string
	fenced, fence bool
}

// fencedLines returns the lines of a text with their code blocks.
func fencedLines(text string) func(func(line) bool) {
	return func(yield func(line) bool) {
		open := ""
		for t := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
			l := line{text: strings.TrimRight(t, " \t\n")}
			f := fence.FindStringSubmatch(l.text)
			switch {
			case f != nil && open == "":
				open, l.fence = f[1], true
			case f != nil && strings.HasPrefix(f[1], open):
				open, l.fence, l.fenced = "", true, true
			}
			l.fenced = l.fenced || open != ""
			if !yield(l) {
				return
			}
		}
	}
}

// items returns the items of a list, with the lines that belong to them, and the
// lines that are in no item. A ticked item is one of those: it is done already.
func items(text string) (list, rest []string) {
	open, more, blank := false, false, true // more: the line before is in rest
	for l := range fencedLines(text) {
		indented := strings.HasPrefix(l.text, " ") || strings.HasPrefix(l.text, "\t")
		m := item.FindStringSubmatch(l.text)
		if l.fenced || m != nil && len(m[1]) > 3 {
			m = nil
		}
		switch {
		case m != nil:
			if open = !strings.EqualFold(m[2], "x") && m[3] != ""; open {
				list = append(list, strings.TrimSpace(m[3]))
			} else {
				rest = append(rest, l.text)
			}
			more = false
		case l.text == "":
		case open && (indented || !blank && !l.fenced):
			list[len(list)-1] += "\n" + strings.TrimSpace(l.text)
		case more && !blank:
			rest[len(rest)-1] += "\n" + l.text
		default:
			open, more = false, true
			rest = append(rest, l.text)
		}
		blank = l.text == ""
	}
	return list, rest
}

// commands returns the commands of Verify: the lines of its code blocks, or,
// without one, the items of its list; the lines that are none, and the items that
// are more than a command.
func commands(text string) (out, rest, partly []string) {
	var prose []string
	for l := range fencedLines(text) {
		switch t := strings.TrimSpace(l.text); {
		case t == "" || l.fence:
		case !l.fenced:
			prose = append(prose, t)
		case !strings.HasPrefix(t, "#"):
			out = append(out, strings.TrimPrefix(t, "$ "))
		}
	}
	if out != nil {
		return out, prose, nil
	}
	list, rest := items(text)
	for _, i := range list {
		command, all := command(i)
		out = append(out, command)
		if !all {
			partly = append(partly, i)
		}
	}
	return out, rest, partly
}

// command returns the command of an item, and whether it is all of the item.
func command(i string) (string, bool) {
	if m := runs.FindStringSubmatch(i); m != nil {
		return strings.Trim(m[1]+m[2], "` "), strings.HasSuffix(strings.TrimRight(i, "` ."), strings.Trim(m[1]+m[2], "` ."))
	}
	if m := quoted.FindStringSubmatch(i); m != nil && strings.HasPrefix(i, "`") {
		return m[1], strings.Trim(i[len(m[0]):], " .;") == ""
	}
	return i, true
}

// firstFile returns the first text in backquotes that looks like a file.
func firstFile(s string) string {
	for _, m := range quoted.FindAllStringSubmatch(s, -1) {
		if looksLikeFile(m[1]) {
			return m[1]
		}
	}
	return ""
}

func looksLikeFile(p string) bool {
	return literalFile(p) && (strings.Contains(p, "/") || path.Ext(p) != "" || p == strings.ToUpper(p))
}

// literalFile reports whether a glob names one file.
func literalFile(p string) bool {
	return !strings.ContainsAny(p, " \t*?[]{}()<>\\:;,\"'|&$=") && !strings.HasSuffix(p, "/")
}

// mentions returns the files that a text names in backquotes, outside of code
// blocks.
func mentions(text string) (out []string) {
	for l := range fencedLines(text) {
		for _, m := range quoted.FindAllStringSubmatch(l.text, -1) {
			if !l.fenced && looksLikeFile(m[1]) {
				out = appendNew(out, m[1])
			}
		}
	}
	return out
}

// onlyCommand is the note of an item of which the task has the command alone.
func onlyCommand(i string) string { return "the words of " + shown(i) + " beside the command" }

// shown returns a text in one line and quotes, shortened.
func shown(s string) string {
	return fmt.Sprintf("%q", termtext.Clip(termtext.OneLine(s), 100))
}
