package gguf

import (
	"fmt"
	"slices"

	"aisync.dev/aisync/schema/spec"
)

// Shape returns what determines the memory of serving the model. It needs the
// headers of all shards in order, or the only one; the first describes the
// model, all of them count tensors. A projector has its width, the size of its
// tensors, and what a picture takes. The error names a missing shard, or says
// that the file holds no language model.
func Shape(shards ...Header) (spec.Shape, error) {
	if len(shards) == 0 {
		return spec.Shape{}, fmt.Errorf("no header of the model was read")
	}
	h := shards[0]
	for i, s := range shards {
		switch count := max(1, s.Split.Count); {
		case count != len(shards):
			return spec.Shape{}, fmt.Errorf("shard %d says that the model has %d files, but %d headers were read", i+1, count, len(shards))
		case s.Split.No != i:
			return spec.Shape{}, fmt.Errorf("file %d of %d says that it is shard %d; name the shards in order", i+1, count, s.Split.No+1)
		}
	}
	if p := h.Projector; p != nil {
		return spec.Shape{Arch: h.Arch, Embedding: p.Width, TensorBytes: h.TensorBytes, Picture: p.Picture}, nil
	}
	if h.Blocks == 0 || h.Embedding == 0 {
		return spec.Shape{}, fmt.Errorf("the file is not a language model: its architecture is %q, without layers", h.Arch)
	}
	s := spec.Shape{Arch: h.Arch, Chat: h.Chat, Context: h.Context, Vocabulary: h.Vocab, Embedding: h.Embedding}
	for _, x := range shards {
		s.TensorBytes += x.TensorBytes
		s.ExpertsBytes += x.ExpertBytes
	}
	if h.Experts > 0 && h.ExpertsUsed > 0 {
		s.ExpertsActive = s.ExpertsBytes / h.Experts * min(h.ExpertsUsed, h.Experts)
	}
	s.Buffer = h.buffer()
	for _, l := range h.layers() {
		s.Layers++
		switch {
		case l.key+l.value > 0 && l.window:
			s.Windowed, s.Window = s.Windowed+1, h.window()
			s.WindowKey, s.WindowValue = s.WindowKey+l.key, s.WindowValue+l.value
		case l.key+l.value > 0:
			s.Attention++
			s.Key, s.Value = s.Key+l.key, s.Value+l.value
		}
		if l.state > 0 {
			s.Recurrent++
			s.State += l.state
		}
	}
	return s, nil
}

// buffer is how many numbers of one token live at once while its widest layer is
// computed: some copies of the token beside three matrices of a feed-forward part,
// or what a recurrent layer mixes, or the results of the experts in use. These
// factors are measured: four bytes of it for each token of a batch are
// llama-server's compute buffer (the table in docs/models.md).
func (h Header) buffer() int64 {
	feed := slices.Max(append([]int64{0}, h.FeedForward...))
	dense := 5*h.Embedding + max(3*feed, 5*h.SSM.Inner+6*h.SSM.Groups*h.SSM.State)
	used := min(h.ExpertsUsed, h.Experts)
	if used == 0 {
		return dense
	}
	expert := h.ExpertFeed
	if expert == 0 {
		expert = feed
	}
	return max(dense, h.Embedding*9/2+used*max(3*expert, 2*h.Embedding))
}

// layer is the cache of one layer: numbers kept for each token, all or only
// those in a window, and bytes of a state.
type layer struct {
	key, value int64
	window     bool
	state      int64
}

// Architectures with only recurrent layers in llama.cpp, and those with
// attention and a state in every layer (llm_arch_is_recurrent in
// src/llama-arch.cpp, src/models/falcon-h1.cpp).
var (
	recurrent = []string{"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"}
	both      = []string{"falcon-h1"}
)

// layers is the cache of each layer. It leaves out those that predict further
// tokens: llama.cpp gives them no cache by default.
func (h Header) layers() []layer {
	out := make([]layer, h.Blocks-h.Predicting)
	windows := h.windows()
	state := h.state()
	first := len(out) - h.SharedKV // those after it use the cache of another one
	if h.Arch == "gemma3n" && h.SharedKV == 0 {
		first = 20 // src/models/gemma3n.cpp
	}
	for i := range out {
		is := h.recurrent(i)
		if is || slices.Contains(both, h.Arch) {
			out[i].state = state
		}
		if is || i >= first {
			continue
		}
		key, value := h.KeyLen, h.ValueLen
		if out[i].window = windows[i]; out[i].window {
			key, value = h.KeyLenSWA, h.ValueLenSWA
		}
		if h.KeyLenMLA > 0 {
			value = 0 // a part of the key: src/llama-kv-cache.cpp
		}
		out[i].key, out[i].value = h.HeadCountKV[i]*key, h.HeadCountKV[i]*value
	}
	return out
}

