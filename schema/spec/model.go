package spec

import (
	"slices"
	"strings"
)

// Model is one model with its quantizations.
type Model struct {
	ID       string
	Pos      Position
	License  string
	Context  int64 // native context length, tokens
	Params   string
	Homepage string
	Chat     string  // form of its prompts: "chatml", "granite", "llama3", "mistral", "phi4-mini", "qwen3-coder"; "": as its header says
	Quants   []Quant // smallest first
}

// Quant is one quantization of a model: one file, or the shards in order. With a
// Repo, Name is looked up there on demand: until then there are no Files.
type Quant struct {
	Name     string
	Files    []ModelFile
	Repo     string // Hugging Face repository
	Revision string // of Repo: a branch, tag or commit; "" is main
	Chat     string // form of its prompts, as in Shape, where its pinned or local header tells it
}

// Size returns the sum of the files' sizes in bytes.
func (q Quant) Size() int64 {
	var n int64
	for _, f := range q.Files {
		n += f.Size
	}
	return n
}

// ModelFile is one artifact. SHA256 is empty where only a hub knows it; it must
// then be pinned before a download.
type ModelFile struct {
	Path     string
	Size     int64 // bytes
	SHA256   string
	Repo     string // Hugging Face repository, if it is from there
	Revision string // of the repository, as requested: a branch, tag or commit; "": main
	Commit   string // of the repository, if pinned
	Sources  []string
}

// InRegistry reports whether f comes from an OCI registry, which knows its
// digest.
func (f ModelFile) InRegistry() bool {
	return slices.ContainsFunc(f.Sources, IsOCI)
}

// IsOCI reports whether a source is an artifact of an OCI registry.
func IsOCI(source string) bool {
	return strings.HasPrefix(source, "oci://") || strings.HasPrefix(source, "oci+http://")
}

// IsLocal reports whether a source is a file of this machine, which needs no
// network.
func IsLocal(source string) bool {
	return strings.HasPrefix(source, "/") || strings.HasPrefix(source, "file:///")
}
