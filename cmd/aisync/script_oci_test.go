package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// registry is an OCI registry on loopback: pull only, and for everybody.
type registry struct {
	*httptest.Server
	mu    sync.Mutex
	blobs map[string][]byte // by digest
	tags  map[string][]byte // manifests by REPO:TAG and by REPO:DIGEST
	asked []string
}

// registryKey is where a script's own registry is kept.
type registryKey struct{}

// registryCommand is an OCI registry of the script's own, at $REGISTRY:
//
//	registry push REPO:TAG NAME=FILE...  an artifact of these files; its digest is in $MANIFEST
//	registry forget                      what was asked of it until now
//	registry asked PART                  fails if nothing was asked at an address that holds PART
func registryCommand(ts *testscript.TestScript, neg bool, args []string) {
	r, ok := ts.Value(registryKey{}).(*registry)
	if !ok || len(args) == 0 || neg && args[0] != "asked" {
		ts.Fatalf("usage: registry push|forget|asked")
	}
	if r.Server == nil {
		r.Server = httptest.NewServer(r)
		ts.Defer(r.Close)
	}
	ts.Setenv("REGISTRY", strings.TrimPrefix(r.URL, "http://"))
	switch rest := args[1:]; args[0] {
	case "push":
		files := map[string][]byte{}
		var order []string
		for _, arg := range rest[1:] {
			name, file, _ := strings.Cut(arg, "=")
			files[name], order = []byte(ts.ReadFile(file)), append(order, name)
		}
		ts.Setenv("MANIFEST", r.push(rest[0], order, files))
	case "forget":
		r.mu.Lock()
		r.asked = nil
		r.mu.Unlock()
	case "asked":
		r.mu.Lock()
		defer r.mu.Unlock()
		if strings.Contains(strings.Join(r.asked, "\n"), rest[0]) == neg {
			ts.Fatalf("asked: %s", r.asked)
		}
	default:
		ts.Fatalf("registry cannot %s", args[0])
	}
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// push makes an artifact as oras push does, and returns its digest.
func (r *registry) push(name string, order []string, files map[string][]byte) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var layers []any
	for _, title := range order {
		d := digestOf(files[title])
		r.blobs[d] = files[title]
		layers = append(layers, map[string]any{
			"mediaType": map[bool]string{true: "application/x-gguf", false: "text/plain"}[strings.HasSuffix(title, ".gguf")], "digest": d, "size": len(files[title]),
			"annotations": map[string]string{"org.opencontainers.image.title": title},
		})
	}
	manifest, _ := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": layers})
	repo, _, _ := strings.Cut(name, ":")
	r.tags[name], r.tags[repo+":"+digestOf(manifest)] = manifest, manifest
	return digestOf(manifest)
}

// ServeHTTP speaks /v2/REPO/manifests/… and /v2/REPO/blobs/….
func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.asked = append(r.asked, req.URL.Path)
	path := strings.TrimPrefix(req.URL.Path, "/v2/")
	repo, ref, isManifest := strings.Cut(path, "/manifests/")
	manifest := r.tags[repo+":"+ref]
	_, digest, _ := strings.Cut(path, "/blobs/")
	blob := r.blobs[digest]
	r.mu.Unlock()
	switch {
	case isManifest && manifest != nil:
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", digestOf(manifest))
		w.Header().Set("Content-Length", fmt.Sprint(len(manifest)))
		_, _ = w.Write(manifest)
	case blob != nil:
		http.ServeContent(w, req, "", time.Time{}, strings.NewReader(string(blob)))
	default:
		http.NotFound(w, req)
	}
}
