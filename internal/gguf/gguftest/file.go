// Package gguftest writes GGUF files of real architectures for tests: the keys and
// the tensors of published models, whose weights are holes, so that a file of any
// size costs its header. A real server loads and runs them; what they answer means
// nothing. Call Models, then Write.
package gguftest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
)

// Types of tensors, numbered as in the format.
const (
	f32   = uint32(0)
	f16   = uint32(1)
	q8_0  = uint32(8)
	q4K   = uint32(12)
	q6K   = uint32(14)
	mxfp4 = uint32(39)
)

// blocks are how many numbers a type packs in how many bytes.
var blocks = map[uint32][2]int64{f32: {1, 4}, f16: {1, 2}, q8_0: {32, 34}, q4K: {256, 144}, q6K: {256, 210}, mxfp4: {32, 17}}

// Model is a file to write.
type Model struct {
	Name string // of the published model
	Arch string

	vocab   int
	weights uint32 // type of matrices
	head    bytes.Buffer
	keys    uint64
	table   bytes.Buffer
	tensors uint64
	offset  int64
}

// Write writes the file; its weights are a hole.
func (m *Model) Write(path string) error {
	head := append([]byte("GGUF"), binary.LittleEndian.AppendUint32(nil, 3)...)
	head = binary.LittleEndian.AppendUint64(head, m.tensors)
	head = binary.LittleEndian.AppendUint64(head, m.keys)
	head = append(append(head, m.head.Bytes()...), m.table.Bytes()...)
	if err := os.WriteFile(path, head, 0o600); err != nil {
		return err
	}
	return os.Truncate(path, (int64(len(head))+31)/32*32+m.offset)
}

// Text, Number, Float, Flag, Numbers, Floats set a key; one that begins with a dot is the
// architecture's.
func (m *Model) Text(key, value string) {
	m.key(key, 8)
	text(&m.head, value)
}

func (m *Model) Number(key string, n int) {
	m.key(key, 4)
	u32(&m.head, uint32(n))
}

func (m *Model) Float(key string, n float32) {
	m.key(key, 6)
	_ = binary.Write(&m.head, binary.LittleEndian, n)
}

func (m *Model) Flag(key string, on bool) {
	m.key(key, 7)
	_ = binary.Write(&m.head, binary.LittleEndian, on)
}

func (m *Model) Numbers(key string, ns []int32) {
	m.array(key, 5, len(ns))
	_ = binary.Write(&m.head, binary.LittleEndian, ns)
}

func (m *Model) Floats(key string, ns []float32) {
	m.array(key, 6, len(ns))
	_ = binary.Write(&m.head, binary.LittleEndian, ns)
}

func (m *Model) Flags(key string, on []bool) {
	m.array(key, 7, len(on))
	_ = binary.Write(&m.head, binary.LittleEndian, on)
}

func (m *Model) Texts(key string, list []string) {
	m.array(key, 8, len(list))
	for _, s := range list {
		text(&m.head, s)
	}
}

func (m *Model) array(key string, typ uint32, n int) {
	m.key(key, 9)
	u32(&m.head, typ)
	u64(&m.head, uint64(n))
}

func (m *Model) key(key string, typ uint32) {
	m.keys++
	if key[0] == '.' {
		key = m.Arch + key
	}
	text(&m.head, key)
	u32(&m.head, typ)
}

// Tensor adds a tensor; rows that its type cannot pack are Q8_0, or else F16.
func (m *Model) Tensor(name string, typ uint32, dims ...int) {
	if int64(dims[0])%blocks[typ][0] != 0 {
		typ = cmp.Or(map[bool]uint32{true: q8_0}[dims[0]%32 == 0], f16)
	}
	m.tensors++
	text(&m.table, name)
	u32(&m.table, uint32(len(dims)))
	numbers := int64(1)
	for _, n := range dims {
		u64(&m.table, uint64(n))
		numbers *= int64(n)
	}
	u32(&m.table, typ)
	u64(&m.table, uint64(m.offset))
	m.offset += (numbers/blocks[typ][0]*blocks[typ][1] + 31) / 32 * 32
}

// chatML is a chat template without tools.
const chatML = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{'<|im_start|>assistant\n'}}{% endif %}"

// vocabulary writes the tokenizer: one token for each byte, ChatML's marks, what
// fills the list, and the chat template.
func (m *Model) vocabulary(n int, chat string) {
	tokens := make([]string, 0, n)
	types := make([]int32, 0, n)
	next := rune(256)
	for b := range 256 { // as GPT-2 writes bytes
		r := rune(b)
		if b < 33 || b > 126 && b < 161 || b == 173 {
			r = next
			next++
		}
		tokens, types = append(tokens, string(r)), append(types, 1)
	}
	for _, s := range []string{"<|im_start|>", "<|im_end|>"} {
		tokens, types = append(tokens, s), append(types, 3)
	}
	for len(tokens) < n {
		tokens, types = append(tokens, fmt.Sprintf("[unused%d]", len(tokens))), append(types, 1)
	}
	m.Text("tokenizer.ggml.model", "gpt2")
	m.Text("tokenizer.ggml.pre", "gpt-2")
	m.Texts("tokenizer.ggml.tokens", tokens)
	m.Numbers("tokenizer.ggml.token_type", types)
	m.Texts("tokenizer.ggml.merges", []string{"t h", "i n"})
	m.Number("tokenizer.ggml.bos_token_id", 256)
	m.Number("tokenizer.ggml.eos_token_id", 257)
	m.Flag("tokenizer.ggml.add_bos_token", false)
	m.Text("tokenizer.chat_template", chat)
}

func u32(b *bytes.Buffer, n uint32) { _ = binary.Write(b, binary.LittleEndian, n) }
func u64(b *bytes.Buffer, n uint64) { _ = binary.Write(b, binary.LittleEndian, n) }

func text(b *bytes.Buffer, s string) {
	u64(b, uint64(len(s)))
	b.WriteString(s)
}
