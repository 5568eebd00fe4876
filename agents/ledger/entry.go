package ledger

import (
	"fmt"
	"strings"
)

// Entry is one message or note in a Markdown file of the ledger.
type Entry struct {
	TS   string
	ID   string // "" for a note of the blackboard
	Text string // the block from its heading on, without trailing empty lines
}

// message parses an entry that is a message.
func (e Entry) message() (Message, bool) {
	heading, body, _ := strings.Cut(e.Text, "\n")
	m, ok := sentHead(heading)
	if !ok {
		return m, false
	}
	if at, replyTo := trailer(body); at >= 0 {
		m.ReplyTo, body = replyTo, body[:at]
	}
	m.Body = unescaped(trimmed(body))
	return m, true
}

// note parses an entry that is a note.
func (e Entry) note() (from, body string, ok bool) {
	heading, body, _ := strings.Cut(e.Text, "\n")
	if from, ok = noteHead(heading); !ok {
		return "", "", false
	}
	return from, unescaped(strings.TrimPrefix(body, "\n")), true
}

// block returns the text of one entry to append: an empty line, the heading, an
// empty line, the body, and for a message that wants an answer how to send it.
func block(ts, from, to, kind, id, replyTo, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s — %s", ts, from)
	if to != "" {
		fmt.Fprintf(&b, " → %s", to)
	}
	fmt.Fprintf(&b, " [%s]", kind)
	if id != "" {
		fmt.Fprintf(&b, " {#%s}", id)
	}
	fmt.Fprintf(&b, "\n\n%s", escaped(trimmed(body)))
	if replyTo != "" {
		fmt.Fprintf(&b, "\n\n<!-- reply-to: %s -->", replyTo)
	}
	if actionable(kind) && to != "" && id != "" {
		fmt.Fprintf(&b, "\n\n<!-- reply with: ensemble send %s \"<result>\" --from %s --type result --reply-to %s -->", from, to, id)
	}
	b.WriteString("\n")
	return b.String()
}

// entries returns the blocks of an inbox or a blackboard, without the text
// before the first heading.
func entries(text string) []Entry {
	var out []Entry
	start := -1
	flush := func(end int) {
		if start >= 0 {
			out[len(out)-1].Text = strings.TrimRight(text[start:end], "\r\n\t ")
		}
	}
	at := 0
	for line := range strings.Lines(text) {
		if ts, id, ok := heading(line); ok {
			flush(at)
			out, start = append(out, Entry{TS: ts, ID: id}), at
		}
		at += len(line)
	}
	flush(len(text))
	return out
}
