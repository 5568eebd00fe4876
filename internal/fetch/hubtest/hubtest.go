// Package hubtest is a Hugging Face for tests: an endpoint that resolves,
// lists, gates and renames, and a content host on another port, both on
// loopback, which misbehave on request. It is never part of the program. Start
// reading at New, then fault.go.
package hubtest

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// File is one file of a repository.
type File struct {
	Path    string
	Data    []byte
	Content io.ReaderAt // instead of Data, for content too large for memory; Size and SHA256 must be set then
	Size    int64
	SHA256  string
	Plain   bool // kept in git itself: without a sha256, and served by the endpoint
}

// Hub is both servers. Set its fields before the first request; its methods are
// safe at any time.
type Hub struct {
	URL string // the endpoint
	CDN string // the content host

	PageSize  int  // entries on one page of a listing; 0: 1000
	Direct    bool // the endpoint serves content itself, as some mirrors do
	NoAPI     bool // it resolves files and lists none
	PrefixOID bool // digests in listings are written sha256:…

	mu       sync.Mutex
	repos    map[string]*repo
	renamed  map[string]string
	blobs    map[string]File // by sha256
	signed   map[string]int  // requests for each signed address
	expire   int
	fault    Fault
	hits     int // requests that the fault saw
	requests []*Request
	sent     int64
	secrets  []string
	servers  []*httptest.Server
}

// repo is a repository with its history.
type repo struct {
	head    string            // of main
	refs    map[string]string // commits by other branches and by tags
	commits map[string][]File
	token   string // "" is public
	terms   bool   // 403 even with the right token
}

// New starts a hub that ends with the test.
func New(t testing.TB) *Hub {
	t.Helper()
	h := &Hub{
		repos:   map[string]*repo{},
		renamed: map[string]string{},
		blobs:   map[string]File{},
		signed:  map[string]int{},
	}
	hub, cdn := httptest.NewServer(h.recorded("hub", h.endpoint)), httptest.NewServer(h.recorded("cdn", h.content))
	h.URL, h.CDN, h.servers = hub.URL, cdn.URL, []*httptest.Server{hub, cdn}
	t.Cleanup(func() {
		for _, s := range h.servers {
			s.CloseClientConnections() // ends stalled requests
			s.Close()
		}
	})
	return h
}

// OnceEach closes each connection after one response, so that thousands of
// clients in one process leave none behind.
func (h *Hub) OnceEach() {
	for _, s := range h.servers {
		s.Config.SetKeepAlivesEnabled(false)
	}
}

// Add makes a commit of repo with exactly these files, moves main to it and
// returns it. Equal files make equal commits.
func (h *Hub) Add(name string, files ...File) string {
	id := sha1.New()
	files = slices.Clone(files)
	for i := range files {
		f := &files[i]
		if f.Content == nil {
			sum := sha256.Sum256(f.Data)
			f.Content, f.Size, f.SHA256 = bytes.NewReader(f.Data), int64(len(f.Data)), hex.EncodeToString(sum[:])
		}
		fmt.Fprintf(id, "%s %s %d\n", f.Path, f.SHA256, f.Size)
	}
	commit := hex.EncodeToString(id.Sum(nil))
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range files {
		h.blobs[f.SHA256] = f
	}
	r := h.repos[name]
	if r == nil {
		r = &repo{commits: map[string][]File{}, refs: map[string]string{}}
		h.repos[name] = r
	}
	r.head, r.commits[commit] = commit, files
	return commit
}

// Tag gives the commit of main another name: a tag, or a branch.
func (h *Hub) Tag(name, ref string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.repos[name].refs[ref] = h.repos[name].head
}

// Gate makes repo readable with token only, and without accepted terms not at
// all.
func (h *Hub) Gate(name, token string, accepted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.repos[name].token, h.repos[name].terms = token, !accepted
	h.secrets = append(h.secrets, token)
}

// Rename moves a repository; its old name redirects to the new one.
func (h *Hub) Rename(from, to string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.repos[to], h.renamed[from] = h.repos[from], to
	delete(h.repos, from)
}

// ExpireAfter makes every issued address of the content host serve k requests,
// and then answer 403. 0 is no limit.
func (h *Hub) ExpireAfter(k int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire = k
}

// Expire makes every address issued so far answer 403.
func (h *Hub) Expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.signed)
}

// Break makes the hub misbehave until Mend or another Break.
func (h *Hub) Break(f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault, h.hits = f, 0
}

// Mend makes the hub behave.
func (h *Hub) Mend() { h.Break(Fault{}) }
