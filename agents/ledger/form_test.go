package ledger

import (
	"regexp"
	"testing"
)

// FuzzForms compares the forms with the patterns that their comments have.
func FuzzForms(f *testing.F) {
	const name = `[A-Za-z0-9][A-Za-z0-9._-]*`
	agent, id := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`), regexp.MustCompile(`^msg_[A-Za-z0-9_-]{8,64}$`)
	pair := regexp.MustCompile(`^([A-Za-z0-9_-]+):\s*(.*)$`)
	sent, note := regexp.MustCompile(`^## [^ ]+ — (`+name+`) → (`+name+`) \[([a-z]+)\]`), regexp.MustCompile(`^## [^ ]+ — (`+name+`) \[note\]\s*$`)
	remark := regexp.MustCompile(`\n<!-- (?:reply-to: (msg_[A-Za-z0-9_-]+) -->|reply with: |cleared )`)
	bare := regexp.MustCompile("(^|[\n\r\u2028\u2029])(\\\\*)(## [0-9]{4}-|<!--)")
	slashed := regexp.MustCompile("(^|[\n\r\u2028\u2029])\\\\(\\\\*)(## [0-9]{4}-|<!--)")
	for _, s := range []string{
		"", "a", "-a", "a.b_c-d", "a b", "msg_0123456789abcdef", "msg_0123456", "msg_é1234567", "version: 1", "a:\t b \r", ":x", "é: 1", "a : 1",
		"## 2026-11-21T07:47:44.919Z — pi → codex [handoff] {#msg_0123456789abcdef}", "## x — pi → codex [Handoff]", "## x — pi → .c [a]", "## x — pi -> c [a]", "##  — a → b [c]", "## x — a [note] \t", "## x — a [note]b", "## x — [note]",
		"x\n<!-- reply-to: msg_a -->", "\n<!-- reply-to: msg_ -->\n<!-- cleared x", "\n<!-- reply-to: msg_a->\n <!-- cleared ", "<!-- reply with: \n<!-- reply with: y", "\n<!-- \n<!-- reply-to: msg_b --> ",
		"## 2026-\n\\## 2026-\r\\\\<!-- x\u2028## 1234-\u2029<!--\n\n<!--", "\\", "\\<!--", "## 202-\n ## 2026-", "a\xe2\x80<!--\xff\n<!--",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		check := func(what string, got, want any) {
			t.Helper()
			if got != want {
				t.Errorf("%s of %q: %q, want %q", what, s, got, want)
			}
		}
		check("agent", isAgentName(s), agent.MatchString(s))
		check("id", isMessageID(s), id.MatchString(s))
		group := func(m []string, i int) string {
			if m == nil {
				return ""
			}
			return m[i]
		}
		m := pair.FindStringSubmatch(s)
		if key, value, ok := configPair(s); m != nil || !ok { // a line has no end in it
			check("pair", ok, m != nil)
			check("key", key, group(m, 1))
			check("value", value, group(m, 2))
		}
		m = sent.FindStringSubmatch(s)
		head, ok := sentHead(s)
		check("sent", ok, m != nil)
		check("sent", head.From+" "+head.To+" "+head.Type, group(m, 1)+" "+group(m, 2)+" "+group(m, 3))
		m = note.FindStringSubmatch(s)
		from, ok := noteHead(s)
		check("note", ok, m != nil)
		check("note", from, group(m, 1))
		begin, answered := -1, ""
		if at := remark.FindStringSubmatchIndex(s); at != nil {
			if begin = at[0]; at[2] >= 0 {
				answered = s[at[2]:at[3]]
			}
		}
		at, replyTo := trailer(s)
		check("trailer", at, begin)
		check("answered", replyTo, answered)
		check("escaped", escaped(s), bare.ReplaceAllString(s, `$1\$2$3`))
		check("unescaped", unescaped(s), slashed.ReplaceAllString(s, `$1$2$3`))
	})
}
