package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// Shape describes the memory that serving a model takes, apart from its files'
// size, and the form of its prompts. It comes from a GGUF header (package gguf) and is the same for all
// quantizations of a model except for Tensors and Experts. A zero field means
// none, or unknown.
type Shape struct {
	Arch         string `json:"arch"`
	Chat         string `json:"chat,omitempty"`           // as Model.Chat; "other": a form of its own; "none": it tells no tools
	Context      int64  `json:"context_tokens"`           // that the model was trained for
	Layers       int64  `json:"layers"`                   // of all kinds
	Attention    int64  `json:"attention_layers"`         // that keep every token
	Key          int64  `json:"key_values_per_token"`     // numbers kept for a token, in all these layers together
	Value        int64  `json:"value_values_per_token"`   // likewise
	Windowed     int64  `json:"window_layers"`            // that keep only the last tokens
	Window       int64  `json:"window_tokens"`            // how many
	WindowKey    int64  `json:"window_key_values"`        // as Key, by the windowed layers
	WindowValue  int64  `json:"window_value_values"`      // as Value, by the windowed layers
	Recurrent    int64  `json:"recurrent_layers"`         // that keep a state of fixed size
	State        int64  `json:"state_bytes_per_sequence"` // of all these layers together
	Vocabulary   int64  `json:"vocabulary_tokens"`
	Embedding    int64  `json:"embedding_length"`
	TensorBytes  int64  `json:"tensor_bytes"`  // of the quantization that was read
	ExpertsBytes int64  `json:"experts_bytes"` // the experts' part of TensorBytes, only some of which is read for a token
	// ExpertsActive is the part of ExpertsBytes that is read for a token.
	ExpertsActive int64 `json:"experts_active_bytes,omitempty"`
	// Buffer is how many numbers a server holds at once for a token that it computes.
	Buffer int64 `json:"buffer_values_per_token,omitempty"`
	// Picture is the memory in which a projector computes the largest picture.
	Picture int64 `json:"picture_bytes,omitempty"`
}

// ProjectorArch is the architecture of projectors (mmproj), whose Embedding is that of
// the models that they show pictures.
const ProjectorArch = "clip"

// Projects reports whether s is of a projector.
func (s *Shape) Projects() bool { return s != nil && s.Arch == ProjectorArch }

// fields are the words of the text form, in order.
func (s *Shape) fields() []struct {
	word string
	n    *int64
} {
	return []struct {
		word string
		n    *int64
	}{
		{"context", &s.Context}, {"layers", &s.Layers},
		{"attention", &s.Attention}, {"key", &s.Key}, {"value", &s.Value},
		{"windowed", &s.Windowed}, {"window", &s.Window}, {"window-key", &s.WindowKey}, {"window-value", &s.WindowValue},
		{"recurrent", &s.Recurrent}, {"state", &s.State},
		{"vocabulary", &s.Vocabulary}, {"embedding", &s.Embedding},
		{"tensors", &s.TensorBytes}, {"experts", &s.ExpertsBytes}, {"active", &s.ExpertsActive}, {"buffer", &s.Buffer}, {"picture", &s.Picture},
	}
}

// String returns the text form in a lock, such as "qwen3 context=32768 layers=36
// …", without zero fields; ParseShape parses it.
func (s Shape) String() string {
	var b strings.Builder
	b.WriteString(s.Arch)
	if s.Chat != "" {
		b.WriteString(" chat=" + s.Chat)
	}
	for _, f := range s.fields() {
		if *f.n != 0 {
			fmt.Fprintf(&b, " %s=%d", f.word, *f.n)
		}
	}
	return b.String()
}

// ParseShape parses String's result. It ignores unknown words, so that a newer
// aisync may add some.
func ParseShape(text string) (Shape, error) {
	words := strings.Fields(text)
	if len(words) < 2 || strings.Contains(words[0], "=") {
		return Shape{}, fmt.Errorf("invalid description of a model's layers %q: want an architecture and name=number", text)
	}
	s := Shape{Arch: words[0]}
	fields := s.fields()
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		if name == "chat" {
			s.Chat = value
		}
		for _, f := range fields {
			if f.word != name {
				continue
			}
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return Shape{}, fmt.Errorf("invalid size %q in the description of a model's layers", w)
			}
			*f.n = n
		}
	}
	if s.ExpertsBytes > s.TensorBytes {
		return Shape{}, fmt.Errorf("the description of a model's layers has more bytes of experts (%d) than of tensors (%d)", s.ExpertsBytes, s.TensorBytes)
	}
	return s, nil
}
