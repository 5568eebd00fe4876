package adapter

import (
	"strings"
	"testing"
)

const aroundIt = `
-- languages/a/hooks/hooks.json --
{"hooks": [
  {"event": "SessionStart", "command": "ready.sh --quick", "level": "required", "timeout": 5},
  {"event": "Stop", "command": "make check"},
  {"event": "PreToolUse", "tools": ["shell"], "command": "true"}
]}
-- languages/a/hooks/ready.sh --
#!/bin/sh
`

func TestTheLauncherGetsTheHooksOfProgramsThatHaveNone(t *testing.T) {
	d, err := neutralProject(t, aroundIt, "aider", "claude", "local-openai")
	if err != nil {
		t.Fatal(err)
	}
	tree := written(t, d.Declarations)
	want := `{"checks":[` +
		`{"event":"SessionStart","command":".agents/hooks/ready.sh --quick","required":true,"timeout":5,"runtimes":["aider","local-openai"]},` +
		`{"event":"Stop","command":"make check","required":false,"runtimes":["aider","local-openai"]}` +
		`],"format_version":"1.0"}` + "\n"
	if got := tree[ChecksFile]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, ok := tree[".agents/hooks/ready.sh"]; !ok {
		t.Errorf("the program that it calls is not there: %v", tree)
	}
	for _, says := range []string{
		"warning: the required hook SessionStart ready.sh --quick of s//a is not run by aider, local-openai but by ai: start it with ai",
	} {
		if !strings.Contains(show(d), says) {
			t.Errorf("does not say %q:\n%s", says, show(d))
		}
	}
}
