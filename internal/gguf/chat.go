package gguf

import (
	"slices"
	"strings"
)

// Forms of a chat template beside those of chatForms.
const (
	ChatOther = "other" // the template tells tools in another form
	ChatPlain = "none"  // tells no tools
)

// chatForms are the forms of prompts with tools that other programs can be told,
// each with the words that a chat template has, and that it lacks. The templates are
// those of models/templates in https://github.com/ggml-org/llama.cpp and of the
// models' own repositories. A form whose calls carry an ID is none of them: Mistral
// Small 3.2.
var chatForms = []struct {
	form       string
	has, lacks []string
}{
	{"qwen3-coder", []string{"<|im_start|>", "<tool_call>", "<function="}, []string{"<think>"}},    // Qwen3-Coder
	{"chatml", []string{"<|im_start|>", "<tool_call>", "<args-json-object>"}, nil},                 // Qwen2.5, QwQ, Qwen3
	{"granite", []string{"<|start_of_role|>", "<tool_call>", "<args-json-object>"}, nil},           // Granite 4
	{"llama3", []string{"<|start_header_id|>", "ipython", `"parameters"`}, nil},                    // Llama 3.1 to 3.3
	{"mistral", []string{"[SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[ARGS]"}, []string{"[CALL_ID]"}}, // Devstral, Ministral 3
	{"phi4-mini", []string{"<|tool|>", "<|/tool|>"}, nil},
}

// chatForm returns the form in which a chat template tells a model of tools; "" if
// there is no template.
func chatForm(template string) string {
	if template == "" {
		return ""
	}
	has := func(word string) bool { return strings.Contains(template, word) }
	for _, f := range chatForms {
		if !slices.ContainsFunc(f.has, func(w string) bool { return !has(w) }) && !slices.ContainsFunc(f.lacks, has) {
			return f.form
		}
	}
	if has("tools") || has("tool_call") {
		return ChatOther
	}
	return ChatPlain
}
