// Package schema reads specs: it embeds the CUE definitions, checks files
// against them and returns a spec.Spec. It never writes, and never fetches a
// package. Call Load.
package schema

import (
	"embed"
	"fmt"
	"io/fs"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/position"
	"aisync.dev/aisync/schema/spec"
	"aisync.dev/aisync/schema/vendored"
)

//go:embed *.cue
var definitions embed.FS

const (
	schemaPackage   = "aisync.dev/schema"
	catalogPackage  = "aisync.dev/catalog"
	runtimesPackage = "aisync.dev/catalog/runtimes"
	vendorFolder    = "pkg/aisync.dev" // below cue.mod

	// moduleText makes a folder of specs a CUE module; the name is never
	// resolved.
	moduleText = "module: \"aisync.local/spec@v0\"\nlanguage: version: \"v0.9.0\"\n"
)

// packages are the CUE packages in the binary, each with its folder.
var packages = map[string]func() fs.FS{
	schemaPackage:   func() fs.FS { return definitions },
	catalogPackage:  catalog.Files,
	runtimesPackage: runtimeFiles,
}

func runtimeFiles() fs.FS {
	folder, err := fs.Sub(catalog.Files(), "runtimes")
	if err != nil {
		panic(fmt.Sprintf("schema: embedded catalog: %v", err))
	}
	return folder
}

// Files returns the files below cue.mod in a folder of specs, by name, so that
// cue vet and editors work offline: module.cue, and the packages schema, catalog
// and catalog/runtimes. aisync always uses the packages in the binary.
func Files() map[string][]byte {
	files := map[string][]byte{"module.cue": []byte(moduleText)}
	for pkg, folder := range packages {
		for name, text := range cueFiles(folder()) {
			files["pkg/"+pkg+"/"+name] = text
		}
	}
	return files
}

// EditorFile is a file for the folder of host specs that lets cue vet and
// editors check them against the vendored packages. It constrains the fields one
// by one: a definition embedded in a file allows other fields beside it, and so
// would check nothing.
const (
	EditorFile = "schema.cue"
	EditorText = `package aisync

// For cue vet and editors; aisync itself needs no such file.
import "aisync.dev/schema"

extends?: schema.#Text
policy?: schema.#Limits
hosts?: [schema.#Name]: schema.#Host
catalog?: schema.#Catalog
`
)

// cueFiles reads the *.cue of an embedded folder.
func cueFiles(from fs.FS) map[string][]byte {
	files := map[string][]byte{}
	names, _ := fs.Glob(from, "*.cue")
	for _, name := range names {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			panic(fmt.Sprintf("schema: embedded %s: %v", name, err))
		}
		files[name] = text
	}
	return files
}

// Vendored compares the packages below a cue.mod folder with the binary's, as
// vendored.Compare has it. It does not compare module.cue, which is the person's.
func Vendored(cueMod string) (present bool, differs []string, err error) {
	want := Files()
	delete(want, "module.cue")
	return vendored.Compare(cueMod, vendorFolder, want)
}

// EmbeddedCatalog evaluates the catalog's CUE, for its generator and the test
// that compares both; other code uses package catalog. Entries have no
// positions.
func EmbeddedCatalog() (spec.Catalog, error) {
	e, err := newEvaluator()
	if err != nil {
		return spec.Catalog{}, err
	}
	d := &document{at: position.New(nil, ""), root: e.ctx.BuildInstance(e.load(token.NoPos, catalogPackage))}
	if err := d.root.Validate(cue.Concrete(true)); err != nil {
		return spec.Catalog{}, fmt.Errorf("embedded catalog: %w", err)
	}
	d.compare(nil, d.root, e.schema.LookupPath(cue.ParsePath("#Catalog")), "")
	c := d.node().catalog()
	if err := d.problems.Sorted(); err != nil {
		return spec.Catalog{}, fmt.Errorf("embedded catalog: %w", err)
	}
	return c, nil
}
