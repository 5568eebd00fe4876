package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"strings"

	"aisync.dev/aisync/catalog/manifest"
	"aisync.dev/aisync/schema/spec"
)

// Runtimes returns the agent programs that the source describes, one for each
// runtimes/*.toml, sorted by file. The error joins the faults of some; the
// others are returned all the same.
func (t *Tree) Runtimes() ([]spec.Runtime, error) {
	files, err := t.manifests()
	if err != nil {
		return nil, at(t.Pos, err)
	}
	var out []spec.Runtime
	var errs []error
	for _, src := range files {
		text, err := t.runtimeText(src)
		if err != nil {
			errs = append(errs, at(t.Pos, err))
			continue
		}
		r, err := manifest.Parse(t.at(src), text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.Source = t.Name
		out = append(out, r)
	}
	return out, errors.Join(errs...)
}

// manifests are the names of the files, sorted.
func (t *Tree) manifests() ([]string, error) {
	if err := t.inside("runtimes"); err != nil {
		return nil, err
	}
	entries, err := t.readDir("runtimes")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".toml") && e.Name()[0] != '.' {
			out = append(out, path.Join("runtimes", e.Name()))
		}
	}
	return out, err
}

func (t *Tree) runtimeText(src string) ([]byte, error) {
	if err := t.inside(src); err != nil {
		return nil, err
	}
	return t.readFile(src)
}

// manifestFiles are the same as files, for the digest of the tree.
func (t *Tree) manifestFiles() ([]File, error) {
	names, err := t.manifests()
	if err != nil {
		return nil, err
	}
	var out []File
	for _, src := range names {
		text, err := t.runtimeText(src)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		out = append(out, File{Src: src, Mode: 0o644, Digest: "sha256:" + hex.EncodeToString(sum[:])})
	}
	return out, nil
}
