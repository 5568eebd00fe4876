// Package catalog holds the embedded runtimes and models, and combines them with
// a person's entries. It evaluates no CUE: data.go is generated from the *.cue
// here and in runtimes, one file a program. Call With.
package catalog

//go:generate go run ../scripts/catalogmodels
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

// Files returns the catalog's *.cue, in their folders, for vendoring.
func Files() fs.FS { return sources }

// Bundles returns the embedded bundle source: one bundle a language.
func Bundles() fs.FS { return part("bundles") }

// Core returns the documents by which agents cooperate in a project, as below
// .ai/.
func Core() fs.FS { return part("core") }

func part(dir string) fs.FS {
	sub, err := fs.Sub(texts, dir)
	if err != nil {
		panic(err) // an invalid path: none of ours
	}
	return sub
}

// Embedded files are digested once: they are 100 kB of text.
var (
	embeddedRuntimes = sync.OnceValue(func() []spec.Runtime { return runtimes(obeyed) })
	embeddedPrograms = sync.OnceValue(func() []spec.Runtime {
		return runtimes(func(string) []spec.Obeyed { return nil })
	})
	embeddedModels = sync.OnceValue(models)
)

// Runtimes returns the embedded runtimes, sorted by ID. The caller owns the
// slice, but not what its elements point to.
func Runtimes() []spec.Runtime { return slices.Clone(embeddedRuntimes()) }

// Programs returns the embedded runtimes without what an apply must know of their
// settings, Obeys: to parse that takes longer than an answer to an agent may.
func Programs() []spec.Runtime { return slices.Clone(embeddedPrograms()) }

// Commands returns the names of the embedded runtimes' programs, for a search in
// PATH.
func Commands() []string {
	var names []string
	for _, r := range embeddedRuntimes() {
		if r.Command != "" {
			names = append(names, r.Command)
		}
	}
	return names
}

// Preferred returns the default runtime.
func Preferred() spec.Runtime { return uniqueRuntime(func(r spec.Runtime) bool { return r.Preferred }) }

// ForModels returns the runtime to start if a person names a model or a service
// instead.
func ForModels() spec.Runtime { return uniqueRuntime(func(r spec.Runtime) bool { return r.ForModels }) }

// uniqueRuntime returns the one embedded runtime with a property; a test ensures that
// there is one.
func uniqueRuntime(is func(spec.Runtime) bool) spec.Runtime {
	return embeddedRuntimes()[slices.IndexFunc(embeddedRuntimes(), is)]
}

// Models returns the embedded models, sorted by ID.
func Models() []spec.Model { return slices.Clone(embeddedModels()) }

// Digest returns sha256:… of the embedded catalog.
func Digest() string {
	h := sha256.New()
	for _, files := range []fs.FS{sources, texts} {
		// In lexical order; embedded folders are always readable.
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

// Index is the embedded catalog and a person's entries.
type Index struct {
	runtimes []spec.Runtime
	models   []spec.Model
}

// With combines own with the embedded entries; own entries take precedence.
// Package schema refuses an own entry that differs from an embedded one with its
// id.
func With(own spec.Catalog) Index {
	return Index{
		merged(own.Runtimes, embeddedRuntimes(), func(r spec.Runtime) string { return r.ID }),
		merged(own.Models, embeddedModels(), func(m spec.Model) string { return m.ID }),
	}
}

// Changed returns the catalog with what change makes of each entry that has variants.
func (x Index) Changed(change func(spec.Runtime) spec.Runtime) Index {
	for i, r := range x.runtimes {
		if len(r.Variants) > 0 {
			x.runtimes = slices.Clone(x.runtimes)
			x.runtimes[i] = change(r)
		}
	}
	return x
}

// merged returns both lists by id; the first of two with one id wins.
func merged[T any](own, embedded []T, id func(T) string) []T {
	all := slices.Concat(own, embedded)
	sort.SliceStable(all, func(i, j int) bool { return id(all[i]) < id(all[j]) })
	return slices.CompactFunc(all, func(a, b T) bool { return id(a) == id(b) })
}

// Runtimes returns all runtimes, sorted by ID.
func (x Index) Runtimes() []spec.Runtime { return slices.Clone(x.runtimes) }

// Models returns all models, sorted by ID.
func (x Index) Models() []spec.Model { return slices.Clone(x.models) }

// Runtime returns the runtime with that id.
func (x Index) Runtime(id string) (spec.Runtime, bool) {
	i, ok := slices.BinarySearchFunc(x.runtimes, id, func(r spec.Runtime, id string) int { return cmp.Compare(r.ID, id) })
	if !ok {
		return spec.Runtime{}, false
	}
	return x.runtimes[i], true
}

// Find returns the runtime with that id or alias.
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

// Model returns the model with that id.
func (x Index) Model(id string) (spec.Model, bool) {
	i, ok := slices.BinarySearchFunc(x.models, id, func(m spec.Model, id string) int { return cmp.Compare(m.ID, id) })
	if !ok {
		return spec.Model{}, false
	}
	return x.models[i], true
}
