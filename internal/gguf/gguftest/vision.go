package gguftest

import "fmt"

// Vision is a projector. The names of its keys and tensors are those of
// tools/mtmd/clip-impl.h in https://github.com/ggml-org/llama.cpp.
type Vision struct {
	kind                       string // "gemma3", whose pictures have one size, "gemma4v", "qwen3vl_merger", "pixtral"
	layers, width, feed, heads int
	image, patch, merge        int // pixels of a side, and patches of a side that make a token
}

// Projector is a small one.
var Projector = Vision{kind: "gemma3", layers: 2, width: 64, feed: 128, heads: 2, image: 64, patch: 8, merge: 2}

// Projectors are those of published models but for fewer layers, with the patches of
// the picture for which a server reserves memory when it starts.
var Projectors = map[string]struct {
	Vision
	Reserved int
}{
	"Gemma 3":           {Vision{kind: "gemma3", layers: 4, width: 1152, feed: 4304, heads: 16, image: 896, patch: 14, merge: 4}, 64 * 64},
	"Gemma 4":           {Vision{kind: "gemma4v", layers: 4, width: 1152, feed: 4304, heads: 16, image: 768, patch: 16, merge: 3}, 48 * 48},
	"Qwen3-VL":          {Vision{kind: "qwen3vl_merger", layers: 4, width: 1152, feed: 4304, heads: 16, image: 768, patch: 16, merge: 2}, 92 * 92},
	"Mistral Small 3.1": {Vision{kind: "pixtral", layers: 4, width: 1024, feed: 4096, heads: 16, image: 1540, patch: 14, merge: 2}, 32 * 32},
}

// Tokens is how many a picture becomes.
func (v Vision) Tokens() int { return (v.image / v.patch / v.merge) * (v.image / v.patch / v.merge) }

// Of is the file for a model whose tokens are embedding numbers wide.
func (v Vision) Of(embedding int) *Model {
	m := &Model{Name: "projector", Arch: "clip", weights: f16}
	m.Text("general.architecture", "clip")
	m.Text("general.type", "mmproj")
	m.Text("general.name", m.Name)
	m.Flag(".has_vision_encoder", true)
	m.Text(".projector_type", v.kind)
	for key, n := range map[string]int{
		"image_size": v.image, "patch_size": v.patch, "embedding_length": v.width, "feed_forward_length": v.feed,
		"block_count": v.layers, "attention.head_count": v.heads, "projection_dim": embedding, "projector.scale_factor": v.merge, "spatial_merge_size": v.merge,
	} {
		m.Number(".vision."+key, n)
	}
	m.Float(".vision.attention.layer_norm_epsilon", 1e-6)
	m.Floats(".vision.image_mean", []float32{0.5, 0.5, 0.5})
	m.Floats(".vision.image_std", []float32{0.5, 0.5, 0.5})
	m.Flag(".use_gelu", true)
	m.Tensor("v.patch_embd.weight", f32, v.patch, v.patch, 3, v.width)
	m.bias("v.patch_embd", v.width)
	switch side := v.image / v.patch; v.kind {
	case "gemma4v": // one table for each direction
		m.Tensor("v.position_embd.weight", f32, v.width, 10240, 2)
	case "pixtral":
	default:
		m.Tensor("v.position_embd.weight", f32, v.width, side*side)
	}
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
		if v.kind == "qwen3vl_merger" {
			matrix("attn_qkv", v.width, 3*v.width)
		} else {
			matrix("attn_q", v.width, v.width)
			matrix("attn_k", v.width, v.width)
			matrix("attn_v", v.width, v.width)
		}
		matrix("attn_out", v.width, v.width)
		if v.kind == "pixtral" || v.kind == "gemma4v" {
			matrix("ffn_gate", v.width, v.feed)
		}
		matrix("ffn_up", v.width, v.feed)
		matrix("ffn_down", v.feed, v.width)
	}
	switch v.kind {
	case "gemma3":
		m.norm("v.post_ln", v.width)
		m.bias("v.post_ln", v.width)
		m.matrix("mm.input_projection", embedding, v.width)
		m.norm("mm.soft_emb_norm", v.width)
	case "gemma4v":
		m.matrix("mm.input_projection", v.width, embedding)
	case "qwen3vl_merger":
		m.Tensor("v.patch_embd.weight.1", f32, v.patch, v.patch, 3, v.width)
		m.norm("v.post_ln", v.width)
		m.bias("v.post_ln", v.width)
		m.matrix("mm.0", 4*v.width, 4*v.width)
		m.bias("mm.0", 4*v.width)
		m.matrix("mm.2", 4*v.width, embedding)
		m.bias("mm.2", embedding)
	case "pixtral":
		m.norm("v.pre_ln", v.width)
		m.norm("mm.input_norm", v.width)
		m.matrix("mm.patch_merger", v.merge*v.merge*v.width, v.width)
		m.matrix("mm.1", v.width, embedding)
		m.matrix("mm.2", embedding, embedding)
		m.Tensor("v.token_embd.img_break", f32, embedding)
	}
	return m
}
