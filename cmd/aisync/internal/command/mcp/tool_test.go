package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func named(t *testing.T, name string) tool {
	t.Helper()
	i := slices.IndexFunc(tools, func(tool tool) bool { return tool.name == name })
	if i < 0 {
		t.Fatalf("there is no tool %s", name)
	}
	return tools[i]
}

// What a model writes is never a flag of a command.
func TestWordsKeepTextsOutOfFlags(t *testing.T) {
	for _, c := range []struct{ tool, arguments, want string }{
		{"send", `{"to": "--root=/", "text": "--from x", "type": "note", "reply_to": "msg_1"}`, "send|--from=me|--json|--type=note|--reply-to=msg_1|--|--root=/|--from x"},
		{"claim", `{"paths": ["--force", "-", "a b"]}`, "claim|--agent=me|--json|--|--force|-|a b"},
		{"claim", `{"paths": "src"}`, "claim|--agent=me|--json|--|src"},
		{"inbox", `{}`, "inbox|--agent=me|--json|--since-last-read|--"},
		{"inbox", `{"which": "peek"}`, "inbox|--agent=me|--json|--peek|--since-last-read|--"},
		{"overview", `{"limit": 3}`, "overview|--json|--limit=3|--"},
		{"overview", ``, "overview|--json|--"},
		{"task_new", `{"id": "--repo", "goal": "--x\n-y", "verify": ["make -j", "--"]}`, "task|new|--json|--goal=--x\n-y|--verify=make -j|--verify=--|--|--repo"},
		{"run_fail", `{"token": "t", "reason": null}`, "run|worker|fail|--json|--token=t|--"},
	} {
		tool := named(t, c.tool)
		args, err := tool.read(json.RawMessage(c.arguments))
		if err != nil {
			t.Errorf("%s %s: %v", c.tool, c.arguments, err)
			continue
		}
		if got := strings.Join(tool.words(args, "me"), "|"); got != c.want {
			t.Errorf("%s %s becomes\n%s, want\n%s", c.tool, c.arguments, got, c.want)
		}
	}
}

// An error names the parameter, and what the tool takes.
func TestArgumentsAreChecked(t *testing.T) {
	for _, c := range []struct{ tool, arguments, want string }{
		{"claim", `[]`, "no JSON object"},
		{"claim", `{"paths": []}`, "paths has a value of another kind; want paths (array)"},
		{"claim", `{"paths": [1]}`, "paths has"},
		{"claim", `{"paths": ["a\u0000b"]}`, "paths has"},
		{"claim", `{"file": "x"}`, `unknown parameter "file"; want paths (array)`},
		{"send", `{"to": "x"}`, "text is missing; want to (string), text (string), type (note|"},
		{"send", `{"to": "x", "text": "y", "type": "order"}`, "type has"},
		{"overview", `{"limit": 1.5}`, "limit has"},
		{"overview", `{"limit": "3"}`, "limit has"},
		{"note", `{"text": "` + strings.Repeat("x", 5<<20) + `"}`, "more than 4 MiB"},
		{"task_show", `{"id": true}`, "id has"},
	} {
		if _, err := named(t, c.tool).read(json.RawMessage(c.arguments)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.40s: %v, want %q", c.tool, c.arguments, err, c.want)
		}
	}
}
