package ollama

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"text/template"

	"aisync.dev/aisync/internal/gguf"
)

type call struct {
	Function struct{ Name, Arguments string }
}

type message struct {
	Role, Content string
	ToolCalls     []call
}

// tool is written as ollama writes it.
type tool struct{ Function function }

func (t tool) String() string { return `{"type":"function","function":` + t.Function.String() + `}` }

type function string

func (f function) String() string { return string(f) }

type tools []tool

func (t tools) String() string {
	var out []string
	for _, x := range t {
		out = append(out, x.String())
	}
	return "[" + strings.Join(out, ",") + "]"
}

// Each template writes what the model's own chat template writes of the same
// conversation, but for the spaces of JSON and Llama's date.
func TestTemplatesWriteWhatModelsWereTrainedOn(t *testing.T) {
	reads := func(path string) (c call) {
		c.Function.Name, c.Function.Arguments = "read", `{"path":"`+path+`"}`
		return c
	}
	talk := []message{
		{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Hi"}, {Role: "assistant", ToolCalls: []call{reads("a")}},
		{Role: "tool", Content: "42"}, {Role: "assistant", Content: "It is 42."}, {Role: "user", Content: "And?"},
		{Role: "assistant", Content: "I look.", ToolCalls: []call{reads("b"), reads("c")}}, {Role: "tool", Content: "1"}, {Role: "tool", Content: "2"},
	}
	for name, want := range map[string]string{
		"chatml": "<|im_start|>system\nBe brief.\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>\n" +
			`{"type": "function", "function": {"name":"read"}}` + "\n</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n" +
			`{"name": <function-name>, "arguments": <args-json-object>}` + "\n</tool_call><|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<tool_call>\n" +
			`{"name": "read", "arguments": {"path":"a"}}` + "\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n42\n</tool_response><|im_end|>\n<|im_start|>assistant\nIt is 42.<|im_end|>\n<|im_start|>user\nAnd?<|im_end|>\n" +
			"<|im_start|>assistant\nI look.\n<tool_call>\n" + `{"name": "read", "arguments": {"path":"b"}}` + "\n</tool_call>\n<tool_call>\n" + `{"name": "read", "arguments": {"path":"c"}}` +
			"\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
		"granite": "<|start_of_role|>system<|end_of_role|>Be brief.\n\nYou are a helpful assistant with access to the following tools. You may call one or more tools to assist with the user query.\n\n" +
			"You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n" + `{"type":"function","function":{"name":"read"}}` +
			"\n</tools>\n\nFor each tool call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n" + `{"name": <function-name>, "arguments": <args-json-object>}` +
			"\n</tool_call>. If a tool does not exist in the provided list of tools, notify the user that you do not have the ability to fulfill the request.<|end_of_text|>\n" +
			"<|start_of_role|>user<|end_of_role|>Hi<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|><tool_call>\n" + `{"name": "read", "arguments": {"path":"a"}}` +
			"\n</tool_call><|end_of_text|>\n<|start_of_role|>user<|end_of_role|>\n<tool_response>\n42\n</tool_response><|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>It is 42.<|end_of_text|>\n" +
			"<|start_of_role|>user<|end_of_role|>And?<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>I look.\n<tool_call>\n" + `{"name": "read", "arguments": {"path":"b"}}` + "\n</tool_call>\n<tool_call>\n" +
			`{"name": "read", "arguments": {"path":"c"}}` + "\n</tool_call><|end_of_text|>\n<|start_of_role|>user<|end_of_role|>\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response><|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
		"llama3": "<|start_header_id|>system<|end_header_id|>\n\nEnvironment: ipython\nCutting Knowledge Date: December 2023\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n" +
			"Given the following functions, please respond with a JSON for a function call with its proper arguments that best answers the given prompt.\n\n" +
			`Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.Do not use variables.` + "\n\n" + `{"type":"function","function":{"name":"read"}}` +
			"\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n" + `{"name": "read", "parameters": {"path":"a"}}` + `<|eot_id|><|start_header_id|>ipython<|end_header_id|>` + "\n\n" + `"42"` +
			"<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nIt is 42.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n" +
			`{"name": "read", "parameters": {"path":"b"}}{"name": "read", "parameters": {"path":"c"}}` + "<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n" + `"1"` + "<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n" + `"2"` +
			"<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
		"mistral": `[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][AVAILABLE_TOOLS][{"type":"function","function":{"name":"read"}}][/AVAILABLE_TOOLS][INST]Hi[/INST][TOOL_CALLS]read[ARGS]{"path":"a"}</s>[TOOL_RESULTS]42[/TOOL_RESULTS]` +
			`It is 42.</s>[INST]And?[/INST]I look.[TOOL_CALLS]read[ARGS]{"path":"b"}[TOOL_CALLS]read[ARGS]{"path":"c"}</s>[TOOL_RESULTS]1[/TOOL_RESULTS][TOOL_RESULTS]2[/TOOL_RESULTS]`,
		"phi4-mini": `<|system|>Be brief.<|tool|>{"name":"read"}<|/tool|>You are a helpful assistant with some tools.` + "\n" + `To use a tool, respond in this format: <|tool_call|>{"name": "foo", "arguments": {"a": 1}}<|/tool_call|><|end|>` +
			`<|user|>Hi<|end|><|assistant|><|tool_call|>{"name": "read", "arguments": {"path":"a"}}<|/tool_call|><|end|><|tool_response|>"42"<|end|><|assistant|>It is 42.<|end|><|user|>And?<|end|>` +
			`<|assistant|>I look.<|tool_call|>{"name": "read", "arguments": {"path":"b"}}<|/tool_call|><|tool_call|>{"name": "read", "arguments": {"path":"c"}}<|/tool_call|><|end|><|tool_response|>"1"<|end|><|tool_response|>"2"<|end|><|assistant|>`,
	} {
		text, err := templates.ReadFile("templates/" + name + ".gotmpl")
		if err != nil {
			t.Fatal(err)
		}
		tmpl := template.Must(template.New("").Funcs(template.FuncMap{"json": func(v any) string {
			b, _ := json.Marshal(v)
			return string(b)
		}}).Parse(string(text)))
		var out bytes.Buffer
		if err := tmpl.Execute(&out, map[string]any{"System": "Be brief.", "Tools": tools{{`{"name":"read"}`}}, "Messages": talk}); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s writes\n%q\nwant\n%q", name, out.String(), want)
		}
	}
}

// The manifest names a template of each form, and no other.
func TestManifestNamesTheTemplate(t *testing.T) {
	for chat, layers := range map[string]int{"": 1, gguf.ChatOther: 1, gguf.ChatPlain: 1, "chatml": 3, "granite": 3, "llama3": 3, "mistral": 3, "phi4-mini": 3, "qwen3-coder": 3} {
		text, blobs := View(Model{Digest: "sha256:00", Size: 7, Quant: "Q8_0", Chat: chat})
		var m manifest
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		if len(m.Layers) != layers || len(blobs) != layers || m.Config.Digest != blobs[0].Digest {
			t.Errorf("%s: %s", chat, text)
		}
		if told := NoTools("m", chat) == ""; told != (layers == 3) {
			t.Errorf("%s: tools %v", chat, told)
		}
		if built := strings.Contains(string(blobs[0].Text), `"parser":"qwen3-coder"`); built != (chat == "qwen3-coder") {
			t.Errorf("%s: %s", chat, blobs[0].Text)
		}
	}
}
