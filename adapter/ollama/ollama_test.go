package ollama

import (
	"bytes"
	"strings"
	"testing"
	"text/template"
)

// A form of prompts is told with what ends an answer; ollama takes tools only
// where the template speaks of them.
func TestOllamaIsToldTheFormOfPrompts(t *testing.T) {
	if parts := Parts(""); len(parts) != 0 {
		t.Errorf("nothing is known, and %v told", parts)
	}
	parts := Parts("chatml")
	if len(parts) != 2 || !strings.Contains(string(parts[0].Text), ".Tools") {
		t.Fatalf("parts %v", parts)
	}
	type message struct {
		Role, Content string
		ToolCalls     []struct {
			Function struct{ Name, Arguments string }
		}
	}
	var out bytes.Buffer
	err := template.Must(template.New("").Parse(string(parts[0].Text))).Execute(&out, map[string]any{
		"System": "Be brief.", "Tools": []map[string]any{{"Function": `{"name": "read"}`}},
		"Messages": []message{{Role: "user", Content: "Hi"}, {Role: "assistant", Content: "Hello"}, {Role: "tool", Content: "42"}, {Role: "user", Content: "And?"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	begin, rest, _ := strings.Cut(out.String(), "\n\n# Tools\n")
	if begin != "<|im_start|>system\nBe brief." || !strings.Contains(rest, `{"type": "function", "function": {"name": "read"}}`) {
		t.Errorf("the system's part:\n%s", out.String())
	}
	_, talk, _ := strings.Cut(rest, "</tool_call><|im_end|>\n")
	want := "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n" +
		"<|im_start|>user\n<tool_response>\n42\n</tool_response><|im_end|>\n<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\n"
	if talk != want {
		t.Errorf("the talk is %q, want %q", talk, want)
	}
}
