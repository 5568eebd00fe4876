package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// Shape is what decides how much memory serving a model takes, apart from the
// size of its files. It comes from a GGUF header (package gguf) and is the same
// for all quantizations of a model but for Tensors and Experts. The zero value
// of a field means that the model has none of it, or that it is not known.
type Shape struct {
	Arch         string `json:"arch"`
	Context      int64  `json:"context_tokens"`           // that the model was made for
	Layers       int64  `json:"layers"`                   // of all kinds
	Attention    int64  `json:"attention_layers"`         // that remember every token
	Key          int64  `json:"key_values_per_token"`     // numbers kept for a token, by all these layers together
	Value        int64  `json:"value_values_per_token"`   // likewise
	Windowed     int64  `json:"window_layers"`            // that remember the last tokens only
	Window       int64  `json:"window_tokens"`            // how many
	WindowKey    int64  `json:"window_key_values"`        // as Key, by the windowed layers
	WindowValue  int64  `json:"window_value_values"`      // as Value, by the windowed layers
	Recurrent    int64  `json:"recurrent_layers"`         // that keep a state of one size
	State        int64  `json:"state_bytes_per_sequence"` // of all these layers together
	Vocabulary   int64  `json:"vocabulary_tokens"`
	Embedding    int64  `json:"embedding_length"`
	TensorBytes  int64  `json:"tensor_bytes"`  // of the quantization that was read
	ExpertsBytes int64  `json:"experts_bytes"` // how many of TensorBytes are experts', only some of which are read for a token
}

// fields are the words of the text form in their order.
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
		{"tensors", &s.TensorBytes}, {"experts", &s.ExpertsBytes},
	}
}

// String is the text form that a lock keeps, such as
// "qwen3 context=32768 layers=36 …"; ParseShape reads it back. What is zero is
// left out.
func (s Shape) String() string {
	var b strings.Builder
	b.WriteString(s.Arch)
	for _, f := range s.fields() {
		if *f.n != 0 {
			fmt.Fprintf(&b, " %s=%d", f.word, *f.n)
		}
	}
	return b.String()
}

// ParseShape reads what String wrote. Words that it does not know are passed
// over, so that a newer aisync may add some.
func ParseShape(text string) (Shape, error) {
	words := strings.Fields(text)
	if len(words) < 2 || strings.Contains(words[0], "=") {
		return Shape{}, fmt.Errorf("%q does not describe a model's layers: want a word for its architecture and name=number", text)
	}
	s := Shape{Arch: words[0]}
	fields := s.fields()
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		for _, f := range fields {
			if f.word != name {
				continue
			}
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return Shape{}, fmt.Errorf("%q in the description of a model's layers is no size", w)
			}
			*f.n = n
		}
	}
	if s.ExpertsBytes > s.TensorBytes {
		return Shape{}, fmt.Errorf("the description of a model's layers has more bytes of experts (%d) than of tensors (%d)", s.ExpertsBytes, s.TensorBytes)
	}
	return s, nil
}
