package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

// shape reads a header and returns its model's shape.
func shape(t *testing.T, f *file) spec.Shape {
	t.Helper()
	b := f.done(3)
	h, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Shape(h)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestARealFileIsRead(t *testing.T) {
	h, err := ReadFile("../../golden/contract/models/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	if h.Version != 3 || h.Arch != "llama" || h.Name != "aisync-tiny" || h.Context != 2048 || h.Blocks != 2 || h.Vocab != 288 || h.Tensors != 21 || h.ExpertBytes != 0 {
		t.Errorf("%+v", h)
	}
	if h.HeaderBytes != 6720 || h.HeaderBytes+h.TensorBytes != 483136 {
		t.Errorf("the header has %d bytes and the tensors %d, of a file of 483136", h.HeaderBytes, h.TensorBytes)
	}
	s, err := Shape(h)
	if err != nil || s.Attention != 2 || s.Key != 128 || s.Value != 128 || s.Embedding != 64 {
		t.Errorf("%v %+v", err, s)
	}
}

// The numbers of the config.json of Qwen/Qwen3-Coder-30B-A3B-Instruct and of
// Qwen/Qwen3-Next-80B-A3B-Instruct under llama.cpp's names.
var (
	coder = map[string]int{
		"block_count": 48, "context_length": 262144, "embedding_length": 2048, "vocab_size": 151936,
		"attention.head_count": 32, "attention.head_count_kv": 4, "attention.key_length": 128, "attention.value_length": 128,
		"expert_count": 128, "expert_used_count": 8,
	}
	next = map[string]int{
		"block_count": 48, "context_length": 262144, "embedding_length": 2048, "vocab_size": 151936,
		"attention.head_count": 16, "attention.head_count_kv": 2, "attention.key_length": 256, "attention.value_length": 256,
		"full_attention_interval": 4, "ssm.conv_kernel": 4, "ssm.inner_size": 4096, "ssm.state_size": 128, "ssm.group_count": 16,
		"expert_count": 512, "expert_used_count": 10,
	}
)

func with(m map[string]int, more map[string]int) map[string]int {
	out := map[string]int{}
	for _, part := range []map[string]int{m, more} {
		for k, v := range part {
			if out[k] = v; v < 0 {
				delete(out, k)
			}
		}
	}
	return out
}

func TestEveryKindOfLayerIsCounted(t *testing.T) {
	plain := map[string]int{"block_count": 12, "embedding_length": 1024, "attention.head_count": 8, "attention.head_count_kv": 2}
	const kv = 2 * 128 // of one layer of plain
	windowed := with(plain, map[string]int{"attention.sliding_window": 1000})
	type counts struct{ attention, key, windowed, windowKey, window, recurrent, state int64 }
	for name, c := range map[string]struct {
		arch    string
		numbers map[string]int
		add     func(*file)
		want    counts
	}{
		"all attention":            {arch: "qwen3moe", numbers: coder, want: counts{attention: 48, key: 48 * 512}},
		"one in four":              {arch: "qwen3next", numbers: next, want: counts{attention: 12, key: 12 * 512, recurrent: 36, state: 36 * 2_195_456}},
		"one in four, by its name": {arch: "qwen3next", numbers: with(next, map[string]int{"full_attention_interval": -1}), want: counts{attention: 12, key: 12 * 512, recurrent: 36, state: 36 * 2_195_456}},
		"one more that predicts":   {arch: "qwen3next", numbers: with(next, map[string]int{"block_count": 49, "nextn_predict_layers": 1}), want: counts{attention: 12, key: 12 * 512, recurrent: 36, state: 36 * 2_195_456}},
		"listed": {"qwen35", with(plain, map[string]int{"ssm.inner_size": 10, "ssm.state_size": 4}), func(f *file) {
			f.flags("qwen35.attention.recurrent_layers", true, true, false, true, true, true, true, true, true, true, true, true)
		}, counts{attention: 1, key: kv, recurrent: 11, state: 11 * 160}},
		"as many heads as the query":        {arch: "llama", numbers: with(plain, map[string]int{"attention.head_count_kv": -1}), want: counts{attention: 12, key: 12 * 1024}},
		"heads by layer, none is recurrent": {"jamba", map[string]int{"block_count": 4, "embedding_length": 64, "attention.head_count": 2, "ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16}, func(f *file) { f.ints("jamba.attention.head_count_kv", 0, 2, 0, 0) }, counts{attention: 1, key: 64, recurrent: 3, state: 3 * 4 * (3*128 + 16*128)}},
		"heads by layer, none is nothing":   {"deci", plainWithout(plain), func(f *file) { f.ints("deci.attention.head_count_kv", 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0) }, counts{attention: 2, key: 6 * 128}},
		"feed forward only": {"nemotron_h", map[string]int{"block_count": 3, "embedding_length": 64, "attention.head_count": 2, "ssm.inner_size": 8, "ssm.state_size": 2}, func(f *file) {
			f.ints("nemotron_h.attention.head_count_kv", 0, 1, 0)
			f.ints("nemotron_h.feed_forward_length", 0, 0, 9)
		}, counts{attention: 1, key: 32, recurrent: 1, state: 64}},
		"a state in every layer":         {arch: "mamba2", numbers: map[string]int{"block_count": 2, "embedding_length": 64, "ssm.conv_kernel": 4, "ssm.inner_size": 8, "ssm.state_size": 2, "ssm.group_count": 1}, want: counts{recurrent: 2, state: 2 * 4 * (3*12 + 16)}},
		"both in every layer":            {arch: "falcon-h1", numbers: with(plain, map[string]int{"ssm.inner_size": 8, "ssm.state_size": 2}), want: counts{attention: 12, key: 12 * kv, recurrent: 12, state: 12 * 64}},
		"short convolutions":             {"lfm2", map[string]int{"block_count": 2, "embedding_length": 64, "attention.head_count": 2, "shortconv.l_cache": 3}, func(f *file) { f.ints("lfm2.attention.head_count_kv", 0, 1) }, counts{attention: 1, key: 32, recurrent: 1, state: 4 * 64 * 2}},
		"RWKV":                           {arch: "rwkv7", numbers: map[string]int{"block_count": 2, "embedding_length": 64, "wkv.head_size": 16, "token_shift_count": 2}, want: counts{recurrent: 2, state: 2 * 4 * (2*64 + 64*16)}},
		"windows, five of six":           {arch: "gemma3", numbers: windowed, want: counts{attention: 2, key: 2 * kv, windowed: 10, windowKey: 10 * kv, window: 1000}},
		"windows, a period of the file":  {arch: "gemma3", numbers: with(windowed, map[string]int{"attention.sliding_window_pattern": 3}), want: counts{attention: 4, key: 4 * kv, windowed: 8, windowKey: 8 * kv, window: 1000}},
		"windows in all layers":          {arch: "new", numbers: with(windowed, map[string]int{"attention.sliding_window_pattern": 0}), want: counts{windowed: 12, windowKey: 12 * kv, window: 1000}},
		"windows, the first has none":    {arch: "smallthinker", numbers: plain, want: counts{attention: 3, key: 3 * kv, windowed: 9, windowKey: 9 * kv, window: 4096}},
		"windows, listed":                {"gemma4", with(windowed, map[string]int{"attention.key_length_swa": 64, "attention.value_length_swa": 64}), func(f *file) { f.flags("gemma4.attention.sliding_window_pattern", true, true) }, counts{attention: 10, key: 10 * kv, windowed: 2, windowKey: 2 * 128, window: 1000}},
		"a window that no program minds": {arch: "llama", numbers: windowed, want: counts{attention: 12, key: 12 * kv}},
		"the last use another one's":     {arch: "gemma3n", numbers: with(windowed, map[string]int{"attention.shared_kv_layers": 7}), want: counts{attention: 1, key: kv, windowed: 4, windowKey: 4 * kv, window: 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			f := model(c.arch, c.numbers)
			if c.add != nil {
				c.add(f)
			}
			s := shape(t, f)
			got := counts{s.Attention, s.Key, s.Windowed, s.WindowKey, s.Window, s.Recurrent, s.State}
			if got != c.want {
				t.Errorf("\n got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func plainWithout(m map[string]int) map[string]int {
	return with(m, map[string]int{"attention.head_count_kv": -1})
}

func TestLatentAttentionKeepsKeysOnly(t *testing.T) {
	s := shape(t, model("deepseek2", map[string]int{"block_count": 61, "embedding_length": 7168, "attention.head_count": 128, "attention.head_count_kv": 1,
		"attention.key_length": 576, "attention.value_length": 512, "attention.key_length_mla": 192}))
	if s.Key != 61*576 || s.Value != 0 {
		t.Errorf("%d and %d numbers for a token", s.Key, s.Value)
	}
}

func TestTensorsAreCountedToTheByte(t *testing.T) {
	f := model("x", map[string]int{"block_count": 1, "embedding_length": 256})
	f.tensor("token_embd.weight", 12, 0, 256, 10)               // 1440 bytes
	f.tensor("blk.0.ffn_down_exps.weight", 14, 1440, 256, 2, 4) // 1680
	f.tensor("blk.0.ffn_up_exps.weight", 99, 3136, 256, 2, 4)   // a type of the future: up to the next one
	f.tensor("blk.0.ffn_down_shexp.weight", 0, 4128, 3)         // 12
	b := f.done(3)
	header := int64(len(b)+31) / 32 * 32
	h, err := Read(&padded{header: b, size: header + 5000}, header+5000)
	if err != nil || h.TensorBytes != 1440+1680+992+12 || h.ExpertBytes != 1680+992 || h.HeaderBytes != header {
		t.Errorf("%v %+v", err, h)
	}
	for name, size := range map[string]int64{"within the tensors": header + 4139, "before the tensors": header + 100, "before their table ends": int64(len(b)) - 3} {
		if _, err := Read(&padded{header: b, size: size}, size); err == nil || !strings.Contains(err.Error(), "download is incomplete") || errors.Is(err, ErrNotGGUF) {
			t.Errorf("cut %s: %v", name, err)
		}
	}
}

func TestOnlyTheHeaderOfAHugeFileIsRead(t *testing.T) {
	f := model("qwen3moe", coder)
	f.tokens(200_000)
	f.tensor("blk.0.ffn_up_exps.weight", 0, 0, 1<<20, 1<<13)
	b := f.done(2)
	p := &padded{header: b, size: 48 << 30}
	h, err := Read(p, p.size)
	if err != nil || h.Vocab != 200_000 || h.Version != 2 || h.ExpertBytes != 32<<30 {
		t.Fatalf("%v %+v", err, h)
	}
	if p.read > int64(len(b))+readSize {
		t.Errorf("read up to byte %d for a header of %d", p.read, len(b))
	}
}

func TestShardsAreOneModel(t *testing.T) {
	shard := func(no, count int, first bool) Header {
		f := &file{}
		if first {
			f = model("qwen3moe", coder)
		}
		f.num("split.no", no)
		f.num("split.count", count)
		f.tensor("blk.0.ffn_up_exps.weight", 0, 0, 100)
		b := f.done(3)
		h, err := Read(&padded{header: b, size: 1 << 20}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	s, err := Shape(shard(0, 2, true), shard(1, 2, false))
	if err != nil || s.TensorBytes != 800 || s.ExpertsBytes != 800 || s.Attention != 48 {
		t.Errorf("%v %+v", err, s)
	}
	for want, shards := range map[string][]Header{
		"2 files, but 1 headers":  {shard(0, 2, true)},
		"says that it is shard 2": {shard(1, 2, true), shard(0, 2, true)},
		"not a language model":    {{Arch: "imatrix"}},
		"no header":               nil,
	} {
		if _, err := Shape(shards...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestNonGGUFFileIsNamed(t *testing.T) {
	for content, want := range map[string]string{
		"": "empty", "GG": `"GG"`, "<!DOCTYPE html>": "web page", "\n <html>": "web page", `{"error":"gated"}`: "JSON",
		"version https://git-lfs.github.com/spec/v1\n": "LFS pointer", "PK\x03\x04": "zip", "tjgg\x03\x00": "GGJT",
		"\x10\x01\x00\x00\x00\x00\x00\x00{\"__metadata__\"": "safetensors", strings.Repeat("\x00", 100): "zeros",
	} {
		_, err := Read(strings.NewReader(content), int64(len(content)))
		if !errors.Is(err, ErrNotGGUF) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
	path := filepath.Join(t.TempDir(), "x.gguf")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); !errors.Is(err, ErrNotGGUF) || !strings.Contains(err.Error(), path) {
		t.Errorf("the file is not named: %v", err)
	}
}

func TestADamagedHeaderIsRefused(t *testing.T) {
	head := func(version uint32, tensors, keys uint64) *file {
		return (&file{}).raw([]byte("GGUF")).u32(version).u64(tensors).u64(keys)
	}
	add := func(arch string, numbers map[string]int, more func(*file)) []byte {
		f := model(arch, numbers)
		more(f)
		return f.done(3)
	}
	big := binary.BigEndian.AppendUint32([]byte("GGUF"), 3)
	deep := &file{}
	for range 100 {
		deep.u32(typeArray).u64(1)
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"big-endian":             {append(big, make([]byte, 100)...), "big-endian"},
		"version 1":              {head(1, 0, 0).Bytes(), "version 1"},
		"version 4":              {head(4, 0, 0).Bytes(), "upgrade"},
		"too many tensors":       {append(head(3, 1<<40, 0).Bytes(), make([]byte, 100)...), "tensors"},
		"more keys than bytes":   {append(head(3, 0, 60000).Bytes(), make([]byte, 100)...), "60000 keys"},
		"a long string":          {head(3, 0, 1).u64(1 << 62).raw(make([]byte, 20)).Bytes(), "a key at byte 24 is said to be"},
		"a long array":           {add("x", nil, func(f *file) { f.key("a").u32(typeArray).u32(typeUint8).u64(1 << 60) }), "1152921504606846976 members"},
		"an unknown type":        {add("x", nil, func(f *file) { f.key("a").u32(13).u64(1) }), "unknown type 13"},
		"an unknown member type": {add("x", nil, func(f *file) { f.key("a").u32(typeArray).u32(77).u64(0) }), "unknown type 77"},
		"arrays in arrays":       {add("x", nil, func(f *file) { f.key("a").u32(typeArray).raw(deep.Bytes()).u64(0) }), "array within more than"},
		"a key twice":            {add("x", nil, func(f *file) { f.num("x.a", 1); f.num("x.a", 2) }), "x.a twice"},
		"a negative number":      {add("x", nil, func(f *file) { f.key("x.block_count").u32(typeInt32).u32(1<<32 - 1) }), "x.block_count is -1"},
		"a million layers":       {add("x", map[string]int{"block_count": 1_000_000}, func(*file) {}), "1000000"},
		"shard 3 of 2":           {add("x", map[string]int{}, func(f *file) { f.num("split.no", 2); f.num("split.count", 2) }), "split.no is 2"},
		"an odd alignment":       {add("x", nil, func(f *file) { f.num("general.alignment", 24) }), "alignment is 24"},
		"rows that do not pack":  {add("x", nil, func(f *file) { f.tensor("t", 12, 0, 100) }), "rows of 100"},
		"dimensions that wrap":   {add("x", nil, func(f *file) { f.tensor("t", 0, 0, 1<<32, 1<<32) }), "more numbers"},
		"many dimensions":        {add("x", nil, func(f *file) { f.tensor("t", 0, 0, make([]uint64, 9)...) }), "9 dimensions"},
		"an offset over the end": {append(add("x", nil, func(f *file) { f.tensor("t", 0, 1<<50, 64) }), make([]byte, 1024)...), "incomplete"},
		"more than the file has": {append(add("x", nil, func(f *file) { f.tensor("t", 0, 0, 1<<40) }), make([]byte, 1024)...), "incomplete"},
		"an offset of 2^64":      {append(add("x", nil, func(f *file) { f.tensor("t", 0, 1<<64-32, 64) }), make([]byte, 1024)...), ""},
		"tensors that overlap":   {append(add("x", nil, func(f *file) { f.tensor("t", 0, 0, 64); f.tensor("u", 0, 32, 64) }), make([]byte, 1024)...), "overlap"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(c.b), int64(len(c.b)))
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrNotGGUF) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

func TestAHeaderWithoutEndIsNotReadToTheEnd(t *testing.T) {
	f := (&file{}).raw([]byte("GGUF")).u32(3).u64(0).u64(2).str("tokenizer.x").u32(typeArray).u32(typeFloat64).u64(1 << 24)
	p := &padded{header: f.Bytes(), size: 48 << 30}
	if _, err := Read(p, p.size); err == nil || p.read > maxHeader+readSize {
		t.Errorf("%v, read up to byte %d", err, p.read)
	}
}

type broken struct{ error }

func (b broken) ReadAt([]byte, int64) (int, error) { return 0, b.error }

func TestAnErrorOfTheReaderIsNotTheFilesFault(t *testing.T) {
	want := errors.New("the line is dead")
	if _, err := Read(broken{want}, 1<<30); !errors.Is(err, want) || errors.Is(err, ErrNotGGUF) {
		t.Error(err)
	}
	if _, err := Read(broken{io.EOF}, 1<<30); err == nil {
		t.Error("nothing was read and nothing said")
	}
}
