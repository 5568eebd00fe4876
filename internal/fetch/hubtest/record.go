package hubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Request is a request to one of the servers.
type Request struct {
	Host          string // "hub" or "cdn"
	Method, Path  string
	Range         string
	Authorization string
	Status        int // of the response; 0 before it
}

// Requests returns all requests so far, in the order in which they came.
func (h *Hub) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Request, len(h.requests))
	for i, r := range h.requests {
		all[i] = *r
	}
	return all
}

// Forget resets Requests, Sent and Leaks.
func (h *Hub) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests, h.sent = nil, 0
}

// Sent returns the number of content bytes written.
func (h *Hub) Sent() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent
}

// Leaks describes every request that showed a token to the content host.
func (h *Hub) Leaks() []string {
	var leaks []string
	for _, r := range h.Requests() {
		if r.Host == "cdn" && r.Authorization != "" {
			leaks = append(leaks, fmt.Sprintf("%s %s carried Authorization", r.Method, r.Path))
		}
	}
	return leaks
}

// Secrets returns what must not appear in any text: tokens and signatures.
func (h *Hub) Secrets() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.secrets)
}

// Told returns the secrets in text.
func (h *Hub) Told(text string) []string {
	var told []string
	for _, s := range h.Secrets() {
		if s != "" && strings.Contains(text, s) {
			told = append(told, s)
		}
	}
	return told
}

// recorded records every request and its response.
func (h *Hub) recorded(host string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		noted := &Request{Host: host, Method: r.Method, Path: r.URL.Path, Range: r.Header.Get("Range"), Authorization: r.Header.Get("Authorization")}
		h.mu.Lock()
		h.requests = append(h.requests, noted)
		h.mu.Unlock()
		next(&recorder{w, func(status int) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if noted.Status == 0 {
				noted.Status = status
			}
		}}, r)
	})
}

// recorder remembers the status of a response.
type recorder struct {
	http.ResponseWriter
	note func(status int)
}

func (r *recorder) WriteHeader(status int) {
	r.note(status)
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.note(http.StatusOK)
	return r.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (r *recorder) Flush() { r.ResponseWriter.(http.Flusher).Flush() }
