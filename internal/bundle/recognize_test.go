package bundle

import (
	"fmt"
	"strings"
	"testing"
)

func TestBundlesAreRecognizedByTheNamesThatAreTheirsAlone(t *testing.T) {
	tree := unpack(t, `
-- claude-rules/commits.md --
# Commits
-- languages/elisp/claude/rules/elisp.md --
# Elisp
-- languages/elisp/claude/rules/testing.md --
# Testing
-- languages/go/common/rules/go.md --
# Go
-- languages/go/common/rules/testing.md --
# Testing
-- teams/us/runtimes/claude/rules/us.md --
# Us
-- languages/none/CLAUDE.md --
# No rules
`)
	for there, want := range map[string]string{
		"commits.md":            "[]",
		"testing.md":            "[]",
		"elisp.md,testing.md":   "[{language elisp [elisp.md] 2}]",
		"go.md,elisp.md,us.md":  "[{language elisp [elisp.md] 2} {language go [go.md] 2} {team us [us.md] 1}]",
		"GO.md,mine.md,none.md": "[]",
	} {
		got, err := tree.Recognize(strings.Split(there, ","))
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v; want %s", there, got, err, want)
		}
	}
}
