package oci

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
)

const (
	maxManifest = 4 << 20 // bytes
	maxIndex    = 16      // artifacts of one index that are examined
)

// file is a layer as the manifest describes it.
type file struct {
	Layer
	mediaType string
	digest    digest.Digest
	unpack    bool // it is a folder, as oras push packs one
}

// layers fetches the manifest, or those of an index, and returns all layers.
func (a *artifact) layers(ctx context.Context) (manifest string, all []file, err error) {
	desc, body, err := a.repo.Manifests().FetchReference(ctx, a.ref.Reference)
	if err != nil {
		return "", nil, err
	}
	defer body.Close()
	if desc.Size > maxManifest {
		return "", nil, fmt.Errorf("manifest too large: %d bytes", desc.Size)
	}
	raw, err := content.ReadAll(body, desc)
	if err != nil {
		return "", nil, fmt.Errorf("read manifest: %w", err)
	}
	all, members, err := files(raw)
	if err != nil {
		return "", nil, err
	}
	if len(members) > maxIndex {
		return "", nil, fmt.Errorf("index of %d artifacts; name one by its digest", len(members))
	}
	for _, d := range members {
		if d.Digest.Validate() != nil || d.Size > maxManifest {
			continue
		}
		raw, err := content.FetchAll(ctx, a.repo.Manifests(), d)
		if err != nil {
			return "", nil, err
		}
		more, _, err := files(raw)
		if err != nil {
			return "", nil, err
		}
		all = append(all, more...)
	}
	return desc.Digest.String(), all, nil
}

// files parses a manifest's layers, or the artifacts of an index.
func files(raw []byte) (all []file, members []ocispec.Descriptor, err error) {
	var m struct{ Layers, Manifests []ocispec.Descriptor }
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, nil, fmt.Errorf("read manifest: %w", err)
	}
	for _, l := range m.Layers {
		if l.Digest.Validate() == nil && l.Digest.Algorithm() == digest.SHA256 && l.Size > 0 {
			all = append(all, file{Layer{title(l.Annotations), l.Digest.Encoded(), l.Size}, l.MediaType, l.Digest, l.Annotations[unpack] == "true"})
		}
	}
	return all, m.Manifests, nil
}

// title is the name of a layer's file, in the annotation of oras and podman, or
// of the CNCF's model specification.
// https://github.com/modelpack/model-spec/blob/main/docs/annotations.md
func title(annotations map[string]string) string {
	for _, key := range []string{ocispec.AnnotationTitle, "org.cncf.model.filepath", "org.cnai.model.filepath"} {
		if t := annotations[key]; t != "" {
			return t
		}
	}
	return ""
}

// weights are the media types of layers that are an unmodified GGUF file.
var weights = []string{
	"application/vnd.ollama.image.model",
	"application/vnd.cncf.model.weight.v1.gguf", // as Docker Model Runner wrote it once, beside the specification
	"application/vnd.docker.ai.gguf.v3",         // https://github.com/docker/model-spec/blob/main/spec.md
	"application/vnd.ramalama.model.gguf",
	"application/x-gguf",
}

var shard = regexp.MustCompile(`^(.*)-[0-9]{5}-of-([0-9]{5})\.gguf$`)

// choose returns the model's layers: those with that title, or those that are
// GGUF files by title or media type, or the only largest file of unknown type.
func choose(all []file, want string) ([]Layer, error) {
	var model []Layer
	var largest file
	wrapped := false
	for _, f := range all {
		base := path.Base(f.Title)
		kind, _, _ := strings.Cut(f.mediaType, ";")
		isTar := strings.Contains(kind, "tar") || strings.Contains(kind, "gzip") || strings.Contains(kind, "zstd")
		wrapped = wrapped || isTar
		switch {
		case want != "":
			if f.Title == want || base == want {
				model = append(model, f.Layer)
			}
		case isTar, strings.HasPrefix(base, "mmproj"):
		case strings.EqualFold(path.Ext(base), ".gguf"), slices.Contains(weights, kind):
			model = append(model, f.Layer)
		case f.Size > largest.Size:
			largest = f
		}
	}
	model = slices.CompactFunc(model, func(a, b Layer) bool { return a.SHA256 == b.SHA256 })
	switch {
	case len(model) > 1:
		return shards(model)
	case len(model) == 1:
		return model, nil
	case want != "":
		return nil, fmt.Errorf("%w named %s; files: %s", ErrNoModel, want, titles(all))
	case largest.Size > 0 && !wrapped && !strings.Contains(largest.mediaType, "json"):
		return []Layer{largest.Layer}, nil
	case wrapped:
		return nil, fmt.Errorf("%w, only archives; push the file itself: oras push HOST/REPO:TAG FILE.gguf", ErrNoModel)
	}
	return nil, fmt.Errorf("%w; files: %s", ErrNoModel, titles(all))
}

// shards puts the shards of one model in order.
func shards(model []Layer) ([]Layer, error) {
	sort.Slice(model, func(i, j int) bool { return model[i].Title < model[j].Title })
	first := shard.FindStringSubmatch(model[0].Title)
	for _, l := range model {
		if m := shard.FindStringSubmatch(l.Title); first == nil || m == nil || m[1] != first[1] || m[2] != first[2] {
			var names []string
			for _, l := range model {
				names = append(names, cmp.Or(l.Title, "sha256:"+l.SHA256))
			}
			return nil, fmt.Errorf("several models: %s; name one with #TITLE at the end of the source", strings.Join(names, ", "))
		}
	}
	n, _ := strconv.Atoi(first[2])
	for i := range max(n, len(model)) {
		want := fmt.Sprintf("%s-%05d-of-%s.gguf", first[1], i+1, first[2])
		if i >= len(model) || model[i].Title != want {
			return nil, fmt.Errorf("missing shard: %s (%d of %d exist)", want, len(model), n)
		}
	}
	return model, nil
}

// titles lists the files of an artifact, for people.
func titles(all []file) string {
	var names []string
	for _, f := range all {
		names = append(names, cmp.Or(f.Title, f.mediaType))
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}
