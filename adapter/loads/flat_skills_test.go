package loads

import (
	"testing"

	"aisync.dev/aisync/schema/spec"
)

// OpenHands reads skills that are one file: one with triggers waits for its words.
func TestARuleWithTriggersWaitsForThem(t *testing.T) {
	r := spec.RuleScope{Field: "paths", OnRequest: "triggers", Globs: spec.Globs{Syntax: "path"}}
	for text, want := range map[string]When{
		"---\nname: a\ntriggers:\n- run eval\n---\nText.\n":      OnRequest,
		"---\nname: a\ntriggers: []\n---\nText.\n":               AtStart,
		"---\nname: a\ndescription: Always there.\n---\nText.\n": AtStart,
		"---\npaths: [\"x/**\"]\ntriggers: [eval]\n---\nText.\n": OnPath,
		"Text.\n": AtStart,
	} {
		if got := scopeOf(&r, []byte(text)); got.when != want {
			t.Errorf("%q is loaded %v, want %v", text, got.when, want)
		}
	}
}
