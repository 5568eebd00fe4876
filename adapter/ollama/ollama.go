// Package ollama holds the forms of files by which ollama knows a model. It is
// pure. Call Parts for the layers of a prompt template.
package ollama

import "aisync.dev/aisync/adapter/render"

// Manifest is the form of
// https://github.com/ollama/ollama/blob/main/manifest.
type Manifest struct {
	SchemaVersion int     `json:"schemaVersion"`
	MediaType     string  `json:"mediaType"`
	Config        Layer   `json:"config"`
	Layers        []Layer `json:"layers"`
}

type Layer struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// Config is the minimum that ollama reads of a model beside its header.
type Config struct {
	ModelFormat  string `json:"model_format"`
	FileType     string `json:"showntype"`
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	RootFS       struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// Part is a layer of a manifest with its bytes.
type Part struct {
	Layer
	Text []byte
}

// Parts are the layers that tell ollama a model's prompt template. ollama looks
// for none in a file that ollama create did not import: the media types and their
// meaning are in server/images.go of https://github.com/ollama/ollama.
func Parts(chat string) []Part {
	if chat != "chatml" {
		return nil
	}
	return []Part{
		{Layer{MediaType: "application/vnd.ollama.image.template"}, []byte(render.ChatML)},
		{Layer{MediaType: "application/vnd.ollama.image.params"}, []byte(`{"stop":["<|im_start|>","<|im_end|>"]}`)},
	}
}
