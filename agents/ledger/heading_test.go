package ledger

import (
	"regexp"
	"strings"
	"testing"
)

// FuzzHeading compares heading with the original's pattern.
func FuzzHeading(f *testing.F) {
	pattern := regexp.MustCompile(`^## ([0-9]{4}-[0-9]{2}-[0-9]{2}T[^ ]+) — .*?(?:\{#(msg_[A-Za-z0-9_-]+)\})?\s*$`)
	for _, line := range []string{
		"## 2026-11-21T07:47:44.919Z — pi → codex [handoff] {#msg_0123456789abcdef}\n",
		"## 2026-11-21T07:47:44.919Z — pi [note]\r\n",
		"## 2026-11-21Tx — ",
		"## 2026-11-21T — pi",
		"## 2026-11-21Tx —pi",
		"## 2026-11-21T\xff — {#msg_{#msg_a} \t\n",
		"## 2026-11-21Tx — {#msg_a} b",
		"## 2026-11-21Tx — {#msg_}",
		"## 2026-11-21Tx — {#msg_é}",
		"##  2026-11-21Tx — a",
		"## 2026/11/21Tx — a",
		"## 20x6-11-21Tx — a",
		"## 2026-11-21Tx — {#msg_a}}",
		"# 2026-11-21Tx — a",
		"## 2026-11-21Tx",
		"## ",
		"",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		line, _, _ = strings.Cut(line, "\n")
		m := pattern.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		ts, id, ok := heading(line)
		if ok != (m != nil) || ok && (ts != m[1] || id != m[2]) {
			t.Errorf("%q: %q %q %v, want %q", line, ts, id, ok, m)
		}
	})
}
