package gguftest

// Models are published models, with the numbers of their configurations but for
// fewer layers and fewer experts, so that they load in a second.
func Models() []*Model {
	return []*Model{
		llama(), mistral(), qwen2(), qwen3(), qwen3moe(), qwen3next(), gemma2(), gemma3(), gptOss(), glm4moe(), deepseek2(), phi3(), mamba(), mamba2(), graniteHybrid(), lfm2(), falconH1(),
	}
}

func llama() *Model {
	w := width{layers: 4, embedding: 4096, feed: 14336, heads: 32, cached: 8, head: 128, vocabulary: 128256, context: 131072}
	return dense("Llama-3.1-8B", "llama", q4K, w, nil)
}

func mistral() *Model {
	w := width{layers: 2, embedding: 5120, feed: 32768, heads: 32, cached: 8, head: 128, vocabulary: 131072, context: 393216}
	return dense("Devstral-Small-2-24B", "mistral3", q4K, w, nil)
}

func qwen2() *Model {
	w := width{layers: 4, embedding: 5120, feed: 13824, heads: 40, cached: 8, head: 128, vocabulary: 152064, context: 32768}
	return dense("Qwen2.5-Coder-14B", "qwen2", q4K, w, func(m *Model, i int) {
		m.bias(blk(i, "attn_q"), w.heads*w.head)
		m.bias(blk(i, "attn_k"), w.cached*w.head)
		m.bias(blk(i, "attn_v"), w.cached*w.head)
	})
}

func qwen3() *Model {
	w := width{layers: 4, embedding: 4096, feed: 12288, heads: 32, cached: 8, head: 128, vocabulary: 151936, context: 40960}
	return dense("Qwen3-8B", "qwen3", q4K, w, func(m *Model, i int) { m.headNorms(i, w) })
}

func qwen3moe() *Model {
	w := width{layers: 4, embedding: 2048, heads: 32, cached: 4, head: 128, vocabulary: 151936, context: 262144, experts: 16, used: 8, expert: 768}
	return dense("Qwen3-Coder-30B-A3B", "qwen3moe", q4K, w, func(m *Model, i int) { m.headNorms(i, w) })
}

func qwen3next() *Model {
	w := width{layers: 8, embedding: 2048, heads: 16, cached: 2, head: 256, vocabulary: 151936, context: 262144, experts: 16, used: 10, expert: 512, shared: 512}
	m := start("Qwen3-Next-80B-A3B", "qwen3next", q4K, w)
	m.attention(w)
	m.Number(".expert_shared_feed_forward_length", w.shared)
	m.Number(".feed_forward_length", 5120)
	const inner, state, groups, ranks, conv = 4096, 128, 16, 32, 4
	m.state(conv, inner, state, groups, ranks)
	for i := range w.layers {
		if i%4 == 3 {
			m.norm(blk(i, "attn_norm"), w.embedding)
			m.matrix(blk(i, "attn_q"), w.embedding, 2*w.heads*w.head)
			m.matrix(blk(i, "attn_k"), w.embedding, w.cached*w.head)
			m.matrix(blk(i, "attn_v"), w.embedding, w.cached*w.head)
			m.matrix(blk(i, "attn_output"), w.heads*w.head, w.embedding)
			m.headNorms(i, w)
		} else {
			m.norm(blk(i, "attn_norm"), w.embedding)
			m.matrix(blk(i, "attn_qkv"), w.embedding, inner+2*groups*state)
			m.matrix(blk(i, "attn_gate"), w.embedding, inner)
			m.Tensor(blk(i, "ssm_conv1d.weight"), f32, conv, inner+2*groups*state)
			m.bias(blk(i, "ssm_dt"), ranks)
			m.Tensor(blk(i, "ssm_a"), f32, ranks)
			m.matrix(blk(i, "ssm_ba"), w.embedding, 2*ranks)
			m.norm(blk(i, "ssm_norm"), inner/ranks)
			m.matrix(blk(i, "ssm_out"), inner, w.embedding)
		}
		m.norm(blk(i, "post_attention_norm"), w.embedding)
		m.mixture(i, w)
		m.Tensor(blk(i, "ffn_gate_inp_shexp.weight"), f32, w.embedding)
		m.feed(i, "_shexp", w.embedding, w.shared)
	}
	return m
}

