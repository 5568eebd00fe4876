package ledger

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Entry is one message or note in a Markdown file of the ledger.
type Entry struct {
	TS   string
	ID   string // "" for a note of the blackboard
	Text string // the block from its heading on, without trailing empty lines
}

// lazyPattern compiles a pattern on first use: most commands need none, and together
// they cost half a millisecond at start.
func lazyPattern(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// head matches the heading of an entry: the original's pattern.
var head = lazyPattern(`^## ([0-9]{4}-[0-9]{2}-[0-9]{2}T[^ ]+) — .*?(?:\{#(msg_[A-Za-z0-9_-]+)\})?\s*$`)

// sentHead parses the heading of a message: sender, receiver, type; noteHead
// parses that of a note.
var sentHead = lazyPattern(`^## [^ ]+ — ([A-Za-z0-9][A-Za-z0-9._-]*) → ([A-Za-z0-9][A-Za-z0-9._-]*) \[([a-z]+)\]`)

var noteHead = lazyPattern(`^## [^ ]+ — ([A-Za-z0-9][A-Za-z0-9._-]*) \[note\]\s*$`)

// trailer matches what follows a body: a remark of block, or in an archive the
// start of the next inbox. An indented one is text: see escaped.
var trailer = lazyPattern(`\n<!-- (?:reply-to: (msg_[A-Za-z0-9_-]+) -->|reply with: |cleared )`)

// message parses an entry that is a message.
func (e Entry) message() (Message, bool) {
	heading, body, _ := strings.Cut(e.Text, "\n")
	h := sentHead().FindStringSubmatch(heading)
	if h == nil {
		return Message{}, false
	}
	m := Message{From: h[1], To: h[2], Type: h[3]}
	if at := trailer().FindStringSubmatchIndex(body); at != nil {
		if at[2] >= 0 {
			m.ReplyTo = body[at[2]:at[3]]
		}
		body = body[:at[0]]
	}
	m.Body = unescaped(trimmed(body))
	return m, true
}

// note parses an entry that is a note.
func (e Entry) note() (from, body string, ok bool) {
	heading, body, _ := strings.Cut(e.Text, "\n")
	h := noteHead().FindStringSubmatch(heading)
	if h == nil {
		return "", "", false
	}
	return h[1], unescaped(strings.TrimPrefix(body, "\n")), true
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

// reserved matches the start of a body's line that a reader could take for an
// entry's heading or a remark of the ledger. Other headings stay. JavaScript's
// patterns see a new line after any of these four.
var (
	reserved        = lazyPattern("(^|[\n\r\u2028\u2029])(\\\\*)(## [0-9]{4}-|<!--)")
	escapedReserved = lazyPattern("(^|[\n\r\u2028\u2029])\\\\(\\\\*)(## [0-9]{4}-|<!--)")
)

// escaped puts a backslash before such lines: Markdown shows them unchanged. A
// line that already has one gets another, so that unescaped reverses it.
func escaped(body string) string { return reserved().ReplaceAllString(body, `$1\$2$3`) }

// plain reverses escaped.
func unescaped(text string) string { return escapedReserved().ReplaceAllString(text, `$1$2$3`) }

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
		if m := head().FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil && strings.HasPrefix(line, "## ") {
			flush(at)
			out, start = append(out, Entry{TS: m[1], ID: m[2]}), at
		}
		at += len(line)
	}
	flush(len(text))
	return out
}
