package oci

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
)

// Media types of the CNCF's model specification, version 0.0.7.
// https://github.com/modelpack/model-spec/blob/v0.0.7/docs/spec.md
const (
	modelManifest = "application/vnd.cncf.model.manifest.v1+json"
	modelConfig   = "application/vnd.cncf.model.config.v1+json"
	modelWeight   = "application/vnd.cncf.model.weight.v1.raw"
	modelPath     = "org.cncf.model.filepath"
)

// Types of the artifacts of bundles, which that specification has no place for: a folder
// is one archive, as Folder reads it, a commit one file.
const (
	folderType = "application/vnd.aisync.bundle.v1"
	folderZip  = "application/zip"
	folderName = "bundle.zip"
	commitType = "application/vnd.aisync.git-bundle.v1"
)

// Model is what PushModel sends.
type Model struct {
	Name, Quant, License string
	Files                []File // shards in order
}

// File is a file of this machine.
type File struct {
	Layer
	Path string
}

// Pushed is what a push did.
type Pushed struct {
	Manifest string // sha256:…
	Sent     int64  // bytes of files; what the registry had is not sent
}

// PushModel sends a model to target, oci://HOST/REPO:TAG, in the form of the CNCF's
// model specification. A file that the repository has, by its digest, is not sent again,
// so a push that was interrupted goes on with the next file. progress may be nil.
func (c Client) PushModel(ctx context.Context, target string, m Model, progress func(done, total int64)) (Pushed, error) {
	diffs, layers := []digest.Digest{}, []ocispec.Descriptor{}
	for _, f := range m.Files {
		d := f.descriptor(modelWeight)
		d.Annotations[modelPath] = f.Title
		diffs, layers = append(diffs, d.Digest), append(layers, d)
	}
	type object = map[string]any
	descriptor := object{"name": m.Name}
	if m.License != "" {
		descriptor["licenses"] = []string{m.License}
	}
	config, err := json.Marshal(object{
		"descriptor": descriptor,
		"modelfs":    object{"type": "layers", "diffIds": diffs},
		"config":     object{"format": "gguf", "quantization": m.Quant},
	})
	if err != nil {
		return Pushed{}, err
	}
	return c.push(ctx, target, modelManifest, modelConfig, config, layers, m.Files, progress)
}

// PushFolder sends the folder dir to target, as Folder reads it. It leaves .git out.
func (c Client) PushFolder(ctx context.Context, target, dir string) (Pushed, error) {
	packed, err := os.CreateTemp("", "aisync-push-")
	if err != nil {
		return Pushed{}, err
	}
	defer os.Remove(packed.Name())
	if err := errors.Join(pack(dir, packed), packed.Close()); err != nil {
		return Pushed{}, fmt.Errorf("pack %s: %w", dir, err)
	}
	f, err := fileAt(packed.Name(), folderName)
	if err != nil {
		return Pushed{}, err
	}
	return c.push(ctx, target, folderType, "", nil, []ocispec.Descriptor{f.descriptor(folderZip)}, []File{f}, nil)
}

// PushCommit sends the file path, a bundle of git, to target under the name title.
func (c Client) PushCommit(ctx context.Context, target, path, title string) (Pushed, error) {
	f, err := fileAt(path, title)
	if err != nil {
		return Pushed{}, err
	}
	return c.push(ctx, target, commitType, "", nil, []ocispec.Descriptor{f.descriptor(commitType)}, []File{f}, nil)
}

// Copy sends the artifact source, at a digest, to the repository target as it is.
func (c Client) Copy(ctx context.Context, source, target string) (Pushed, error) {
	from, err := c.open(source)
	if err != nil {
		return Pushed{}, err
	}
	to, err := c.open(target)
	if err != nil {
		return Pushed{}, err
	}
	d, body, err := from.repo.Manifests().FetchReference(ctx, from.ref.Reference)
	if err != nil {
		return Pushed{}, from.explain(err)
	}
	defer body.Close()
	if d.Size > maxManifest {
		return Pushed{}, fmt.Errorf("%s: manifest too large: %d bytes", from.name(), d.Size)
	}
	raw, err := content.ReadAll(body, d)
	if err != nil {
		return Pushed{}, from.explain(err)
	}
	p := Pushed{Manifest: d.Digest.String()}
	var m struct {
		Config    *ocispec.Descriptor
		Layers    []ocispec.Descriptor
		Manifests []ocispec.Descriptor
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return p, fmt.Errorf("%s: read manifest: %w", from.name(), err)
	}
	if len(m.Manifests) > 0 {
		return p, fmt.Errorf("%s: is an index of %d artifacts; name one by its digest", from.name(), len(m.Manifests))
	}
	if m.Config != nil {
		m.Layers = append(m.Layers, *m.Config)
	}
	for _, l := range m.Layers {
		sent, err := to.relay(ctx, from, l)
		if err != nil {
			return p, err
		}
		p.Sent += sent
	}
	if err := to.repo.Manifests().PushReference(ctx, d, bytes.NewReader(raw), d.Digest.String()); err != nil {
		return p, to.explain(err)
	}
	return p, nil
}

