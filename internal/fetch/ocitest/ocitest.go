// Package ocitest is an OCI registry for tests, on loopback: pull only, without
// a login. It is never part of the program. Call New.
package ocitest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Registry serves /v2/REPO/manifests/… and /v2/REPO/blobs/….
type Registry struct {
	Host string // HOST:PORT, as it stands in oci+http://HOST:PORT/REPO:TAG

	TagsOnly bool // as ollama's registry: manifests are text/plain, and have no digests

	server *httptest.Server
	mu     sync.Mutex
	blobs  map[string][]byte // by digest
	tags   map[string][]byte // manifests by REPO:TAG and by REPO:DIGEST
	asked  []string
}

// Layer is one file of an artifact.
type Layer struct {
	Title string
	Data  []byte
}

// New starts an empty registry.
func New() *Registry {
	r := &Registry{blobs: map[string][]byte{}, tags: map[string][]byte{}}
	r.server = httptest.NewServer(r)
	r.Host = strings.TrimPrefix(r.server.URL, "http://")
	return r
}

// Close ends it.
func (r *Registry) Close() { r.server.Close() }

// Push makes an artifact called name, REPO:TAG, as oras push does, and returns
// its digest.
func (r *Registry) Push(name string, layers ...Layer) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var rows []any
	for _, l := range layers {
		d, media := digestOf(l.Data), "text/plain"
		if strings.HasSuffix(l.Title, ".gguf") {
			media = "application/x-gguf"
		}
		r.blobs[d] = l.Data
		rows = append(rows, map[string]any{
			"mediaType": media, "digest": d, "size": len(l.Data),
			"annotations": map[string]string{"org.opencontainers.image.title": l.Title},
		})
	}
	manifest, _ := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": rows}) // strings and maps of them
	repo, _, _ := strings.Cut(name, ":")
	r.tags[name], r.tags[repo+":"+digestOf(manifest)] = manifest, manifest
	return digestOf(manifest)
}

// Forget empties what Asked returns.
func (r *Registry) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = nil
}

// Asked returns the requested paths.
func (r *Registry) Asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.asked = append(r.asked, req.URL.Path)
	path := strings.TrimPrefix(req.URL.Path, "/v2/")
	repo, ref, isManifest := strings.Cut(path, "/manifests/")
	manifest := r.tags[repo+":"+ref]
	_, digest, _ := strings.Cut(path, "/blobs/")
	blob := r.blobs[digest]
	r.mu.Unlock()
	switch {
	case isManifest && r.TagsOnly && manifest != nil && !strings.HasPrefix(ref, "sha256:"):
		w.Header().Set("Content-Type", "text/plain; charset=utf-8") // https://github.com/ollama/ollama/issues/6470
		w.Header().Set("Content-Length", fmt.Sprint(len(manifest)))
		_, _ = w.Write(manifest) // a client that left
	case isManifest && manifest != nil && !r.TagsOnly:
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", digestOf(manifest))
		w.Header().Set("Content-Length", fmt.Sprint(len(manifest)))
		_, _ = w.Write(manifest) // a client that left
	case blob != nil:
		http.ServeContent(w, req, "", time.Time{}, strings.NewReader(string(blob)))
	default:
		http.NotFound(w, req)
	}
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
