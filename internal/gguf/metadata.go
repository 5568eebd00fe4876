package gguf

import (
	"fmt"
	"slices"
	"strings"
)

// metadata are the keys of a header that callers may need: short texts,
// integers, arrays with an element for each layer, and lengths of longer ones.
type metadata struct {
	texts   map[string]string
	numbers map[string]int64
	arrays  map[string][]int64
	lengths map[string]int64
	kept    int    // elements in arrays
	chat    string // Header.Chat
	err     error
}

func (s *scanner) metadata(keys int64) *metadata {
	m := &metadata{map[string]string{}, map[string]int64{}, map[string][]int64{}, map[string]int64{}, 0, "", nil}
	seen := map[string]bool{}
	for range keys {
		if s.err != nil {
			break
		}
		key := s.text("a key")
		if seen[key] && s.err == nil {
			s.fail("the header has the key %s twice; the file is damaged", key)
		}
		seen[key] = true
		s.value(m, key, s.uint32())
	}
	return m
}

// value reads one value and keeps it if callers may need it.
func (s *scanner) value(m *metadata, key string, typ uint32) {
	switch {
	case s.err != nil:
	case typ >= uint32(len(widths)):
		s.fail("%s has the unknown type %d; the file is damaged, or newer than this aisync", key, typ)
	case typ == typeString && key == "tokenizer.chat_template":
		m.chat = chatForm(s.textUpTo(key, maxTemplate))
	case typ == typeString && strings.HasPrefix(key, "tokenizer."):
		s.skip(s.length(key))
	case typ == typeString:
		m.texts[key] = s.text(key)
	case typ == typeArray:
		s.array(m, key, 0)
	case typ == typeFloat32 || typ == typeFloat64:
		s.skip(widths[typ])
	default:
		m.numbers[key] = s.number(typ)
	}
}

func (s *scanner) array(m *metadata, key string, depth int) {
	typ, n := s.uint32(), s.uint64()
	switch {
	case s.err != nil:
		return
	case depth >= maxDepth:
		s.fail("%s is an array within more than %d arrays; the file is damaged", key, maxDepth)
		return
	case typ >= uint32(len(widths)):
		s.fail("%s is an array of the unknown type %d; the file is damaged, or newer than this aisync", key, typ)
		return
	}
	width := widths[typ]
	least := map[uint32]int64{typeString: 8, typeArray: 12}[typ] + width
	if n > uint64(s.left()/least) {
		s.fail("the header says that %s has %d members, which is more than is left of the header; the file is damaged", key, n)
		return
	}
	m.lengths[key] = int64(n)
	for i := int64(0); i < int64(n) && s.err == nil; i++ {
		switch {
		case typ == typeString:
			s.skip(s.length(key))
		case typ == typeArray:
			s.array(m, key, depth+1)
		case n > maxBlocks || m.kept > 16*maxBlocks || typ == typeFloat32 || typ == typeFloat64:
			s.skip(width * (int64(n) - i))
			return
		default:
			m.arrays[key] = append(m.arrays[key], s.number(typ))
			m.kept++
		}
	}
}

// damaged records an impossible value.
func (m *metadata) damaged(key string, n int64) {
	if m.err == nil {
		m.err = fmt.Errorf("%s is %d, which no model has; the file is damaged", key, n)
	}
}

// number returns a number of at most most, or other if the file does not have
// it.
func (m *metadata) number(key string, most, other int64) int64 {
	n, ok := m.numbers[key]
	if !ok {
		return other
	}
	if n < 0 || n > most {
		m.damaged(key, n)
		return other
	}
	return n
}

// layers returns a number for each layer: the file's array, or its one number
// for all, or other.
func (m *metadata) layers(key string, blocks int, other int64) []int64 {
	out := make([]int64, blocks)
	one := m.number(key, maxLength, other)
	each, ok := m.arrays[key]
	for i := range out {
		out[i] = one
		if ok && i < len(each) {
			out[i] = each[i]
		} else if ok {
			out[i] = 0
		}
		if out[i] < 0 || out[i] > maxLength {
			m.damaged(key, out[i])
			out[i] = 0
		}
	}
	return out
}

