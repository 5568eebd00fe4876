package gguf

import (
	"cmp"
	"slices"
)

// Projector describes a file that shows a model pictures (mmproj). The names of
// keys and tensors are those of tools/mtmd/clip-impl.h in
// https://github.com/ggml-org/llama.cpp, what is made of them is tools/mtmd/clip.cpp.
type Projector struct {
	Kind    string // of its last layers: "gemma3"
	Width   int64  // numbers of a token that it makes, which are those of its model's; 0: unknown
	Patches int64  // parts of the largest picture
	Picture int64  // bytes in which it computes that
}

// outputs are, by the kind of a projector, the tensors whose length in a dimension is
// its width, the first that is there (clip_n_mmproj_embd).
var outputs = map[string][]struct {
	tensor    string
	dimension int
}{
	"mlp":              {{"mm.2.weight", 1}, {"mm.3.bias", 0}},
	"gemma3":           {{"mm.input_projection.weight", 0}},
	"gemma3nv":         {{"mm.input_projection.weight", 0}},
	"gemma4v":          {{"mm.input_projection.weight", 1}},
	"qwen2vl_merger":   {{"mm.2.bias", 0}},
	"qwen2.5vl_merger": {{"mm.2.bias", 0}},
	"qwen3vl_merger":   {{"mm.2.bias", 0}}, // of one part: a model of this kind takes several
	"pixtral":          {{"mm.2.weight", 1}},
	"lightonocr":       {{"mm.2.weight", 1}},
	"lfm2":             {{"mm.2.weight", 1}},
	"kimivl":           {{"mm.2.weight", 1}},
	"idefics3":         {{"mm.model.fc.weight", 1}},
	"llama4":           {{"mm.model.fc.weight", 1}},
	"internvl":         {{"mm.3.weight", 1}},
	"glm4v":            {{"mm.down.weight", 1}},
	"resampler":        {{"resampler.proj.weight", 0}},
}

// merged are the kinds that take pictures of any size: the most tokens of one, and
// how many patches of a side make a token where the file does not say it. The others
// take pictures, or parts of them, of one size.
var merged = map[string]struct{ tokens, patches int64 }{
	"pixtral": {1024, 1}, "kimivl": {1024, 1}, "lfm2": {256, 1}, "gemma4v": {280, 3},
	"qwen2vl_merger": {4096, 2}, "qwen2.5vl_merger": {4096, 2}, "qwen3vl_merger": {4096, 2}, "glm4v": {4096, 2},
}

// projector returns what m and the tensors say of a projector.
func (m *metadata) projector(tensors []tensor) Projector {
	of := func(key string) int64 { return m.number("clip.vision."+key, maxLength, 0) }
	p := Projector{Kind: cmp.Or(m.texts["clip.projector_type"], m.texts["clip.vision.projector_type"])}
	for _, o := range outputs[p.Kind] {
		for _, t := range tensors {
			if n := t.lengths[o.dimension]; p.Width == 0 && t.name == o.tensor && n > 0 && n <= maxLength {
				p.Width = n
			}
		}
	}
	patch := max(1, of("patch_size"))
	side := of("image_size") / patch
	p.Patches = side * side
	if k, ok := merged[p.Kind]; ok {
		side = min(maxFew, cmp.Or(of("spatial_merge_size"), of("projector.scale_factor"), k.patches))
		p.Patches = k.tokens * side * side
	}
	p.Patches = min(p.Patches, maxCount)
	// Some copies of a patch beside its feed-forward part, which has three matrices with
	// a gate, or beside each other, or its colours: measured, as buffer is.
	width, feed := of("embedding_length"), of("feed_forward_length")
	layer := 3*width + feed
	if slices.ContainsFunc(tensors, func(t tensor) bool { return t.name == "v.blk.0.ffn_gate.weight" }) {
		layer = 4*width + 3*feed
	}
	p.Picture = 4 * p.Patches * min(maxLength, max(layer, 5*width, 9*min(patch, maxFew)*patch/2))
	return p
}