// state sets the keys of recurrent layers.
func (m *Model) state(conv, inner, state, groups, ranks int) {
	m.Number(".ssm.conv_kernel", conv)
	m.Number(".ssm.inner_size", inner)
	m.Number(".ssm.state_size", state)
	m.Number(".ssm.time_step_rank", ranks)
	if groups > 0 {
		m.Number(".ssm.group_count", groups)
	}
}

func gemma2() *Model {
	w := width{layers: 4, embedding: 3584, feed: 14336, heads: 16, cached: 8, head: 256, vocabulary: 256000, context: 8192, tied: true}
	m := dense("Gemma-2-9B", "gemma2", q4K, w, func(m *Model, i int) {
		m.norm(blk(i, "post_attention_norm"), w.embedding)
		m.norm(blk(i, "post_ffw_norm"), w.embedding)
	})
	m.Number(".attention.sliding_window", 4096)
	m.Float(".attn_logit_softcapping", 50)
	m.Float(".final_logit_softcapping", 30)
	return m
}

func gemma3() *Model {
	w := width{layers: 6, embedding: 3840, feed: 15360, heads: 16, cached: 8, head: 256, vocabulary: 262144, context: 131072, tied: true}
	m := dense("Gemma-3-12B", "gemma3", q4K, w, func(m *Model, i int) {
		m.norm(blk(i, "post_attention_norm"), w.embedding)
		m.norm(blk(i, "post_ffw_norm"), w.embedding)
		m.headNorms(i, w)
	})
	m.Number(".attention.sliding_window", 1024)
	return m
}

func gptOss() *Model {
	w := width{layers: 4, embedding: 2880, heads: 64, cached: 8, head: 64, vocabulary: 201088, context: 131072, experts: 8, used: 4, expert: 2880}
	m := start("gpt-oss-20b", "gpt-oss", q8_0, w)
	m.attention(w)
	m.Number(".feed_forward_length", 2880)
	m.Number(".attention.sliding_window", 128)
	for i := range w.layers {
		m.heads(i, w)
		m.bias(blk(i, "attn_q"), w.heads*w.head)
		m.bias(blk(i, "attn_k"), w.cached*w.head)
		m.bias(blk(i, "attn_v"), w.cached*w.head)
		m.bias(blk(i, "attn_output"), w.embedding)
		m.norm(blk(i, "post_attention_norm"), w.embedding)
		m.norm(blk(i, "attn_sinks"), w.heads)
		m.weights = mxfp4
		m.mixture(i, w)
		m.weights = q8_0
		m.bias(blk(i, "ffn_gate_inp"), w.experts)
		for _, name := range []string{"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"} {
			m.Tensor(blk(i, name)+".bias", f32, w.embedding, w.experts)
		}
	}
	return m
}

func glm4moe() *Model {
	w := width{layers: 8, embedding: 4096, feed: 10944, heads: 96, cached: 8, head: 128, vocabulary: 151552, context: 131072, experts: 8, used: 8, expert: 1408}
	m := start("GLM-4.5-Air", "glm4moe", q4K, w)
	m.attention(w)
	m.Number(".feed_forward_length", w.feed)
	m.Number(".leading_dense_block_count", 1)
	m.Number(".nextn_predict_layers", 1)
	m.Number(".expert_shared_count", 1)
	m.Number(".expert_gating_func", 2)
	for i := range w.layers {
		m.heads(i, w)
		m.bias(blk(i, "attn_q"), w.heads*w.head)
		m.bias(blk(i, "attn_k"), w.cached*w.head)
		m.bias(blk(i, "attn_v"), w.cached*w.head)
		m.norm(blk(i, "post_attention_norm"), w.embedding)
		if i == 0 {
			m.feed(i, "", w.embedding, w.feed)
		} else {
			m.mixture(i, w)
			m.Tensor(blk(i, "exp_probs_b.bias"), f32, w.experts)
			m.feed(i, "_shexp", w.embedding, w.expert)
		}
		if i == w.layers-1 {
			m.matrix(blk(i, "nextn.eh_proj"), 2*w.embedding, w.embedding)
			m.norm(blk(i, "nextn.enorm"), w.embedding)
			m.norm(blk(i, "nextn.hnorm"), w.embedding)
			m.norm(blk(i, "nextn.shared_head_norm"), w.embedding)
		}
	}
	return m
}

