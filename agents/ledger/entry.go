package ledger

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Entry is one message or note as a Markdown file of the ledger holds it.
type Entry struct {
	TS   string
	ID   string // "" for a note of the blackboard
	Text string // the whole block, from its heading on, without the empty lines behind it
}

// lazily compiles a pattern when it is first used: most commands need none, and
// all together they cost half a millisecond at every start.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// head finds the heading of an entry: the original's pattern.
var head = lazily(`^## ([0-9]{4}-[0-9]{2}-[0-9]{2}T[^ ]+) — .*?(?:\{#(msg_[A-Za-z0-9_-]+)\})?\s*$`)

// sentHead takes the heading of a message apart: sender, receiver, type;
// noteHead that of a note.
var sentHead = lazily(`^## [^ ]+ — ([A-Za-z0-9][A-Za-z0-9._-]*) → ([A-Za-z0-9][A-Za-z0-9._-]*) \[([a-z]+)\]`)

var noteHead = lazily(`^## [^ ]+ — ([A-Za-z0-9][A-Za-z0-9._-]*) \[note\]\s*$`)

// remark finds what stands behind a body: what block has put there, or in an
// archive the beginning of the next inbox. An indented one is text: see escaped.
var remark = lazily(`\n<!-- (?:reply-to: (msg_[A-Za-z0-9_-]+) -->|reply with: |cleared )`)

// message takes an entry apart that is a message.
func (e Entry) message() (Message, bool) {
	heading, body, _ := strings.Cut(e.Text, "\n")
	h := sentHead().FindStringSubmatch(heading)
	if h == nil {
		return Message{}, false
	}
	m := Message{From: h[1], To: h[2], Type: h[3]}
	if at := remark().FindStringSubmatchIndex(body); at != nil {
		if at[2] >= 0 {
			m.ReplyTo = body[at[2]:at[3]]
		}
		body = body[:at[0]]
	}
	m.Body = plain(trimmed(body))
	return m, true
}

// note takes an entry apart that is a note.
func (e Entry) note() (from, body string, ok bool) {
	heading, body, _ := strings.Cut(e.Text, "\n")
	h := noteHead().FindStringSubmatch(heading)
	if h == nil {
		return "", "", false
	}
	return h[1], plain(strings.TrimPrefix(body, "\n")), true
}

// block is the text of one entry as it is appended: an empty line, the heading,
// an empty line, the body, and for a message that wants an answer how to give it.
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

// forged finds the beginning of a line in a body that a reader could take for
// the heading of an entry, or for a remark of the ledger's own. Any other
// heading stays as it is. JavaScript's patterns see a new line behind any of
// these four.
var (
	forged   = lazily("(^|[\n\r\u2028\u2029])(\\\\*)(## [0-9]{4}-|<!--)")
	shielded = lazily("(^|[\n\r\u2028\u2029])\\\\(\\\\*)(## [0-9]{4}-|<!--)")
)

// escaped puts a backslash before them: Markdown shows the line as it was meant.
// One that a body has there already gets another, so that plain is its reverse.
func escaped(body string) string { return forged().ReplaceAllString(body, `$1\$2$3`) }

// plain is the body that escaped was given.
func plain(text string) string { return shielded().ReplaceAllString(text, `$1$2$3`) }

// entries reads the blocks of an inbox or a blackboard. What precedes the first
// heading is not one.
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
