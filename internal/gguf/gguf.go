// Package gguf reads the header of a model's file: its metadata, the KV-cache
// layout, the size of its tensors. It never reads a tensor and never dials by
// itself. Call Read or ReadFile.
package gguf

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNotGGUF means that a file is not a GGUF file.
var ErrNotGGUF = errors.New("not a GGUF file")

// Header is the metadata of a GGUF file. Numbers are the file's; 0 means that
// the file does not have one. The format is
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, the names of the
// keys are those of src/llama-arch.cpp in
// https://github.com/ggml-org/llama.cpp.
type Header struct {
	Version               int
	Arch                  string
	Name                  string
	Chat                  string // how its chat template tells it of tools: a form of chatForms, ChatOther or ChatPlain
	FileType              int64  // llama.cpp's llama_ftype: 15 is Q4_K_M, 18 is Q6_K
	Context               int64  // tokens
	Blocks                int    // layers, including those that predict further tokens
	Predicting            int    // how many at the end predict further tokens
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
	WindowPeriod          int64 // one of so many layers has no window; -1 means unknown
	WindowLayers          []bool
	FullAttentionInterval int64  // one of so many layers is not recurrent
	RecurrentLayers       []bool // by layer, where the file lists them
	SSM                   SSM
	Experts               int64
	ExpertsUsed           int64
	ExpertFeed            int64 // width of an expert; 0: as FeedForward
	Split                 Split
	Projector             *Projector // nil: the file is none
	Tensors               int64      // their number
	TensorBytes           int64
	ExpertBytes           int64 // the part of TensorBytes that belongs to experts
	HeaderBytes           int64 // up to the tensors' bytes
}

// SSM describes the state of recurrent layers.
type SSM struct {
	Conv, Inner, State, Groups int64
	ShortConv                  int64 // LFM2
	HeadSize, TokenShift       int64 // RWKV
	KDAHead                    int64 // Kimi
}

// Split is a file's place among shards. Count is 0 for a model in one file.
type Split struct {
	No, Count int // No counts from 0
	Tensors   int64
}

// Limits of plausible values. Real files have some 1,500 tensors, 60 keys, 100
// layers and, with the largest vocabularies, 16 MB of header; llama.cpp stops
// at 512 layers.
const (
	maxHeader  = 128 << 20
	maxKeys    = 1 << 16
	maxTensors = 1 << 17
	maxBlocks  = 4096
	maxDepth   = 4 // of arrays in arrays
	maxText    = 1 << 12
	// Published chat templates have up to 20 KB.
	maxTemplate = 1 << 18

	maxCount  = 1 << 32 // tokens, files
	maxLength = 1 << 20 // numbers in a row, heads
	maxFew    = 1 << 12 // numbers that lengths are multiplied with
)

// readSize is the size of one read.
const readSize = 1 << 20

// Read reads the header of the file behind r, which is size bytes long. It
// reads readSize bytes at a time, in order, no further than the header needs,
// so that r may be a remote server (HTTP). It ignores bytes after the tensors;
// tensors that end after size are an error. Errors describe the fault of the
// file and wrap ErrNotGGUF if it is not one, or the error of r.
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