// flags returns a flag for each layer, or nil if the file has no such list.
func (m *metadata) flags(key string) []bool {
	each, ok := m.arrays[key]
	if !ok {
		return nil
	}
	out := make([]bool, len(each))
	for i, n := range each {
		out[i] = n != 0
	}
	return out
}

// header returns the metadata; everything but tensors.
func (m *metadata) header() (Header, error) {
	h := Header{Arch: m.texts["general.architecture"], Name: m.texts["general.name"], Chat: m.chat, FileType: m.number("general.file_type", maxCount, 0)}
	h.Split = Split{int(m.number("split.no", maxCount, 0)), int(m.number("split.count", maxCount, 0)), m.number("split.tensors.count", maxCount, 0)}
	if h.Split.Count > 0 && h.Split.No >= h.Split.Count {
		m.damaged("split.no", int64(h.Split.No))
	}
	of := func(key string, most, other int64) int64 { return m.number(h.Arch+"."+key, most, other) }
	h.Blocks = int(of("block_count", maxBlocks, 0))
	h.Predicting = int(min(of("nextn_predict_layers", maxBlocks, 0), int64(h.Blocks)))
	h.SharedKV = int(min(of("attention.shared_kv_layers", maxBlocks, 0), int64(h.Blocks)))
	h.Context = of("context_length", maxCount, 0)
	h.Embedding = of("embedding_length", maxLength, 0)
	if h.Vocab = m.lengths["tokenizer.ggml.tokens"]; h.Vocab == 0 {
		h.Vocab = of("vocab_size", maxCount, 0)
	}
	m.attention(&h, of)
	h.SSM = SSM{
		Conv: of("ssm.conv_kernel", maxFew, 0), Groups: of("ssm.group_count", maxFew, 0),
		Inner: of("ssm.inner_size", maxLength, 0), State: of("ssm.state_size", maxLength, 0),
		ShortConv: of("shortconv.l_cache", maxFew, 0), KDAHead: of("kda.head_dim", maxFew, 0),
		HeadSize: of("wkv.head_size", maxFew, 0), TokenShift: of("token_shift_count", maxFew, 0),
	}
	h.Experts, h.ExpertsUsed = of("expert_count", maxFew, 0), of("expert_used_count", maxFew, 0)
	h.ExpertFeed = of("expert_feed_forward_length", maxLength, 0)
	return h, m.err
}

// attention fills in heads, windows and the kinds of layers, with the defaults
// of llama_model_base::load_hparams.
func (m *metadata) attention(h *Header, of func(key string, most, other int64) int64) {
	h.HeadCount = m.layers(h.Arch+".attention.head_count", h.Blocks, 0)
	h.HeadCountKV = h.HeadCount
	if key := h.Arch + ".attention.head_count_kv"; m.has(key) {
		h.HeadCountKV = m.layers(key, h.Blocks, 0)
	}
	h.FeedForward = m.layers(h.Arch+".feed_forward_length", h.Blocks, 0)
	var length int64
	if heads := slices.Max(append([]int64{0}, h.HeadCount...)); heads > 0 {
		length = h.Embedding / heads
	}
	h.KeyLen, h.ValueLen = of("attention.key_length", maxLength, length), of("attention.value_length", maxLength, length)
	h.KeyLenMLA = of("attention.key_length_mla", maxLength, 0)
	h.KeyLenSWA, h.ValueLenSWA = of("attention.key_length_swa", maxLength, h.KeyLen), of("attention.value_length_swa", maxLength, h.ValueLen)
	h.SlidingWindow = of("attention.sliding_window", maxCount, 0)
	h.WindowPeriod = of("attention.sliding_window_pattern", maxBlocks, -1)
	h.WindowLayers = m.flags(h.Arch + ".attention.sliding_window_pattern")
	h.FullAttentionInterval = of("full_attention_interval", maxBlocks, 0)
	h.RecurrentLayers = m.flags(h.Arch + ".attention.recurrent_layers")
}

func (m *metadata) has(key string) bool {
	_, number := m.numbers[key]
	_, array := m.arrays[key]
	return number || array
}
