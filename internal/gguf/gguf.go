// Package gguf reads the header of a model's file: what it is, how its layers
// remember, how many bytes its tensors take. It never reads a tensor and never
// dials by itself. Start reading at Read.
package gguf

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNotGGUF says that a file is something else than a GGUF file.
var ErrNotGGUF = errors.New("no GGUF file")

// Header is what a GGUF file says of its model. Numbers are the file's own; 0
// means that the file does not say it. The format is
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, the names of the
// keys are those of src/llama-arch.cpp in https://github.com/ggml-org/llama.cpp.
type Header struct {
	Version               int
	Arch                  string
	Name                  string
	FileType              int64 // llama.cpp's llama_ftype: 15 is Q4_K_M, 18 is Q6_K
	Context               int64 // tokens
	Blocks                int   // layers, those for predicting further tokens included
	Predicting            int   // how many at the end predict further tokens
	Embedding             int64
	Vocab                 int64
	HeadCount             []int64 // by layer
	HeadCountKV           []int64 // by layer; 0 is a layer without a cache
	FeedForward           []int64 // by layer
	KeyLen                int64   // of one head
	ValueLen              int64
	KeyLenMLA             int64 // not 0: latent attention, which keeps keys only
	KeyLenSWA             int64 // of one head in a layer with a window
	ValueLenSWA           int64
	SharedKV              int   // layers at the end that use the cache of another one
	SlidingWindow         int64 // tokens
	WindowPeriod          int64 // every so many layers one has no window; -1 means not said
	WindowLayers          []bool
	FullAttentionInterval int64  // every so many layers one is no recurrent one
	RecurrentLayers       []bool // by layer, where the file lists them
	SSM                   SSM
	Experts               int64
	ExpertsUsed           int64
	Split                 Split
	Tensors               int64 // how many
	TensorBytes           int64
	ExpertBytes           int64 // how many of TensorBytes belong to experts
	HeaderBytes           int64 // up to the tensors' bytes
}

// SSM describes the state of recurrent layers.
type SSM struct {
	Conv, Inner, State, Groups int64
	ShortConv                  int64 // LFM2
	HeadSize, TokenShift       int64 // RWKV
	KDAHead                    int64 // Kimi
}

// Split says which shard a file is. Count is 0 for a model in one file.
type Split struct {
	No, Count int // No counts from 0
	Tensors   int64
}

// Limits of what is believed. Real files have some 1,500 tensors, 60 keys, 100
// layers and, with the largest vocabularies, 16 MB of header; llama.cpp stops
// at 512 layers.
const (
	maxHeader  = 128 << 20
	maxKeys    = 1 << 16
	maxTensors = 1 << 17
	maxBlocks  = 4096
	maxDepth   = 4 // of arrays in arrays
	maxText    = 1 << 12

	maxCount  = 1 << 32 // tokens, files
	maxLength = 1 << 20 // numbers in a row, heads
	maxFew    = 1 << 12 // numbers that lengths are multiplied with
)

// readSize is how much is asked of the reader at once.
const readSize = 1 << 20

// Read reads the header of the file behind r, which is size bytes long. It asks
// for readSize bytes at a time, one after the other, no further than the header
// needs, so that r may be a server far away (HTTP). Bytes behind the tensors
// are nobody's business; tensors that end behind size are an error. Errors say
// what is wrong with the file and wrap ErrNotGGUF if it is none, or the error
// of r.
func Read(r io.ReaderAt, size int64) (Header, error) {
	s := newScanner(r, size)
	version := s.magic()
	tensors, keys := s.count("tensors", maxTensors), s.count("keys", maxKeys)
	m := s.metadata(keys)
	if s.err != nil {
		return Header{}, s.err
	}
	h, err := m.header()
	if err != nil {
		return Header{}, err
	}
	h.Version, h.Tensors = version, tensors
	err = s.tensors(&h, m)
	return h, err
}

// ReadFile reads the header of a file on disk.
func ReadFile(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Header{}, err
	}
	h, err := Read(f, info.Size())
	if err != nil {
		return Header{}, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}
