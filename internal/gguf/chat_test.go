package gguf

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"aisync.dev/aisync/internal/gguf/gguftest"
)

// The words of a chat template tell its form.
func TestChatTemplateTellsItsForm(t *testing.T) {
	for template, want := range map[string]string{
		"": "",
		"<|im_start|>system <tools></tools> <tool_call>{\"name\": <function-name>, \"arguments\": <args-json-object>}</tool_call>": "chatml",
		"<|im_start|>system {% if tools %}<tool_call><function=read><parameter=path>":                                              "qwen3-coder",
		"<|im_start|>system {% if tools %}<think><tool_call><function=read><parameter=path>":                                       ChatOther,
		"<|start_of_role|>system <tool_call>{\"arguments\": <args-json-object>}":                                                   "granite",
		"<|start_header_id|>ipython<|end_header_id|> {\"name\": function name, \"parameters\": dictionary}":                        "llama3",
		"<|start_header_id|>assistant<|end_header_id|> {{ message.content }}":                                                      ChatPlain,
		"[SYSTEM_PROMPT][/SYSTEM_PROMPT][AVAILABLE_TOOLS]{{ tools }}[TOOL_CALLS]read[ARGS]{}":                                      "mistral",
		"[SYSTEM_PROMPT][/SYSTEM_PROMPT][AVAILABLE_TOOLS]{{ tools }}[TOOL_CALLS]read[CALL_ID]1[ARGS]{}":                            ChatOther,
		"<|system|><|tool|>{{ tools }}<|/tool|>":                                                                                   "phi4-mini",
		"<|start|>developer{% if tools %}namespace functions":                                                                      ChatOther,
		"<|User|>{% for call in message['tool_calls'] %}":                                                                          ChatOther,
		"<start_of_turn>user": ChatPlain,
	} {
		var f file
		f.text("general.architecture", "llama")
		f.num("llama.block_count", 1)
		if template != "" {
			f.text("tokenizer.chat_template", template)
		}
		data := f.done(3)
		h, err := Read(bytes.NewReader(data), int64(len(data)))
		if err != nil || h.Chat != want {
			t.Errorf("%q is %q, %v; want %q", template, h.Chat, err, want)
		}
	}
}

// Templates in the forms of published ones.
func TestChatTemplatesTellTheirForms(t *testing.T) {
	want := map[string]string{"harmony": ChatOther, "sections": ChatOther, "keys": ChatOther, "call-ids": ChatOther, "turns": ChatPlain, "roles": ChatPlain}
	for _, name := range gguftest.ChatNames() {
		form, ok := want[name]
		if !ok {
			form = name
		}
		if got := chatForm(gguftest.Chat(name)); got != form {
			t.Errorf("%s is %q, want %q", name, got, form)
		}
	}
}

// A template of any length is read as far as one may be.
func TestLongChatTemplateIsRead(t *testing.T) {
	long := string(bytes.Repeat([]byte(" "), 2*maxTemplate)) + "{{ tools }}"
	var f file
	f.text("general.architecture", "llama")
	f.text("tokenizer.chat_template", long)
	f.num("llama.block_count", 3)
	data := f.done(3)
	if h, err := Read(bytes.NewReader(data), int64(len(data))); err != nil || h.Blocks != 3 || h.Chat != ChatPlain {
		t.Errorf("%+v, %v", h, err)
	}
}

// Published templates, which ~/.cache/aisync-test/chat-templates holds under their
// names in models/templates of https://github.com/ggml-org/llama.cpp.
func TestPublishedChatTemplates(t *testing.T) {
	cache, err := os.UserCacheDir()
	dir := filepath.Join(cache, "aisync-test", "chat-templates")
	if _, serr := os.Stat(dir); err != nil || serr != nil {
		t.Skipf("no published chat templates at %s", dir)
	}
	for name, want := range map[string]string{
		"Qwen-Qwen2.5-7B-Instruct": "chatml", "Qwen-Qwen3-0.6B": "chatml", "Qwen-QwQ-32B": "chatml", "MiMo-VL": "chatml",
		"Qwen3-Coder": "qwen3-coder", "Qwen3.5-4B": ChatOther, "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": ChatOther,
		"meta-llama-Llama-3.1-8B-Instruct": "llama3", "meta-llama-Llama-3.2-3B-Instruct": "llama3", "meta-llama-Llama-3.3-70B-Instruct": "llama3",
		"fireworks-ai-llama-3-firefunction-v2": ChatOther, "meetkai-functionary-medium-v3.1": ChatOther, "meetkai-functionary-medium-v3.2": ChatOther,
		"mistralai-Ministral-3-14B-Reasoning-2512": "mistral", "unsloth-mistral-Devstral-Small-2507": "mistral",
		"Mistral-Small-3.2-24B-Instruct-2506": ChatOther, "mistralai-Mistral-Nemo-Instruct-2407": ChatOther,
		"ibm-granite-granite-4.0": "granite", "ibm-granite-granite-4.1": "granite", "ibm-granite-granite-3.3-2B-Instruct": ChatOther,
		"llama-cpp-microsoft-Phi-4-mini-instruct": "phi4-mini", "microsoft-Phi-3.5-mini-instruct": ChatPlain,
		"openai-gpt-oss-120b": ChatOther, "GLM-4.6": ChatOther, "GLM-4.7-Flash": ChatOther, "google-gemma-4-31B-it": ChatOther, "google-gemma-2-2b-it": ChatPlain,
		"deepseek-ai-DeepSeek-V3.1": ChatOther, "deepseek-ai-DeepSeek-V3.2": ChatOther, "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": ChatOther,
		"Kimi-K2-Instruct": ChatOther, "MiniMax-M2": ChatOther, "ByteDance-Seed-OSS": ChatOther, "LFM2-8B-A1B": ChatOther,
	} {
		text, err := os.ReadFile(filepath.Join(dir, name+".jinja"))
		if err != nil {
			t.Errorf("%v", err)
		} else if got := chatForm(string(text)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
