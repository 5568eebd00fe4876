// Package catalog is the data that aisync comes with: the runtimes and models
// that it knows, and a person's own entries beside them. It evaluates no CUE:
// data.go is made from the *.cue here and in runtimes, a file a program. Start reading at With.
package catalog

//go:generate go run ./gen

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"sync"

	"aisync.dev/aisync/schema/spec"
)

//go:embed *.cue runtimes/*.cue
var sources embed.FS

//go:embed bundles core
var texts embed.FS

// Files is the *.cue of the catalog, in their folders, for those who vendor it.
func Files() fs.FS { return sources }

// Bundles is a bundle source of our own: a bundle a language.
func Bundles() fs.FS { return part("bundles") }

// Core is the documents by which agents work together in a project, as they
// lie below .ai/.
func Core() fs.FS { return part("core") }

func part(dir string) fs.FS {
	sub, err := fs.Sub(texts, dir)
	if err != nil {
		panic(err) // a name that is no path: none of ours
	}
	return sub
}

// What is embedded is read once: it is 100 kB of text.
var (
	embeddedRuntimes = sync.OnceValue(runtimes)
	embeddedModels   = sync.OnceValue(models)
)

// Runtimes is the embedded runtimes, sorted by ID. The caller owns the slice,
// not what its elements point to.
func Runtimes() []spec.Runtime { return slices.Clone(embeddedRuntimes()) }

// Commands is the names of the embedded runtimes' programs, for those who look
// for them in PATH.
func Commands() []string {
	var names []string
	for _, r := range embeddedRuntimes() {
		if r.Command != "" {
			names = append(names, r.Command)
		}
	}
	return names
}

// Preferred is the runtime that is started where nothing says which.
func Preferred() spec.Runtime { return only(func(r spec.Runtime) bool { return r.Preferred }) }

// ForModels is the runtime that is started where a person names a model or a
// service in place of one.
func ForModels() spec.Runtime { return only(func(r spec.Runtime) bool { return r.ForModels }) }

// only is the one embedded runtime that is so; a test sees to it that there is one.
func only(is func(spec.Runtime) bool) spec.Runtime {
	return embeddedRuntimes()[slices.IndexFunc(embeddedRuntimes(), is)]
}

// Models is the embedded models, sorted by ID.
func Models() []spec.Model { return slices.Clone(embeddedModels()) }

// Digest is sha256:… of the embedded catalog. It changes when a file does.
func Digest() string {
	h := sha256.New()
	for _, files := range []fs.FS{sources, texts} {
		// In lexical order; nothing of an embedded folder fails to be read.
		_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(files, name)
			fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
			return err
		})
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Index is the embedded catalog with a person's own entries.
type Index struct {
	runtimes []spec.Runtime
	models   []spec.Model
}

// With puts own in front of the embedded entries. Package schema refuses an
// own entry that shadows an embedded one and differs from it.
func With(own spec.Catalog) Index {
	return Index{
		merged(own.Runtimes, embeddedRuntimes(), func(r spec.Runtime) string { return r.ID }),
		merged(own.Models, embeddedModels(), func(m spec.Model) string { return m.ID }),
	}
}

// merged is both lists by id; of two with one id, the first stays.
func merged[T any](own, embedded []T, id func(T) string) []T {
	all := slices.Concat(own, embedded)
	sort.SliceStable(all, func(i, j int) bool { return id(all[i]) < id(all[j]) })
	return slices.CompactFunc(all, func(a, b T) bool { return id(a) == id(b) })
}

// Runtimes is every runtime, sorted by ID.
func (x Index) Runtimes() []spec.Runtime { return slices.Clone(x.runtimes) }

// Models is every model, sorted by ID.
func (x Index) Models() []spec.Model { return slices.Clone(x.models) }

// Runtime is the one with that id.
func (x Index) Runtime(id string) (spec.Runtime, bool) {
	i, ok := slices.BinarySearchFunc(x.runtimes, id, func(r spec.Runtime, id string) int { return cmp.Compare(r.ID, id) })
	if !ok {
		return spec.Runtime{}, false
	}
	return x.runtimes[i], true
}

// Find is the runtime that people know under that name: its id, or an alias.
func (x Index) Find(name string) (spec.Runtime, bool) {
	if r, ok := x.Runtime(name); ok {
		return r, true
	}
	i := slices.IndexFunc(x.runtimes, func(r spec.Runtime) bool { return slices.Contains(r.Aliases, name) })
	if i < 0 {
		return spec.Runtime{}, false
	}
	return x.runtimes[i], true
}

// Model is the one with that id.
func (x Index) Model(id string) (spec.Model, bool) {
	i, ok := slices.BinarySearchFunc(x.models, id, func(m spec.Model, id string) int { return cmp.Compare(m.ID, id) })
	if !ok {
		return spec.Model{}, false
	}
	return x.models[i], true
}
