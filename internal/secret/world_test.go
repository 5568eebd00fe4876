package secret

import (
	"testing"

	"aisync.dev/aisync/internal/worldtest"
)

// judged are the texts of others that Find flags, each looked at by eye.
var judged = map[string]string{}

// Documentation is full of placeholders: none of them may keep a text from being
// imported.
func TestTextsOfOthersHoldNoSecret(t *testing.T) {
	texts := 0
	worldtest.Texts(t, "../../..", func(archive, name string, b []byte) {
		texts++
		text := string(b)
		for _, m := range Find(text) {
			at := archive + "/" + name
			if judged[at] == "" {
				t.Errorf("%s:%d: %s: %q", at, Line(text, m.Start), m.Kind, text[m.Start:min(m.End, m.Start+60)])
			}
		}
	}, "awesome-cursorrules", "wshobson-agents", "superpowers", "vercel-agent-skills", "claude-plugins-official")
	if texts < 1000 {
		t.Errorf("only %d texts were read", texts)
	}
}
