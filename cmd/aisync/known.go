package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// knownRuntimes is what is known of agent programs, for commands that agents run
// many times a minute: the catalog, and what the specs add to it. Specs are
// evaluated once: what they add is kept in the cache under a digest of their
// bytes and of this program, so that it is never out of date.
func (a *app) knownRuntimes(root string) []spec.Runtime {
	p, err := a.placesFor(root)
	if err != nil {
		return catalog.Runtimes()
	}
	files, adds := specTexts(p)
	if !adds {
		return catalog.Runtimes()
	}
	key := keyOf(files)
	own, ok := p.recall(key)
	if !ok {
		own = a.evaluateOwn(p)
		p.keep(key, own)
	}
	return catalog.With(spec.Catalog{Runtimes: own}).Runtimes()
}

// remember keeps what the specs add to the catalog, which were just evaluated.
func (a *app) remember(p places, s *spec.Spec) {
	if files, adds := specTexts(p); adds {
		p.keep(keyOf(files), s.Catalog.Runtimes)
	}
}

// placesFor is places, for the project in root, whether that has a spec or not.
func (a *app) placesFor(root string) (places, error) {
	given := a.g.project
	a.g.project = ""
	p, err := a.places()
	a.g.project, p.project = given, ""
	if info, statErr := os.Stat(filepath.Join(root, projectFile)); root != "" && statErr == nil && info.Mode().IsRegular() {
		p.project = root
	}
	return p, err
}

// addsRuntimes finds the words without which a spec adds no runtime: entries of
// an own catalog, and sources, which may bring some along.
var addsRuntimes = regexp.MustCompile(`\b(catalog|bundles|sources|import)\b`)

type specText struct {
	name string
	text []byte
}

// specTexts are the specs of the host and of the project, and whether they may
// add a runtime to the catalog.
func specTexts(p places) (files []specText, adds bool) {
	names, _ := filepath.Glob(filepath.Join(globQuoted(p.config), "*.cue")) // a pattern of ours: cannot be bad
	if p.project != "" {
		names = append(names, filepath.Join(p.project, projectFile))
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it cannot add anything
		}
		files = append(files, specText{name, text})
		adds = adds || addsRuntimes.Match(text)
	}
	return files, adds
}

// keyOf names what these files add, for this program on this machine.
func keyOf(files []specText) string {
	h := sha256.New()
	fmt.Fprintln(h, knownVersion, versionText(), catalog.Digest())
	for _, f := range files {
		fmt.Fprintf(h, "%s %d\n", f.name, len(f.text))
		h.Write(f.text)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// knownVersion is that of the form in which runtimes are kept.
const knownVersion = 1

// knownFile is a file of the cache.
type knownFile struct {
	Runtimes []spec.Runtime    `json:"runtimes"`
	Lent     map[string]string `json:"lent,omitempty"` // manifests of sources, and their digests
}

func (p places) cachedRuntimes(key string) string {
	return p.physical(p.cache.Join("runtimes", key+".json"))
}

// recall reads what was kept; false where nothing was, or a manifest changed.
func (p places) recall(key string) ([]spec.Runtime, bool) {
	text, err := os.ReadFile(p.cachedRuntimes(key))
	if err != nil {
		return nil, false
	}
	var k knownFile
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, false
	}
	for file, digest := range k.Lent {
		if digestOfFile(file) != digest {
			return nil, false
		}
	}
	return k.Runtimes, true
}

func digestOfFile(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// keep writes it. A cache that cannot be written is only slower.
func (p places) keep(key string, own []spec.Runtime) {
	k := knownFile{Runtimes: own, Lent: map[string]string{}}
	for _, r := range own {
		if r.Source != "" && filepath.IsAbs(r.Pos.File) {
			k.Lent[r.Pos.File] = digestOfFile(r.Pos.File)
		}
	}
	text, err := json.Marshal(k)
	if err != nil {
		return
	}
	name := p.cachedRuntimes(key)
	if there, err := os.ReadFile(name); err == nil && string(there) == string(text) {
		return
	}
	if os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return
	}
	defer os.Remove(f.Name()) // after the rename there is none
	_, err = f.Write(text)
	if closeErr := f.Close(); err == nil && closeErr == nil {
		_ = os.Rename(f.Name(), name)
	}
}

// evaluateOwn is what the specs add; a project's spec that is wrong is left out,
// and so is the host's.
func (a *app) evaluateOwn(p places) []spec.Runtime {
	for {
		s, err := a.loadSpecWith(context.Background(), p, schema.Options{Facts: a.factsOf(p), NoHost: func(schema.Problem) {}})
		if err == nil {
			return s.Catalog.Runtimes
		}
		if p.project == "" {
			return nil
		}
		p.project = ""
	}
}