func deepseek2() *Model {
	w := width{layers: 4, embedding: 2048, feed: 10240, heads: 20, cached: 1, head: 64, vocabulary: 154880, context: 202752, experts: 16, used: 4, expert: 1536}
	m := start("GLM-4.7-Flash", "deepseek2", q4K, w)
	const queries, latent, rope, key, value = 768, 512, 64, 256, 256
	for k, n := range map[string]int{
		".attention.head_count_kv": 1, ".attention.key_length": latent + rope, ".attention.value_length": latent,
		".attention.key_length_mla": key, ".attention.value_length_mla": value, ".attention.kv_lora_rank": latent,
		".attention.q_lora_rank": queries, ".feed_forward_length": w.feed, ".leading_dense_block_count": 1, ".expert_shared_count": 1,
		".expert_gating_func": 2,
	} {
		m.Number(k, n)
	}
	m.Float(".expert_weights_scale", 1.8)
	for i := range w.layers {
		m.norm(blk(i, "attn_norm"), w.embedding)
		m.matrix(blk(i, "attn_q_a"), w.embedding, queries)
		m.norm(blk(i, "attn_q_a_norm"), queries)
		m.matrix(blk(i, "attn_q_b"), queries, w.heads*key)
		m.matrix(blk(i, "attn_kv_a_mqa"), w.embedding, latent+rope)
		m.norm(blk(i, "attn_kv_a_norm"), latent)
		m.matrix(blk(i, "attn_k_b"), key-rope, latent, w.heads)
		m.matrix(blk(i, "attn_v_b"), latent, value, w.heads)
		m.matrix(blk(i, "attn_output"), w.heads*value, w.embedding)
		m.norm(blk(i, "ffn_norm"), w.embedding)
		if i == 0 {
			m.feed(i, "", w.embedding, w.feed)
		} else {
			m.mixture(i, w)
			m.Tensor(blk(i, "exp_probs_b.bias"), f32, w.experts)
			m.feed(i, "_shexp", w.embedding, w.expert)
		}
	}
	return m
}

func phi3() *Model {
	w := width{layers: 4, embedding: 5120, feed: 17920, heads: 40, cached: 10, head: 128, vocabulary: 100352, context: 16384}
	m := start("Phi-4-14B", "phi3", q4K, w)
	m.attention(w)
	m.Number(".feed_forward_length", w.feed)
	m.Number(".rope.scaling.original_context_length", w.context)
	m.Number(".attention.sliding_window", 0)
	for i := range w.layers {
		m.norm(blk(i, "attn_norm"), w.embedding)
		m.matrix(blk(i, "attn_qkv"), w.embedding, (w.heads+2*w.cached)*w.head)
		m.matrix(blk(i, "attn_output"), w.heads*w.head, w.embedding)
		m.norm(blk(i, "ffn_norm"), w.embedding)
		m.matrix(blk(i, "ffn_up"), w.embedding, 2*w.feed)
		m.matrix(blk(i, "ffn_down"), w.feed, w.embedding)
	}
	return m
}

// Told is a small Llama with a chat template.
func Told(name, chat string) *Model {
	w := width{layers: 1, embedding: 64, feed: 64, heads: 2, cached: 2, head: 32, vocabulary: 512, context: 4096, tied: true, chat: chat}
	return dense(name, "llama", f32, w, nil)
}

// Long is as small, and reads prompts as long as those of agents.
func Long(chat string) *Model {
	w := width{layers: 1, embedding: 32, feed: 32, heads: 1, cached: 1, head: 32, vocabulary: 512, context: 131072, tied: true, chat: chat}
	return dense("long", "llama", f32, w, nil)
}

// Small are models that compute quickly and keep much of a conversation: one all of
// it, one in windows.
func Small() []*Model {
	w := width{layers: 6, embedding: 256, feed: 512, heads: 8, cached: 8, head: 128, vocabulary: 4096, context: 32768, tied: true}
	all := dense("all", "qwen3", q8_0, w, func(m *Model, i int) { m.headNorms(i, w) })
	windows := dense("windows", "gemma3", q8_0, w, func(m *Model, i int) {
		m.norm(blk(i, "post_attention_norm"), w.embedding)
		m.norm(blk(i, "post_ffw_norm"), w.embedding)
		m.headNorms(i, w)
	})
	windows.Number(".attention.sliding_window", 512)
	return []*Model{all, windows}
}
