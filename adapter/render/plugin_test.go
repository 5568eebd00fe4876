package render

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAModuleHoldsItsHooksAsData(t *testing.T) {
	hooks := []ModuleHook{
		NewModuleHook("PreToolUse", Hook{Event: "tool_call", Matcher: "edit|write", Command: `x "$A" </dev/null`, Timeout: 3}),
		NewModuleHook("Stop", Hook{Event: "agent_end", Command: "y"}),
	}
	for _, shape := range []string{"opencode-plugin", "pi-extension", "cline-plugin"} {
		text := string(Module(shape, hooks))
		_, rest, _ := strings.Cut(text, "const hooks = ")
		list, _, ok := strings.Cut(rest, ",\n]\n")
		var got []ModuleHook
		if err := json.Unmarshal([]byte(list+"]"), &got); !ok || err != nil || len(got) != 2 {
			t.Fatalf("%s: %v in\n%s", shape, err, text)
		}
		if got[0].Command != hooks[0].Command || len(got[0].Tools) != 2 || got[0].Timeout != 3 || got[1].Timeout != moduleTimeout || len(got[1].Tools) != 0 {
			t.Errorf("%s: %+v", shape, got)
		}
		if !IsModule(shape) || IsModule("claude") {
			t.Error("which shapes are modules is not known")
		}
	}
}
