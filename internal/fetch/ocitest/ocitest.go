// Package ocitest is an OCI registry for tests, on loopback, without a login, that can
// misbehave. It is never part of the program. Call New.
package ocitest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
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
	fault  Fault
}

// Fault is how a registry misbehaves.
type Fault string

// The faults.
const (
	Denies Fault = "denies" // 401 to everything
	Lacks  Fault = "lacks"  // 404 to everything
	Spoils Fault = "spoils" // one byte of each file is another
	Halves Fault = "halves" // it dies at the half of a file
)

// Break lets r misbehave; "" mends it.
func (r *Registry) Break(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = f
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
	none := []byte("{}")
	r.blobs[digestOf(none)] = none
	config := map[string]any{"mediaType": "application/vnd.oci.empty.v1+json", "digest": digestOf(none), "size": len(none)}
	manifest, _ := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": rows}) // strings and maps of them
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
	blob, fault := r.blobs[digest], r.fault
	r.mu.Unlock()
	switch {
	case fault == Denies:
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
		return
	case fault == Lacks:
		http.NotFound(w, req)
		return
	case req.Method == http.MethodPost, req.Method == http.MethodPut:
		r.receive(w, req, repo, ref)
		return
	case fault == Spoils && blob != nil:
		blob = slices.Clone(blob)
		blob[len(blob)/2] ^= 1
	case fault == Halves && blob != nil && req.Method == http.MethodGet:
		var from int
		_, _ = fmt.Sscanf(req.Header.Get("Range"), "bytes=%d-", &from) // none: from the start
		if from >= len(blob)/2 {
			panic(http.ErrAbortHandler)
		}
		w = &dying{w, len(blob)/2 - from}
	}
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

// receive takes an upload: a POST for an address, a PUT of a file there, a PUT of a
// manifest. https://github.com/opencontainers/distribution-spec/blob/main/spec.md#push
func (r *Registry) receive(w http.ResponseWriter, req *http.Request, repo, ref string) {
	if req.Method == http.MethodPost {
		w.Header().Set("Location", req.URL.Path+"one")
		w.WriteHeader(http.StatusAccepted)
		return
	}
	body, err := io.ReadAll(req.Body)
	want := req.URL.Query().Get("digest")
	if err != nil || want != "" && want != digestOf(body) {
		http.Error(w, `{"errors":[{"code":"DIGEST_INVALID"}]}`, http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if want != "" {
		r.blobs[want] = body
	} else {
		r.tags[repo+":"+ref], r.tags[repo+":"+digestOf(body)] = body, body
	}
	w.Header().Set("Docker-Content-Digest", digestOf(body))
	w.WriteHeader(http.StatusCreated)
}

// dying breaks the connection after left bytes.
type dying struct {
	http.ResponseWriter
	left int
}

func (d *dying) Write(p []byte) (int, error) {
	n, err := d.ResponseWriter.Write(p[:min(len(p), d.left)])
	if d.left -= n; d.left <= 0 {
		d.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
