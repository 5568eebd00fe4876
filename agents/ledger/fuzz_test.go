package ledger

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A line is a record exactly where encoding/json reads it as an object with an
// action, and the fields are those that it finds.
func FuzzEvent(f *testing.F) {
	for _, s := range []string{
		`{"ts":"2026-11-21T07:47:44.919Z","action":"init","actor":"pi","root":"/project"}`,
		`{"ts":"t","action":"claim","agent":"pi","path":"/a","previous":{"agent":"b","since":"c"},"force":true}`,
		`{"action":"note","body":"\u00e9\ud83d\ude00\n\"\\"}`, `{"action":"x","body":"\q"}`, `{"action":null}`, `{"action":"a","n":[1,{"b":"]"}]}`,
		`{"action":"a","action":"b"}`, `null`, `{}`, `[]`, `{"a`, `{"action":"a"}x`, "\t{ \"action\" :\t\"a\"\r}", `{"action":"a","force":01}`, `{"action":"a","to":5}`,
		`{"action":"a","from":"` + "\xff" + `"}`, `{"action":"a","x":tru}`, `{"action":"a",}`, `{"action":"a" "b":1}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e := parseEvent([]byte(line))
		var want map[string]json.RawMessage
		err := json.Unmarshal([]byte(line), &want)
		var action string
		isRecord := err == nil && want != nil
		for _, key := range []string{"ts", "action", "agent", "from", "to", "type", "body", "messageId", "replyTo", "path", "by", "reason", "archivedTo"} {
			var s *string
			if v, there := want[key]; there && json.Unmarshal(v, &s) != nil {
				isRecord = false
			} else if key == "action" && s != nil {
				action = *s
			}
		}
		isRecord = isRecord && action != ""
		// A key may be written with escapes, and of one that is there twice both
		// values count: neither is ever written.
		if strings.Contains(line, `\u`) || strings.Count(line, `"action"`) != 1 {
			return
		}
		if (e.Malformed == nil) != isRecord && !doubledKey([]byte(line)) {
			t.Errorf("%q: %v, and encoding/json says %v, %v", line, e.Malformed, isRecord, err)
		}
		if e.Malformed == nil && e.Action != action {
			t.Errorf("%q: action %q, want %q", line, e.Action, action)
		}
	})
}

func doubledKey(line []byte) bool {
	seen, twice := map[string]bool{}, false
	_ = fields(line, func(key, _ []byte) error { twice = twice || seen[string(key)]; seen[string(key)] = true; return nil })
	return twice
}

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

// What is no object is refused; what is one means the same when it is written.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{
		"{}", "{}\n", `{"/a":{"agent":"pi","since":"x"}}`, `{"a":1,"a":2}`, `{"a":{"b":[1.50,"\u00e9",null]}}`, "", "null", "[]", `{"a":1}{`, `{"a":1} x`, `{"a"`, "{\"\\ud800\":1}", `{"a":"` + "\xff" + `"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := members([]byte(text))
		var want map[string]any
		if valid := json.Unmarshal([]byte(text), &want) == nil && want != nil; valid != (err == nil) {
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil || !utf8.ValidString(text) {
			return
		}
		again, err := members(o.text())
		if err != nil || !bytes.Equal(again.text(), o.text()) || len(again) != len(want) {
			t.Fatalf("%q became %q: %v", text, o.text(), err)
		}
		if i := again.index("no such key"); i < 0 && len(o.with("no such key", json.RawMessage("1")).without("no such key")) != len(o) {
			t.Error("with and without are no opposites")
		}
		_ = claimsOf(o)
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

// quote is JSON.stringify: encoding/json reads back what was quoted.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a\"\\\b\f\n\r\t\x01\x7f\u2028<>&é😀", "\xff\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal([]byte(quote(s)), &back); err != nil || back != strings.ToValidUTF8(s, "\uFFFD") && utf8.ValidString(s) {
			t.Errorf("%q: %q %v", s, back, err)
		}
		if got, ok := unquote([]byte(quote(s))); !ok || got != back {
			t.Errorf("%q: %q", s, got)
		}
	})
}
