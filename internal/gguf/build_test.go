package gguf

import (
	"bytes"
	"encoding/binary"
	"io"
)

// A file is written by its parts, so that tests can write wrong ones too.
type file struct {
	bytes.Buffer
	keys, tensors int
}

func (f *file) u32(n uint32) *file  { return f.raw(binary.LittleEndian.AppendUint32(nil, n)) }
func (f *file) u64(n uint64) *file  { return f.raw(binary.LittleEndian.AppendUint64(nil, n)) }
func (f *file) raw(b []byte) *file  { f.Write(b); return f }
func (f *file) str(s string) *file  { return f.u64(uint64(len(s))).raw([]byte(s)) }
func (f *file) key(k string) *file  { f.keys++; return f.str(k) }
func (f *file) text(k, v string)    { f.key(k).u32(typeString).str(v) }
func (f *file) num(k string, n int) { f.key(k).u32(typeUint32).u32(uint32(n)) }

func (f *file) ints(k string, ns ...int32) {
	f.key(k).u32(typeArray).u32(typeInt32).u64(uint64(len(ns)))
	for _, n := range ns {
		f.u32(uint32(n))
	}
}

func (f *file) flags(k string, on ...bool) {
	f.key(k).u32(typeArray).u32(typeBool).u64(uint64(len(on)))
	for _, b := range on {
		f.raw([]byte{map[bool]byte{true: 1}[b]})
	}
}

func (f *file) tokens(n int) {
	f.key("tokenizer.ggml.tokens").u32(typeArray).u32(typeString).u64(uint64(n))
	for range n {
		f.str("ab")
	}
}

// tensor adds a line to the table; keys come before tensors.
func (f *file) tensor(name string, typ uint32, offset uint64, dims ...uint64) {
	f.tensors++
	f.str(name).u32(uint32(len(dims)))
	for _, d := range dims {
		f.u64(d)
	}
	f.u32(typ).u64(offset)
}

// done is the file: its beginning and what was written.
func (f *file) done(version uint32) []byte {
	var head file
	head.raw([]byte("GGUF")).u32(version).u64(uint64(f.tensors)).u64(uint64(f.keys))
	return append(head.Bytes(), f.Bytes()...)
}

// model is the header of a model of one architecture.
func model(arch string, numbers map[string]int) *file {
	f := &file{}
	f.text("general.architecture", arch)
	for k, n := range numbers {
		f.num(arch+"."+k, n)
	}
	return f
}

// padded is a header before zeros up to size: the size of a real model without
// its bytes.
type padded struct {
	header []byte
	size   int64
	read   int64 // the end of the last read
}

func (p *padded) ReadAt(b []byte, off int64) (int, error) {
	p.read = max(p.read, off+int64(len(b)))
	if off >= p.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(b)), p.size-off))
	clear(b[:n])
	if off < int64(len(p.header)) {
		copy(b[:n], p.header[off:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
