package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"aisync.dev/aisync/internal/fetch/archive"
)

// unpack is the annotation of a layer that is a folder, which oras push packs.
// https://github.com/oras-project/oras-go/blob/v2.6.0/content/file/file.go
const unpack = "io.deis.oras.content.unpack"

// maxLayers bounds the requests for one artifact.
const maxLayers = 256

// Folder makes the folder dst of the layers of source: the folders and files that oras
// push sent, under their names, and what is in archives without a name, as flux and
// helm push them. Each layer has the bytes of its digest. After a failure the caller
// removes dst.
func (c Client) Folder(ctx context.Context, source, dst string, limits archive.Limits) error {
	a, err := c.open(source)
	if err != nil {
		return err
	}
	_, layers, err := a.layers(ctx)
	if err != nil {
		return a.explain(err)
	}
	var seen []string
	layers = slices.DeleteFunc(layers, func(f file) bool { // the artifacts of an index share some
		again := slices.Contains(seen, f.SHA256+f.Title)
		seen = append(seen, f.SHA256+f.Title)
		return again || f.kind() == unnamed
	})
	if len(layers) == 0 || len(layers) > maxLayers {
		return fmt.Errorf("%s: has %d layers with files; want 1 to %d: push a folder with: oras push %s FOLDER", a.name(), len(layers), maxLayers, a.ref.String())
	}
	out, err := archive.Open(dst, limits)
	if err != nil {
		return err
	}
	for _, f := range layers {
		if err := a.put(ctx, out, f, dst+".layer", limits); err != nil {
			return errors.Join(a.explain(err), out.Close())
		}
	}
	return out.Finish()
}

const (
	unnamed = "unnamed" // no file: a signature, a configuration
	plain   = "plain"   // a file with its name
)

// kind is the ending of the archive that f is, plain or unnamed.
func (f file) kind() string {
	media, _, _ := strings.Cut(strings.ToLower(f.mediaType), ";")
	base := strings.ToLower(filepath.Base(f.Title))
	switch i := slices.IndexFunc(archive.Endings, func(e string) bool { return strings.HasSuffix(base, "."+e) }); {
	case f.unpack && strings.Contains(media, "zstd"):
		return "tar.zst"
	case f.unpack:
		return "tar.gz"
	case i >= 0:
		return archive.Endings[i]
	case f.Title != "":
		return plain
	case strings.HasSuffix(media, "zip") && !strings.HasSuffix(media, "gzip"):
		return "zip"
	case !strings.Contains(media, "tar"):
		return unnamed
	case strings.HasSuffix(media, "gzip"), strings.HasSuffix(media, ".gz"):
		return "tar.gz"
	case strings.HasSuffix(media, "zstd"):
		return "tar.zst"
	}
	return "tar"
}

// put fetches a layer into the file temp, and puts what it is into out.
func (a *artifact) put(ctx context.Context, out *archive.Folder, f file, temp string, limits archive.Limits) error {
	name := cmp.Or(f.Title, "sha256:"+f.SHA256[:12])
	if f.Size > limits.Bytes {
		return fmt.Errorf("layer %s: %w: %d bytes", name, archive.ErrTooLarge, f.Size)
	}
	to, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	defer to.Close()
	desc := ocispec.Descriptor{MediaType: f.mediaType, Digest: f.digest, Size: f.Size}
	from, err := a.repo.Blobs().Fetch(ctx, desc)
	if err != nil {
		return err
	}
	defer from.Close()
	checked := content.NewVerifyReader(from, desc)
	if _, err := io.Copy(to, checked); err != nil {
		return fmt.Errorf("layer %s: %w", name, err)
	}
	if err := checked.Verify(); err != nil {
		return fmt.Errorf("layer %s: the registry serves other bytes than its digest sha256:%.12s…: %w", name, f.SHA256, err)
	}
	if kind := f.kind(); kind != plain {
		if err := out.Unpack(temp, kind); err != nil {
			return fmt.Errorf("layer %s: %w", name, err)
		}
		return nil
	}
	if _, err := to.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return out.File(f.Title, to)
}
