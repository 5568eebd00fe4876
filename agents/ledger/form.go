package ledger

import "strings"

// The forms of names, ids and lines, each with the pattern that it is. Package regexp
// would do it, but begins late in the program (cmd/aisync/quick says why that
// matters), and the commands that agents call most need these forms.

func letterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func inKey(c byte) bool  { return letterOrDigit(c) || c == '_' || c == '-' }
func inName(c byte) bool { return inKey(c) || c == '.' }

// prefixOf returns the number of bytes at the start of s for which is holds.
func prefixOf(s string, is func(byte) bool) int {
	for i := range len(s) {
		if !is(s[i]) {
			return i
		}
	}
	return len(s)
}

// nameRun returns the length of the name at the start of s: [A-Za-z0-9][A-Za-z0-9._-]*
func nameRun(s string) int {
	if s == "" || !letterOrDigit(s[0]) {
		return 0
	}
	return prefixOf(s, inName)
}

// isAgentName reports ^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$
func isAgentName(s string) bool { return s != "" && len(s) <= 64 && nameRun(s) == len(s) }

// isMessageID reports ^msg_[A-Za-z0-9_-]{8,64}$
func isMessageID(s string) bool {
	rest, ok := strings.CutPrefix(s, "msg_")
	return ok && len(rest) >= 8 && len(rest) <= 64 && prefixOf(rest, inKey) == len(rest)
}

// configPair parses ^([A-Za-z0-9_-]+):\s*(.*)$ of a line without its end.
func configPair(line string) (key, value string, ok bool) {
	n := prefixOf(line, inKey)
	if n == 0 || n == len(line) || line[n] != ':' {
		return "", "", false
	}
	return line[:n], strings.TrimLeft(line[n+1:], space), true
}

// space is \s of a pattern.
const space = " \t\n\f\r"

// sentHead parses the heading of a message:
// ^## [^ ]+ — (NAME) → (NAME) \[([a-z]+)\]
func sentHead(heading string) (m Message, ok bool) {
	rest, ok := headBody(heading)
	if !ok {
		return m, false
	}
	n := nameRun(rest)
	m.From, rest = rest[:n], rest[n:]
	rest, ok = strings.CutPrefix(rest, " → ")
	n = nameRun(rest)
	if !ok || m.From == "" || n == 0 {
		return Message{}, false
	}
	m.To, rest = rest[:n], rest[n:]
	rest, ok = strings.CutPrefix(rest, " [")
	n = prefixOf(rest, func(c byte) bool { return c >= 'a' && c <= 'z' })
	if !ok || n == 0 || !strings.HasPrefix(rest[n:], "]") {
		return Message{}, false
	}
	m.Type = rest[:n]
	return m, true
}

// noteHead parses the heading of a note: ^## [^ ]+ — (NAME) \[note\]\s*$
func noteHead(heading string) (from string, ok bool) {
	rest, ok := headBody(heading)
	n := nameRun(rest)
	if !ok || n == 0 || strings.TrimRight(rest[n:], space) != " [note]" {
		return "", false
	}
	return rest[:n], true
}

// headBody returns what follows ^## [^ ]+ — in a heading.
func headBody(heading string) (string, bool) {
	rest, ok := strings.CutPrefix(heading, "## ")
	stamp, rest, found := strings.Cut(rest, " ")
	if !ok || !found || stamp == "" {
		return "", false
	}
	return strings.CutPrefix(rest, "— ")
}

// trailer finds what follows a body: a remark of block, or in an archive the start of
// the next inbox. An indented one is text: see escaped. It returns where it begins, -1
// without one, and the message that it names as answered:
// \n<!-- (?:reply-to: (msg_[A-Za-z0-9_-]+) -->|reply with: |cleared )
func trailer(body string) (at int, replyTo string) {
	const begin = "\n<!-- "
	for from := 0; ; {
		i := strings.Index(body[from:], begin)
		if i < 0 {
			return -1, ""
		}
		at = from + i
		rest := body[at+len(begin):]
		if strings.HasPrefix(rest, "reply with: ") || strings.HasPrefix(rest, "cleared ") {
			return at, ""
		}
		if id, ok := strings.CutPrefix(rest, "reply-to: "); ok && strings.HasPrefix(id, "msg_") {
			if n := prefixOf(id, inKey); n > len("msg_") && strings.HasPrefix(id[n:], " -->") {
				return at, id[:n]
			}
		}
		from = at + 1
	}
}

// reserved calls change with the backslashes at the start of each line of a body that
// a reader could take for an entry's heading or a remark of the ledger, and puts what
// it returns in their place. Other headings stay. JavaScript's patterns see a new line
// after any of four characters:
// (^|[\n\r\u2028\u2029])(\\*)(## [0-9]{4}-|<!--)
func reserved(body string, change func(slashes string) string) string {
	var b strings.Builder
	done := 0 // what is in b
	for at := 0; at >= 0; at = nextLine(body, at) {
		n := prefixOf(body[at:], func(c byte) bool { return c == '\\' })
		if rest := body[at+n:]; !strings.HasPrefix(rest, "<!--") && !isYear(rest) {
			continue
		}
		b.WriteString(body[done:at])
		b.WriteString(change(body[at : at+n]))
		done = at + n
	}
	if done == 0 && b.Len() == 0 {
		return body
	}
	b.WriteString(body[done:])
	return b.String()
}

// nextLine returns where the next line after at begins, -1 if at is in the last.
func nextLine(body string, at int) int {
	i := strings.IndexAny(body[at:], "\n\r\u2028\u2029")
	if i < 0 {
		return -1
	}
	if at += i; body[at] == '\n' || body[at] == '\r' {
		return at + 1
	}
	return at + len("\u2028")
}

// isYear reports ^## [0-9]{4}-
func isYear(line string) bool {
	const form = "## 0000-"
	if len(line) < len(form) {
		return false
	}
	for i := range len(form) {
		if c := line[i]; form[i] == '0' && (c < '0' || c > '9') || form[i] != '0' && c != form[i] {
			return false
		}
	}
	return true
}

// escaped puts a backslash before such lines: Markdown shows them unchanged. A
// line that already has one gets another, so that unescaped reverses it.
func escaped(body string) string {
	return reserved(body, func(slashes string) string { return slashes + `\` })
}

// unescaped reverses escaped.
func unescaped(text string) string {
	return reserved(text, func(slashes string) string { return strings.TrimPrefix(slashes, `\`) })
}
