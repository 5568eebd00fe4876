// Package ollama holds the forms of files by which ollama knows a model. It is
// pure. Call View for the manifest of a model and what it names.
package ollama

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"

	"aisync.dev/aisync/internal/gguf"
)

// manifest is the form of
// https://github.com/ollama/ollama/blob/main/manifest.
type manifest struct {
	SchemaVersion int     `json:"schemaVersion"`
	MediaType     string  `json:"mediaType"`
	Config        layer   `json:"config"`
	Layers        []layer `json:"layers"`
}

type layer struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// config is the minimum that ollama reads of a model beside its header. Versions
// before 0.12.0 ignore Renderer and Parser.
type config struct {
	ModelFormat  string `json:"model_format"`
	FileType     string `json:"showntype"`
	Renderer     string `json:"renderer,omitempty"`
	Parser       string `json:"parser,omitempty"`
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	RootFS       struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// Model is a model as ollama is told of it.
type Model struct {
	Digest string // of its file, with "sha256:"
	Size   int64
	Quant  string
	Chat   string // form of its prompts, of spec.Model.Chat
}

// Blob is a file of ollama's blobs.
type Blob struct {
	Digest string
	Text   []byte
}

// View returns the manifest that names the model's file, and the blobs that the
// manifest names beside it, its configuration first.
func View(m Model) (manifestText []byte, blobs []Blob) {
	c := config{ModelFormat: "gguf", FileType: m.Quant, Architecture: "amd64", OS: "linux"}
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{m.Digest}
	told := forms[m.Chat]
	c.Renderer, c.Parser = told.builtin, told.builtin
	blob := func(mediaType string, text []byte) layer {
		sum := sha256.Sum256(text)
		digest := "sha256:" + hex.EncodeToString(sum[:])
		blobs = append(blobs, Blob{digest, text})
		return layer{mediaType, digest, int64(len(text))}
	}
	text, _ := json.Marshal(c) // plain fields: cannot fail
	out := manifest{
		SchemaVersion: 2, MediaType: "application/vnd.docker.distribution.manifest.v2+json",
		Config: blob("application/vnd.docker.container.image.v1+json", text),
		Layers: []layer{{"application/vnd.ollama.image.model", m.Digest, m.Size}},
	}
	if told.template != "" {
		template, err := templates.ReadFile("templates/" + told.template + ".gotmpl")
		if err != nil {
			panic(err) // a test reads each
		}
		params, _ := json.Marshal(map[string][]string{"stop": told.stop})
		out.Layers = append(out.Layers, blob("application/vnd.ollama.image.template", template), blob("application/vnd.ollama.image.params", params))
	}
	manifestText, _ = json.Marshal(out)
	return manifestText, blobs
}

// form is how ollama is told a form of prompts.
type form struct {
	template string   // of templates
	stop     []string // what ends an answer
	builtin  string   // renderer and parser, which count before the template; ollama 0.12.0 has them
}

// forms are the forms of prompts that ollama can be told. Versions before 0.30.0
// know of no prompt in the header of a file that ollama create did not import: they
// take tools where the template speaks of .Tools (server/images.go), and find calls
// by the words before the first one in the template, the name of a tool, and an
// object of JSON (tools/tools.go). A form without such an object is not among forms.
// Later versions use the chat template of the header where it can do more, and the
// template here where it can do as much.
var forms = map[string]form{
	"chatml":    {template: "chatml", stop: []string{"<|im_start|>", "<|im_end|>"}},
	"granite":   {template: "granite", stop: []string{"<|end_of_text|>", "<|start_of_role|>"}},
	"llama3":    {template: "llama3", stop: []string{"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>"}},
	"mistral":   {template: "mistral", stop: []string{"</s>", "[INST]"}},
	"phi4-mini": {template: "phi4-mini", stop: []string{"<|end|>", "<|user|>", "<|endoftext|>"}},
	// Before 0.12.0 its calls, which hold no JSON, are asked for in the form of Qwen3.
	"qwen3-coder": {template: "chatml", stop: []string{"<|im_start|>", "<|im_end|>"}, builtin: "qwen3-coder"},
}

// NoTools says which versions of ollama offer no tools with a model, why, and what to
// do; "" where all do.
func NoTools(id, chat string) string {
	switch {
	case forms[chat].template != "":
		return ""
	case chat == gguf.ChatPlain:
		return "no tools with ollama: the prompt template of model " + id + " has none; use another model for agents"
	case chat == gguf.ChatOther:
		return "no tools with ollama before 0.30: older ones cannot be told the prompt template of model " + id + `, and pass prompts on as they are; use kind: "llama-server", or a newer ollama`
	}
	return "no tools with ollama before 0.30: the prompt template of model " + id + " is unknown, and older ones pass prompts on as they are; aisync lock --update " + id + ` reads it where a lock pins the model, else name it in the catalog's entry (chat: "chatml")`
}

// templates are the forms in ollama's template language
// (https://github.com/ollama/ollama/blob/main/docs/template.mdx), after the models'
// chat templates: tokenizer_config.json of https://huggingface.co/Qwen/Qwen3-8B,
// chat_template.jinja of https://huggingface.co/ibm-granite/granite-4.0-h-tiny and
// https://huggingface.co/mistralai/Ministral-3-14B-Reasoning-2512, and, in
// models/templates of https://github.com/ggml-org/llama.cpp,
// meta-llama-Llama-3.1-8B-Instruct.jinja, without its date, and
// llama-cpp-microsoft-Phi-4-mini-instruct.jinja.
//
//go:embed templates/*.gotmpl
var templates embed.FS
