// Package fakenpm is an npm registry for tests, on loopback, with packages that
// a test publishes. It stores nothing on disk and checks no names. Call New.
package fakenpm

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Registry serves GET /name and the tarballs that the response names.
type Registry struct {
	URL string

	mu       sync.Mutex
	server   *httptest.Server
	packages map[string]map[string]release
	latest   map[string]string
	cut      bool
	asked    []string
}

// release is one version of a package.
type release struct {
	manifest map[string]any
	tarball  []byte
}

// New starts an empty registry.
func New() *Registry {
	r := &Registry{packages: map[string]map[string]release{}, latest: map[string]string{}}
	r.server = httptest.NewServer(r)
	r.URL = r.server.URL
	return r
}

// Close stops it.
func (r *Registry) Close() { r.server.Close() }

// Publish adds a version, which becomes the latest. Its one program, command,
// prints its name, version and arguments. engine is the required range of Node,
// "" for any.
func (r *Registry) Publish(name, version, command, engine string) {
	r.publish(name, version, command, engine, fmt.Sprintf("console.log(%q, process.argv.slice(2).join(' '))\n", command+" "+version))
}

// PublishServer is Publish of an MCP server on stdio, whose one tool is called
// tool. It wants at least one argument.
func (r *Registry) PublishServer(name, version, command, tool string) {
	r.publish(name, version, command, "", fmt.Sprintf(`
if (process.argv.length < 3) { console.error('Usage: %s FOLDER'); process.exit(1) }
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const {id, method} = JSON.parse(line)
  const result = {initialize: {protocolVersion: '2025-06-18', capabilities: {tools: {}}, serverInfo: {name: %q, version: %q}}, 'tools/list': {tools: [{name: %q, inputSchema: {type: 'object'}}]}}[method]
  if (id !== undefined) console.log(JSON.stringify({jsonrpc: '2.0', id, result: result || {}}))
})
`, command, name, version, tool))
}

// PublishNode is Publish of the package that contains Node for this platform: a
// program that says its version, and runs scripts with the Node at the path real.
func (r *Registry) PublishNode(version, real string) {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	r.pack("node-"+runtime.GOOS+"-"+cmp.Or(arch, runtime.GOARCH), version, "node", "", fmt.Sprintf("#!/bin/sh\n[ \"$1\" != --version ] || { echo v%s; exit; }\nexec '%s' \"$@\"\n", version, real))
}

// Withdraw takes a version back.
func (r *Registry) Withdraw(name, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.packages[name], version)
}

func (r *Registry) publish(name, version, command, engine, program string) {
	r.pack(name, version, command, engine, "#!/usr/bin/env node\n"+program)
}

func (r *Registry) pack(name, version, command, engine, program string) {
	manifest := map[string]any{"name": name, "version": version, "bin": map[string]string{command: "main.js"}}
	if engine != "" {
		manifest["engines"] = map[string]string{"node": engine}
	}
	text, _ := json.Marshal(manifest) // strings and maps of them
	tarball := tarball(map[string]string{"package.json": string(text), "main.js": program})
	sum := sha512.Sum512(tarball)
	manifest["dist"] = map[string]string{
		"tarball":   fmt.Sprintf("%s/%s/-/%s.tgz", r.URL, name, version),
		"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.packages[name] == nil {
		r.packages[name] = map[string]release{}
	}
	r.packages[name][version] = release{manifest, tarball}
	r.latest[name] = version
}

// Cut makes every tarball end halfway, until it is called with false.
func (r *Registry) Cut(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = on
}

// Forget empties the list of Asked.
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
	path, _ := url.PathUnescape(strings.TrimPrefix(req.URL.EscapedPath(), "/"))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, path)
	name, file, isFile := strings.Cut(path, "/-/")
	releases, known := r.packages[name]
	switch {
	case !known:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":"Not found"}`)
	case isFile:
		b := releases[strings.TrimSuffix(file, ".tgz")].tarball
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		if r.cut {
			b = b[:len(b)/2]
		}
		_, _ = w.Write(b) // a client that disconnected
	default:
		versions := map[string]any{}
		for v, rel := range releases {
			versions[v] = rel.manifest
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "dist-tags": map[string]string{"latest": r.latest[name]}, "versions": versions})
	}
}

// tarball returns files in npm's form.
func tarball(files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_ = t.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o755, Size: int64(len(files[name])), Typeflag: tar.TypeReg})
		_, _ = t.Write([]byte(files[name])) // into memory
	}
	_ = t.Close()
	_ = z.Close()
	return b.Bytes()
}
