package gguftest

import "slices"

func mamba() *Model {
	w := width{layers: 8, embedding: 4096, vocabulary: 65024, context: 1048576, tied: true}
	m := start("Falcon-Mamba-7B", "mamba", q4K, w)
	const inner, state, ranks, conv = 8192, 16, 256, 4
	m.state(conv, inner, state, 0, ranks)
	m.Number(".attention.head_count", 0)
	m.Number(".feed_forward_length", 0)
	m.Flag(".ssm.dt_b_c_rms", true)
	for i := range w.layers {
		m.norm(blk(i, "attn_norm"), w.embedding)
		m.matrix(blk(i, "ssm_in"), w.embedding, 2*inner)
		m.Tensor(blk(i, "ssm_conv1d.weight"), f32, conv, inner)
		m.bias(blk(i, "ssm_conv1d"), inner)
		m.matrix(blk(i, "ssm_x"), inner, ranks+2*state)
		m.matrix(blk(i, "ssm_dt"), ranks, inner)
		m.bias(blk(i, "ssm_dt"), inner)
		m.Tensor(blk(i, "ssm_a"), f32, state, inner)
		m.Tensor(blk(i, "ssm_d"), f32, inner)
		m.matrix(blk(i, "ssm_out"), inner, w.embedding)
	}
	return m
}

// mamba2Parts are a recurrent layer with several heads.
func (m *Model) mamba2Parts(i, embedding, conv, inner, state, groups, heads int) {
	m.matrix(blk(i, "ssm_in"), embedding, 2*inner+2*groups*state+heads)
	m.Tensor(blk(i, "ssm_conv1d.weight"), f32, conv, inner+2*groups*state)
	m.bias(blk(i, "ssm_conv1d"), inner+2*groups*state)
	m.bias(blk(i, "ssm_dt"), heads)
	m.Tensor(blk(i, "ssm_a"), f32, 1, heads)
	m.Tensor(blk(i, "ssm_d"), f32, 1, heads)
	m.matrix(blk(i, "ssm_out"), inner, embedding)
}

func mamba2() *Model {
	w := width{layers: 8, embedding: 4096, vocabulary: 32768, context: 262144}
	m := start("Mamba-Codestral-7B", "mamba2", q4K, w)
	const inner, state, groups, heads, conv = 8192, 128, 8, 128, 4
	m.state(conv, inner, state, groups, heads)
	m.Number(".attention.head_count", 0)
	m.Number(".feed_forward_length", 0)
	for i := range w.layers {
		m.norm(blk(i, "attn_norm"), w.embedding)
		m.Tensor(blk(i, "ssm_norm.weight"), f32, inner/groups, groups)
		m.mamba2Parts(i, w.embedding, conv, inner, state, groups, heads)
	}
	return m
}

func graniteHybrid() *Model {
	w := width{layers: 12, embedding: 1536, heads: 12, cached: 4, head: 128, vocabulary: 100352, context: 131072, experts: 16, used: 6, expert: 512, shared: 1024, tied: true}
	const inner, state, groups, heads, conv = 3072, 128, 1, 48, 4
	m := start("Granite-4.0-H-Tiny", "granitehybrid", q4K, w)
	m.state(conv, inner, state, groups, heads)
	m.Number(".feed_forward_length", w.expert)
	m.Number(".expert_shared_feed_forward_length", w.shared)
	cached := make([]int32, w.layers)
	for _, i := range []int{5, 9} {
		cached[i] = int32(w.cached)
	}
	m.Numbers(".attention.head_count_kv", cached)
	for i := range w.layers {
		if cached[i] > 0 {
			m.heads(i, w)
		} else {
			m.norm(blk(i, "attn_norm"), w.embedding)
			m.norm(blk(i, "ssm_norm"), inner/groups)
			m.mamba2Parts(i, w.embedding, conv, inner, state, groups, heads)
		}
		m.norm(blk(i, "ffn_norm"), w.embedding)
		m.mixture(i, w)
		m.feed(i, "_shexp", w.embedding, w.shared)
	}
	return m
}

func lfm2() *Model {
	w := width{layers: 16, embedding: 2048, feed: 8192, heads: 32, cached: 8, head: 64, vocabulary: 65536, context: 128000, tied: true, ends: "token_embd_norm"}
	m := start("LFM2-1.2B", "lfm2", q4K, w)
	m.Number(".feed_forward_length", w.feed)
	m.Number(".shortconv.l_cache", 3)
	cached := make([]int32, w.layers)
	for i := range cached {
		if slices.Contains([]int{2, 5, 8, 10, 12, 14}, i) {
			cached[i] = int32(w.cached)
		}
	}
	m.Numbers(".attention.head_count_kv", cached)
	for i := range w.layers {
		if cached[i] > 0 {
			m.heads(i, w)
			m.headNorms(i, w)
		} else {
			m.norm(blk(i, "attn_norm"), w.embedding)
			m.Tensor(blk(i, "shortconv.conv.weight"), f32, 3, w.embedding)
			m.matrix(blk(i, "shortconv.in_proj"), w.embedding, 3*w.embedding)
			m.matrix(blk(i, "shortconv.out_proj"), w.embedding, w.embedding)
		}
		m.norm(blk(i, "ffn_norm"), w.embedding)
		m.feed(i, "", w.embedding, w.feed)
	}
	return m
}

func falconH1() *Model {
	w := width{layers: 4, embedding: 3072, feed: 12288, heads: 12, cached: 2, head: 128, vocabulary: 130048, context: 262144}
	const inner, state, groups, heads, conv = 3072, 256, 1, 24, 4
	m := start("Falcon-H1-7B", "falcon-h1", q4K, w)
	m.attention(w)
	m.Number(".feed_forward_length", w.feed)
	m.state(conv, inner, state, groups, heads)
	for i := range w.layers {
		m.heads(i, w)
		m.norm(blk(i, "ssm_norm"), inner/groups)
		m.mamba2Parts(i, w.embedding, conv, inner, state, groups, heads)
		m.Tensor(blk(i, "ffn_norm"), f32, w.embedding) // its loader has no suffix
		m.feed(i, "", w.embedding, w.feed)
	}
	return m
}
