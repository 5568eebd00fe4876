package gguf

import (
	"math/bits"
	"sort"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// packed are the types of tensors by number: how many numbers are packed in how
// many bytes. From the format's list and the blocks of ggml/src/ggml-common.h.
var packed = map[uint32]struct{ numbers, bytes int64 }{
	0: {1, 4}, 1: {1, 2}, 28: {1, 8}, 30: {1, 2}, // F32, F16, F64, BF16
	24: {1, 1}, 25: {1, 2}, 26: {1, 4}, 27: {1, 8}, // I8 … I64
	2: {32, 18}, 3: {32, 20}, 6: {32, 22}, 7: {32, 24}, 8: {32, 34}, 9: {32, 36}, // Q4_0 … Q8_1
	10: {256, 84}, 11: {256, 110}, 12: {256, 144}, 13: {256, 176}, 14: {256, 210}, 15: {256, 292}, // Q2_K … Q8_K
	16: {256, 66}, 17: {256, 74}, 22: {256, 82}, // IQ2_XXS, IQ2_XS, IQ2_S
	18: {256, 98}, 21: {256, 110}, // IQ3_XXS, IQ3_S
	19: {256, 50}, 29: {256, 56}, // IQ1_S, IQ1_M
	20: {32, 18}, 23: {256, 136}, // IQ4_NL, IQ4_XS
	34: {256, 54}, 35: {256, 66}, // TQ1_0, TQ2_0
	39: {32, 17}, 40: {64, 36}, // MXFP4, NVFP4
}

// tensor is the place of one tensor.
type tensor struct {
	name   string
	offset int64 // after the header
	bytes  int64 // -1: unknown type

	lengths [4]int64 // of its dimensions
}

// tensors reads the table of tensors and sums it up.
func (s *scanner) tensors(h *Header, m *metadata) error {
	align := m.number("general.alignment", maxCount, 32)
	if align < 1 || align > readSize || align&(align-1) != 0 {
		s.fail("general.alignment is %d, not a power of two; the file is damaged", align)
	}
	all := make([]tensor, 0, min(h.Tensors, 4096))
	for range h.Tensors {
		if s.err != nil {
			return s.err
		}
		all = append(all, s.tensor())
	}
	if s.err != nil {
		return s.err
	}
	if h.Arch == spec.ProjectorArch {
		p := m.projector(all)
		h.Projector = &p
	}
	h.HeaderBytes = (s.at + align - 1) / align * align
	room := s.size - h.HeaderBytes
	sort.SliceStable(all, func(i, j int) bool { return all[i].offset < all[j].offset })
	for i, t := range all {
		next := room
		if i+1 < len(all) {
			next = all[i+1].offset
		}
		if t.bytes < 0 { // all but the padding after it
			t.bytes = next - t.offset
		}
		if t.bytes < 0 || t.bytes > room || t.offset > room-t.bytes {
			s.fail("tensor %s ends after the file's %d bytes; the download is incomplete, or the file is damaged", t.name, s.size)
			return s.err
		}
		if i+1 < len(all) && t.offset+t.bytes > next {
			s.fail("tensors %s and %s overlap; the file is damaged", t.name, all[i+1].name)
			return s.err
		}
		h.TensorBytes += t.bytes
		if expert(t.name) {
			h.ExpertBytes += t.bytes
		}
	}
	return nil
}

// tensor reads one entry of the table.
func (s *scanner) tensor() tensor {
	t := tensor{name: s.text("a tensor's name")}
	dimensions := s.uint32()
	if s.err == nil && dimensions > 8 { // ggml has 4
		s.fail("tensor %s has %d dimensions; the file is damaged", t.name, dimensions)
	}
	if s.err != nil {
		return t
	}
	first, numbers := uint64(1), uint64(1)
	for i := range dimensions {
		n := s.uint64()
		over, product := bits.Mul64(numbers, n)
		if over != 0 || product > 1<<56 {
			s.fail("tensor %s has more numbers than any file can hold; the file is damaged", t.name)
			return t
		}
		if numbers = product; i == 0 {
			first = n
		}
		if int(i) < len(t.lengths) {
			t.lengths[i] = int64(n)
		}
	}
	typ, offset := s.uint32(), s.uint64()
	if s.err == nil && offset > uint64(max(s.size, 0)) {
		s.fail("tensor %s begins after the file's %d bytes; the download is incomplete, or the file is damaged", t.name, s.size)
	}
	t.offset, t.bytes = int64(offset), -1
	if p, ok := packed[typ]; ok && s.err == nil {
		if first%uint64(p.numbers) != 0 {
			s.fail("tensor %s has rows of %d numbers, which its type %d packs by %d; the file is damaged", t.name, first, typ, p.numbers)
			return t
		}
		t.bytes = int64(numbers) / p.numbers * p.bytes
	}
	return t
}

// expert reports whether a tensor belongs to the experts, of which each token
// uses only some: those that llama-server --cpu-moe leaves in main memory.
func expert(name string) bool {
	return strings.Contains(name, "_exps.") || strings.Contains(name, "_chexps.") || strings.HasSuffix(name, "_exps")
}
