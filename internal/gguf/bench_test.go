package gguf

import "testing"

// A vocabulary of Qwen3's size is most of a header.
func BenchmarkRead(b *testing.B) {
	f := model("qwen3moe", coder)
	f.tokens(151_936)
	p := &padded{header: f.done(3), size: 18 << 30}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(p, p.size); err != nil {
			b.Fatal(err)
		}
	}
}
