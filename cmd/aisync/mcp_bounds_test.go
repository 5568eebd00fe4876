package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// A long answer comes in parts that a model is shown whole. They are those of the one
// call: mail that counts as read is not lost.
func TestMCPAnswersAreBounded(t *testing.T) {
	p := newPerson(t)
	p.ledger(t, "init")
	amp := p.mcpProgram(t, "--runtime", "amp")
	amp.refused("more", nil, "there is no more")
	long := strings.Repeat("größer als ein Teil\n", 6000)
	other := p.mcpProgram(t)
	other.must("send", map[string]any{"to": "amp", "text": long, "type": "note"})
	var whole strings.Builder
	parts := 0
	for texts := amp.must("inbox", nil); ; texts = amp.must("more", nil) {
		parts++
		if n := len(strings.Join(texts, "")); n > 50_000 {
			t.Errorf("part %d has %d bytes", parts, n)
		}
		whole.WriteString(texts[0])
		if len(texts) == 1 {
			break
		}
		if !strings.Contains(texts[1], "Call more for the next part") {
			t.Errorf("it says %q", texts[1])
		}
	}
	var inbox struct{ Content string }
	if err := json.Unmarshal([]byte(whole.String()), &inbox); err != nil || parts < 3 || strings.Count(inbox.Content, "größer als ein Teil") != 6000 {
		t.Errorf("%d parts, %v: %.200s", parts, err, whole.String())
	}
	if texts := amp.must("inbox", nil); strings.Contains(texts[0], "Teil") {
		t.Error("it is unread still")
	}
	amp.refused("more", nil, "there is no more")
}