// relay sends a file of from to a, unless it is there, and returns its size if it did.
func (a *artifact) relay(ctx context.Context, from *artifact, d ocispec.Descriptor) (int64, error) {
	if has, err := a.repo.Blobs().Exists(ctx, d); has || err != nil {
		return 0, a.explainNil(err)
	}
	body, err := from.repo.Blobs().Fetch(ctx, d)
	if err != nil {
		return 0, from.explain(err)
	}
	defer body.Close()
	return d.Size, a.explainNil(a.repo.Blobs().Push(ctx, d, body))
}

// explainNil is explain, and nil for nil.
func (a *artifact) explainNil(err error) error {
	if err == nil {
		return nil
	}
	return a.explain(err)
}

// Has reports whether target, oci://HOST/REPO:TAG, is there.
func (c Client) Has(ctx context.Context, target string) (bool, error) {
	_, err := c.Digest(ctx, target)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// push sends what is missing of an artifact, and gives it its tag last.
func (c Client) push(ctx context.Context, target, artifactType, configType string, config []byte, layers []ocispec.Descriptor, files []File, progress func(done, total int64)) (Pushed, error) {
	a, err := c.open(target)
	if err != nil {
		return Pushed{}, err
	}
	if progress == nil {
		progress = func(int64, int64) {}
	}
	p := Pushed{}
	total := int64(0)
	for _, f := range files {
		total += f.Size
	}
	done := int64(0)
	for i, f := range files {
		sent, err := a.send(ctx, layers[i], f.Path, func(n int64) { progress(done+n, total) })
		if err != nil {
			return p, fmt.Errorf("%s: %w", f.Title, a.explain(err))
		}
		done += f.Size
		if sent {
			p.Sent += f.Size
		}
		progress(done, total)
	}
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		ArtifactType: artifactType, Config: ocispec.DescriptorEmptyJSON, Layers: layers,
	}
	if configType != "" {
		m.Config = ocispec.Descriptor{MediaType: configType, Digest: digest.FromBytes(config), Size: int64(len(config))}
	} else {
		config, m.Config.Data = m.Config.Data, nil
	}
	if has, err := a.repo.Blobs().Exists(ctx, m.Config); err != nil || !has {
		if err = a.repo.Blobs().Push(ctx, m.Config, bytes.NewReader(config)); err != nil {
			return p, a.explain(err)
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return p, err
	}
	d := ocispec.Descriptor{MediaType: m.MediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	if err := a.repo.Manifests().PushReference(ctx, d, bytes.NewReader(raw), a.ref.Reference); err != nil {
		return p, a.explain(err)
	}
	p.Manifest = d.Digest.String()
	return p, nil
}

// send uploads the file at path unless the repository has it. The registry compares
// what it got with the digest.
func (a *artifact) send(ctx context.Context, d ocispec.Descriptor, path string, progress func(done int64)) (sent bool, err error) {
	if has, err := a.repo.Blobs().Exists(ctx, d); has || err != nil {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() != d.Size {
		err = fmt.Errorf("%s has %d bytes, want %d", path, info.Size(), d.Size)
	}
	if err != nil {
		return false, err
	}
	return true, a.repo.Blobs().Push(ctx, d, &counted{f, 0, progress})
}

// counted is a reader that tells how far it is.
type counted struct {
	io.Reader
	n    int64
	tell func(int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	c.tell(c.n)
	return n, err
}

func (f File) descriptor(mediaType string) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.NewDigestFromEncoded(digest.SHA256, f.SHA256), Size: f.Size, Annotations: map[string]string{}}
	if f.Title != "" {
		d.Annotations[ocispec.AnnotationTitle] = f.Title
	}
	return d
}

// fileAt is the file at path, under the name title.
func fileAt(path, title string) (File, error) {
	from, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer from.Close()
	sum := digest.SHA256.Digester()
	n, err := io.Copy(sum.Hash(), from)
	return File{Layer{Title: title, SHA256: sum.Digest().Encoded(), Size: n}, path}, err
}

// pack writes the files and links of dir into out, a zip archive: the same bytes for the
// same folder, whenever and by whomever it is packed.
func pack(dir string, out io.Writer) error {
	to := zip.NewWriter(out)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && rel == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		return packOne(to, path, filepath.ToSlash(rel), d)
	})
	return errors.Join(err, to.Close())
}

func packOne(to *zip.Writer, path, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		h.SetMode(fs.ModeSymlink | 0o777)
		w, err := to.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(w, target)
		}
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a folder nor a link", name)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h.SetMode(info.Mode() & 0o755)
	w, err := to.CreateHeader(h)
	if err == nil {
		_, err = io.Copy(w, f)
	}
	return err
}
