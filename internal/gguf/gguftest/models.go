package gguftest

import (
	"cmp"
	"fmt"
)

// width is what a model's tensors are as wide as.
type width struct {
	layers, embedding, feed, heads, cached, head, vocabulary, context int

	experts, used, expert, shared int
	tied                          bool   // the output is the embedding
	ends                          string // name of the norm before the output, if it is not the usual one
	chat                          string // chat template; "": ChatML's
}

// start returns a model with what all have.
func start(name, arch string, weights uint32, w width) *Model {
	m := &Model{Name: name, Arch: arch, vocab: w.vocabulary, weights: weights}
	m.Text("general.architecture", arch)
	m.Text("general.name", name)
	for key, n := range map[string]int{
		".context_length": w.context, ".embedding_length": w.embedding, ".block_count": w.layers,
		".vocab_size": w.vocabulary, ".expert_count": w.experts, ".expert_used_count": w.used,
		".expert_feed_forward_length": w.expert, ".rope.dimension_count": w.head,
	} {
		if n > 0 {
			m.Number(key, n)
		}
	}
	if w.heads > 0 {
		m.Number(".attention.head_count", w.heads)
	}
	m.Float(".attention.layer_norm_rms_epsilon", 1e-5)
	m.vocabulary(w.vocabulary, cmp.Or(w.chat, chatML))
	m.Tensor("token_embd.weight", weights, w.embedding, w.vocabulary)
	m.norm(w.last(), w.embedding)
	if !w.tied {
		m.Tensor("output.weight", max(weights, q6K), w.embedding, w.vocabulary)
	}
	return m
}

// last is the name of the norm before the output.
func (w width) last() string {
	if w.ends != "" {
		return w.ends
	}
	return "output_norm"
}

// attention sets the keys of layers that all have the same heads.
func (m *Model) attention(w width) {
	m.Number(".attention.head_count_kv", w.cached)
	m.Number(".attention.key_length", w.head)
	m.Number(".attention.value_length", w.head)
}

func (m *Model) norm(name string, n int)         { m.Tensor(name+".weight", f32, n) }
func (m *Model) bias(name string, n int)         { m.Tensor(name+".bias", f32, n) }
func (m *Model) matrix(name string, dims ...int) { m.Tensor(name+".weight", m.weights, dims...) }

func blk(i int, name string) string { return fmt.Sprintf("blk.%d.%s", i, name) }

// heads are the attention of layer i.
func (m *Model) heads(i int, w width) {
	m.norm(blk(i, "attn_norm"), w.embedding)
	m.matrix(blk(i, "attn_q"), w.embedding, w.heads*w.head)
	m.matrix(blk(i, "attn_k"), w.embedding, w.cached*w.head)
	m.matrix(blk(i, "attn_v"), w.embedding, w.cached*w.head)
	m.matrix(blk(i, "attn_output"), w.heads*w.head, w.embedding)
}

func (m *Model) headNorms(i int, w width) {
	m.norm(blk(i, "attn_q_norm"), w.head)
	m.norm(blk(i, "attn_k_norm"), w.head)
}

// feed is the feed-forward part of layer i.
func (m *Model) feed(i int, suffix string, embedding, n int) {
	m.matrix(blk(i, "ffn_gate"+suffix), embedding, n)
	m.matrix(blk(i, "ffn_up"+suffix), embedding, n)
	m.matrix(blk(i, "ffn_down"+suffix), n, embedding)
}

// mixture are the experts of layer i.
func (m *Model) mixture(i int, w width) {
	m.Tensor(blk(i, "ffn_gate_inp.weight"), f32, w.embedding, w.experts)
	m.matrix(blk(i, "ffn_gate_exps"), w.embedding, w.expert, w.experts)
	m.matrix(blk(i, "ffn_up_exps"), w.embedding, w.expert, w.experts)
	m.matrix(blk(i, "ffn_down_exps"), w.expert, w.embedding, w.experts)
}

// dense is a model of plain layers; more adds what a family has besides.
func dense(name, arch string, weights uint32, w width, more func(m *Model, i int)) *Model {
	m := start(name, arch, weights, w)
	m.attention(w)
	m.Number(".feed_forward_length", max(w.feed, 1))
	for i := range w.layers {
		m.heads(i, w)
		m.norm(blk(i, "ffn_norm"), w.embedding)
		switch {
		case w.experts > 0:
			m.mixture(i, w)
		default:
			m.feed(i, "", w.embedding, w.feed)
		}
		if more != nil {
			more(m, i)
		}
	}
	return m
}
