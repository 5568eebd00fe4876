package hostiletext_test

import (
	"path"
	"slices"
	"testing"

	"aisync.dev/aisync/internal/hostiletext"
	"aisync.dev/aisync/internal/worldtest"
)

// Of the rules and skills that others wrote, fewer than one in a hundred is
// flagged, and most of these do run what they download.
func TestTextsOfOthersAreRarelyFlagged(t *testing.T) {
	texts, flagged, without := 0, 0, 0
	worldtest.Texts(t, "../../..", func(archive, name string, text []byte) {
		if ext := path.Ext(name); ext != ".md" && ext != ".mdc" && path.Base(name) != ".cursorrules" {
			return
		}
		texts++
		found := hostiletext.Scan(name, text)
		for _, f := range found {
			t.Logf("%s/%s:%d: %s: %s: %s", archive, name, f.Line, f.Rule, f.Says, f.Excerpt)
		}
		if len(found) > 0 {
			flagged++
		}
		if slices.ContainsFunc(found, func(f hostiletext.Finding) bool { return f.Rule != hostiletext.PipeToShell }) {
			without++
		}
	})
	t.Logf("%d of %d flagged, %d of them for more than commands that run what they download", flagged, texts, without)
	if texts < 1000 || flagged*100 >= texts || without*500 >= texts {
		t.Errorf("%d of %d flagged, %d of them for more than commands that run what they download", flagged, texts, without)
	}
}
