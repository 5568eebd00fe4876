// Package fakemcpregistry is a registry of MCP servers for tests, on loopback,
// with servers that a test publishes. It stores nothing on disk and checks no
// names. Call New. Its interface is the part of
// https://github.com/modelcontextprotocol/registry/blob/main/docs/reference/api/openapi.yaml
// that clients read.
package fakemcpregistry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Registry serves GET /v0.1/servers and what lies below it.
type Registry struct {
	URL string

	mu      sync.Mutex
	server  *httptest.Server
	entries []entry
	instead http.HandlerFunc
	asked   []string
}

// entry is one version of a server.
type entry struct {
	name, version, status, message string
	text                           json.RawMessage
}

// New starts an empty registry.
func New() *Registry {
	r := &Registry{}
	r.server = httptest.NewServer(r)
	r.URL = r.server.URL
	return r
}

// Close stops it.
func (r *Registry) Close() { r.server.Close() }

// Publish adds a server.json, whose version becomes the latest of its server.
func (r *Registry) Publish(serverJSON []byte) error {
	var s struct {
		Name, Version string
		Old           struct{ Version string } `json:"version_detail"`
	}
	if err := json.Unmarshal(serverJSON, &s); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, entry{s.Name, s.Version + s.Old.Version, "active", "", serverJSON})
	return nil
}

// Mark sets the status of all versions of a server: active, deprecated, deleted.
func (r *Registry) Mark(name, status, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.entries {
		if r.entries[i].name == name {
			r.entries[i].status, r.entries[i].message = status, message
		}
	}
}

// Instead answers every question with serve, until it is called with nil.
func (r *Registry) Instead(serve http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.instead = serve
}

// Asked returns the requested paths, and forgets them.
func (r *Registry) Asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := slices.Clone(r.asked)
	r.asked = nil
	return asked
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, req.URL.EscapedPath())
	if r.instead != nil {
		r.instead(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	rest, ok := strings.CutPrefix(req.URL.EscapedPath(), "/v0.1/servers")
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	deleted := req.URL.Query().Get("include_deleted") == "true"
	switch {
	case ok && rest == "":
		r.list(w, req.URL.Query())
		return
	case ok && len(parts) == 3 && parts[1] == "versions":
		name, _ := url.PathUnescape(parts[0])
		version, _ := url.PathUnescape(parts[2])
		for i, e := range slices.Backward(r.entries) {
			if e.name == name && (version == "latest" || e.version == version) && (deleted || e.status != "deleted") {
				_ = json.NewEncoder(w).Encode(r.response(i)) // a client that disconnected
				return
			}
		}
	}
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, `{"error":"Server not found"}`)
}

// list answers a page of the list; its cursor is the number of the next entry.
func (r *Registry) list(w http.ResponseWriter, q url.Values) {
	from, _ := strconv.Atoi(q.Get("cursor"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	page, next := []any{}, ""
	for i := from; i < len(r.entries); i++ {
		e := r.entries[i]
		if !strings.Contains(e.name, q.Get("search")) || e.status == "deleted" || q.Get("version") == "latest" && !r.latest(i) {
			continue
		}
		if len(page) == max(limit, 1) {
			next = strconv.Itoa(i)
			break
		}
		page = append(page, r.response(i))
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"servers": page, "metadata": map[string]any{"count": len(page), "nextCursor": next}})
}

// latest reports whether no later entry is of the same server.
func (r *Registry) latest(i int) bool {
	return !slices.ContainsFunc(r.entries[i+1:], func(e entry) bool { return e.name == r.entries[i].name })
}

// response is an entry with what the registry says of it.
func (r *Registry) response(i int) map[string]any {
	e := r.entries[i]
	official := map[string]any{"status": e.status, "publishedAt": "2026-01-02T03:04:05Z", "isLatest": r.latest(i)}
	if e.message != "" {
		official["statusMessage"] = e.message
	}
	return map[string]any{"server": e.text, "_meta": map[string]any{"io.modelcontextprotocol.registry/official": official}}
}