// recurrent reports whether layer i keeps a state instead of tokens.
func (h Header) recurrent(i int) bool {
	interval := h.FullAttentionInterval
	if interval == 0 && slices.Contains([]string{"qwen3next", "qwen35", "qwen35moe"}, h.Arch) {
		interval = 4 // src/models/qwen3next.cpp
	}
	switch {
	case i < len(h.RecurrentLayers):
		return h.RecurrentLayers[i]
	case interval > 1:
		return (int64(i)+1)%interval != 0
	case slices.Contains(recurrent, h.Arch):
		return true
	case h.state() == 0 || h.HeadCountKV[i] > 0 || slices.Contains(both, h.Arch):
		return false
	case h.Arch == "nemotron_h" || h.Arch == "nemotron_h_moe":
		return h.FeedForward[i] == 0 // one without attention and state only feeds forward
	}
	return true // Jamba, Granite, LFM2, Kimi: no cached heads
}

// state is the bytes that a recurrent layer keeps for one sequence, as 32-bit
// numbers: n_embd_r and n_embd_s in src/llama-hparams.cpp.
func (h Header) state() int64 {
	s := h.SSM
	switch {
	case s.HeadSize > 0:
		return 4 * (max(1, s.TokenShift)*h.Embedding + h.Embedding*s.HeadSize)
	case s.ShortConv > 0:
		return 4 * h.Embedding * (s.ShortConv - 1)
	case s.KDAHead > 0:
		heads := slices.Max(append(slices.Clone(h.HeadCount), 0))
		return 4 * (3*max(0, s.Conv-1)*heads*s.KDAHead + s.KDAHead*s.KDAHead*heads)
	}
	return 4 * (max(0, s.Conv-1)*(s.Inner+2*s.Groups*s.State) + s.State*s.Inner)
}

// pattern is how layers with and without a window alternate: the last of period
// has none, or the first. A period of 0 means that all have one.
type pattern struct {
	period     int64
	denseFirst bool
	tokens     int64 // window if the file does not have it
}

// patterns are those in the code of llama.cpp's loaders, because many files
// lack them (set_swa_pattern in src/models). An unlisted architecture counts as
// one without windows, which needs more memory, never less.
var patterns = map[string]pattern{
	"afmoe":        {period: 4},
	"cohere2":      {period: 4},
	"exaone-moe":   {period: 4, tokens: 128},
	"gemma2":       {period: 2, tokens: 4096},
	"gemma3":       {period: 6},
	"gemma3n":      {period: 5},
	"gpt-oss":      {period: 2},
	"llama4":       {period: 4, tokens: 8192},
	"olmo2":        {period: 4},
	"plamo3":       {period: 8},
	"smallthinker": {period: 4, denseFirst: true, tokens: 4096},
}

// window is how many tokens a layer with a window keeps; 0 means no windows.
func (h Header) window() int64 {
	if h.SlidingWindow > 0 {
		return h.SlidingWindow
	}
	return patterns[h.Arch].tokens
}

// windows reports which layers have a window.
func (h Header) windows() []bool {
	out := make([]bool, h.Blocks)
	p, known := patterns[h.Arch]
	if h.Arch == "exaone4" && h.Blocks-h.Predicting == 64 { // the others of the family have none
		p, known = pattern{period: 4}, true
	}
	if h.WindowPeriod >= 0 {
		p.period, known = h.WindowPeriod, true
	}
	if h.window() == 0 || !known && h.WindowLayers == nil {
		return out
	}
	for i := range out {
		switch n := int64(i); {
		case h.WindowLayers != nil:
			out[i] = i < len(h.WindowLayers) && h.WindowLayers[i]
		case p.period == 0:
			out[i] = true
		case p.denseFirst:
			out[i] = n%p.period != 0
		default:
			out[i] = n%p.period < p.period-1
		}
	}
	return out
}
