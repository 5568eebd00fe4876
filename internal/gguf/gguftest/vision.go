package gguftest

import "fmt"

// Vision is a projector of Gemma's kind, whose pictures have one size. The names of
// its keys and tensors are those of tools/mtmd/clip-impl.h in
// https://github.com/ggml-org/llama.cpp.
type Vision struct {
	layers, width, feed, heads int
	image, patch, merge        int // pixels of a side, and patches of a side that make a token
}

// Projector is a small one.
var Projector = Vision{layers: 2, width: 64, feed: 128, heads: 2, image: 64, patch: 8, merge: 2}

// GemmaProjector is that of Gemma 3 but for fewer layers.
var GemmaProjector = Vision{layers: 2, width: 1152, feed: 4304, heads: 16, image: 896, patch: 14, merge: 4}

// Tokens is how many a picture becomes.
func (v Vision) Tokens() int { return (v.image / v.patch / v.merge) * (v.image / v.patch / v.merge) }

// Of is the file for a model whose tokens are embedding numbers wide.
func (v Vision) Of(embedding int) *Model {
	m := &Model{Name: "projector", Arch: "clip", weights: f16}
	m.Text("general.architecture", "clip")
	m.Text("general.type", "mmproj")
	m.Text("general.name", m.Name)
	m.Flag(".has_vision_encoder", true)
	m.Text(".projector_type", "gemma3")
	for key, n := range map[string]int{
		"image_size": v.image, "patch_size": v.patch, "embedding_length": v.width, "feed_forward_length": v.feed,
		"block_count": v.layers, "attention.head_count": v.heads, "projection_dim": embedding, "projector.scale_factor": v.merge,
	} {
		m.Number(".vision."+key, n)
	}
	m.Float(".vision.attention.layer_norm_epsilon", 1e-6)
	m.Floats(".vision.image_mean", []float32{0.5, 0.5, 0.5})
	m.Floats(".vision.image_std", []float32{0.5, 0.5, 0.5})
	m.Flag(".use_gelu", true)
	m.Tensor("v.patch_embd.weight", f32, v.patch, v.patch, 3, v.width)
	m.bias("v.patch_embd", v.width)
	m.Tensor("v.position_embd.weight", f32, v.width, (v.image/v.patch)*(v.image/v.patch))
	for i := range v.layers {
		norm := func(name string) {
			name = fmt.Sprintf("v.blk.%d.%s", i, name)
			m.norm(name, v.width)
			m.bias(name, v.width)
		}
		matrix := func(name string, in, out int) {
			name = fmt.Sprintf("v.blk.%d.%s", i, name)
			m.matrix(name, in, out)
			m.bias(name, out)
		}
		norm("ln1")
		norm("ln2")
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_out"} {
			matrix(name, v.width, v.width)
		}
		matrix("ffn_up", v.width, v.feed)
		matrix("ffn_down", v.feed, v.width)
	}
	m.norm("v.post_ln", v.width)
	m.bias("v.post_ln", v.width)
	m.matrix("mm.input_projection", embedding, v.width)
	m.norm("mm.soft_emb_norm", v.width)
	return m
}
