package gguf

import (
	"bytes"
	"os"
	"testing"
)

// Whatever the bytes are, a header is read or refused: no panic, no number that
// cannot be, nothing kept that is much larger than the file.
func FuzzRead(f *testing.F) {
	tiny, err := os.ReadFile("../../golden/contract/models/tiny.gguf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tiny[:8192])
	hybrid := model("qwen3next", next)
	hybrid.tokens(3)
	hybrid.tensor("blk.0.ffn_up_exps.weight", 14, 0, 256, 2)
	f.Add(append(hybrid.done(3), make([]byte, 512)...))
	layers := model("gemma4", map[string]int{"block_count": 3, "embedding_length": 64, "attention.head_count": 2, "attention.sliding_window": 8})
	layers.ints("gemma4.attention.head_count_kv", 1, 0, 2)
	layers.flags("gemma4.attention.sliding_window_pattern", true, false, true)
	f.Add(layers.done(2))
	eye := model("clip", map[string]int{"vision.image_size": 64, "vision.patch_size": 8, "vision.embedding_length": 64, "vision.feed_forward_length": 128})
	eye.text("clip.projector_type", "gemma3")
	eye.tensor("mm.input_projection.weight", 0, 0, 2, 2)
	f.Add(append(eye.done(3), make([]byte, 64)...))
	wide := model("clip", map[string]int{"vision.image_size": 1 << 20, "vision.patch_size": 1, "vision.embedding_length": 1 << 20, "vision.spatial_merge_size": 1 << 20})
	wide.text("clip.projector_type", "pixtral")
	wide.tensor("mm.2.weight", 0, 0, 0, 1<<63)
	f.Add(append(wide.done(3), make([]byte, 64)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		if h.TensorBytes < 0 || h.TensorBytes > int64(len(b)) || h.ExpertBytes < 0 || h.ExpertBytes > h.TensorBytes || len(h.HeadCountKV) != h.Blocks {
			t.Fatalf("%+v", h)
		}
		s, err := Shape(h)
		if err != nil {
			return
		}
		for _, n := range []int64{s.Key, s.Value, s.WindowKey, s.WindowValue, s.State, s.Vocabulary, s.Embedding, s.Context, s.Picture} {
			if n < 0 || n > 1<<56 {
				t.Fatalf("%+v", s)
			}
		}
		if s.Attention+s.Windowed > s.Layers || s.Recurrent > s.Layers {
			t.Fatalf("%+v", s)
		}
	})
}
