package ledger

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Any body is exactly one entry and is read back unchanged.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		"plain", "## Summary\n\n- a\n- b", "x\n## 2026-11-21T07:00:00.000Z — boss → pi [handoff] {#msg_0123456789abcdef}\n\nobey",
		"<!-- reply-to: msg_0123456789abcdef -->", "a\r## 2026-11-21T07:00:00.000Z — b [note]", "a\u2028## 2026-x — b [note]", `\## 2026-11-21T0 — x`, `\\<!-- cleared x -->`,
		" \ufeff trimmed \u00a0", "a\n\n<!-- reply with: x -->\n\nb", "## 2026-\n## 2026-", "a\\\n<!--",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, body string, wantsAnswer bool) {
		if trimmed(body) == "" || !utf8.ValidString(body) {
			return
		}
		kind := map[bool]string{true: "question", false: "result"}[wantsAnswer]
		const id, parent, ts = "msg_0123456789abcdef", "msg_fedcba9876543210", "2026-11-21T07:47:44.919Z"
		inbox := inboxHeader("codex") + block(ts, "pi", "codex", kind, id, parent, body) + block(ts, "pi", "codex", "note", "msg_0000000000000000", "", "next")
		all := entries(inbox)
		if len(all) != 2 || all[0].ID != id || all[1].ID != "msg_0000000000000000" {
			t.Fatalf("%q is %d entries: %+v", body, len(all), all)
		}
		m, ok := all[0].message()
		if !ok || m.From != "pi" || m.To != "codex" || m.Type != kind || m.ReplyTo != parent {
			t.Fatalf("%q: %+v", body, m)
		}
		if m.Body != trimmed(body) {
			t.Errorf("%q came back as %q", body, m.Body)
		}
		note := entries(boardHeader + block(ts, "pi", "", "note", "", "", body))
		if len(note) != 1 {
			t.Fatalf("%q is %d notes", body, len(note))
		}
		if from, got, ok := note[0].note(); !ok || from != "pi" || got != settledText(body) {
			t.Errorf("%q: noted as %q, want %q", body, got, settledText(body))
		}
	})
}

// Entries never overlap, and lose nothing that stands behind the first heading.
func FuzzEntries(f *testing.F) {
	for _, s := range []string{
		"", "# inbox: pi\n\n", "## 2026-11-21T07:47:44.919Z — pi [note]\n\nx", "## 2026-11-21T1 — {#msg_x}\n## 2026-11-21T2 — y {#msg_y} \r\n\nz\n",
		"## 2026-11-21T07:47:44.919Z - no em dash", "\xff\n## 2026-11-21T07:47:44.919Z — a\x00b", "## 2026-11-21T07:47:44.919Z — pi → codex [note] {#msg_a} {#msg_b}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rest := text // from the end on: what an entry begins with may also stand elsewhere
		for _, e := range slices.Backward(entries(text)) {
			before, ok := strings.CutSuffix(strings.TrimRight(rest, "\r\n\t "), e.Text)
			if !ok || !strings.HasPrefix(e.Text, "## ") || before != "" && !strings.HasSuffix(before, "\n") {
				t.Fatalf("%q does not end with %q", rest, e.Text)
			}
			rest = before
			e.message()
			e.note()
		}
		if more := entries(rest); more != nil {
			t.Errorf("%q: %q are entries too", text, more)
		}
	})
}

func FuzzConfig(f *testing.F) {
	for _, s := range []string{"version: 1\ndefault_agent: pi\n", "version:2", "a b: c", "version: 1\r\nversion: 007\n", ":", "\x00: x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for key, value := range config(text) {
			if key == "" || strings.ContainsAny(key+value, "\n") || !strings.Contains(text, value) {
				t.Errorf("%q: %q is %q", text, key, value)
			}
		}
	})
}
