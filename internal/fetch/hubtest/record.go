package hubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Request is what one of the servers was asked.
type Request struct {
	Host          string // "hub" or "cdn"
	Method, Path  string
	Range         string
	Authorization string
	Status        int // that was answered; 0 while it is not
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

// Forget starts Requests, Sent and Leaks anew.
func (h *Hub) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests, h.sent = nil, 0
}

// Sent returns how many bytes of content were written.
func (h *Hub) Sent() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent
}

// Leaks describes every request in which the content host was told a token.
func (h *Hub) Leaks() []string {
	var leaks []string
	for _, r := range h.Requests() {
		if r.Host == "cdn" && r.Authorization != "" {
			leaks = append(leaks, fmt.Sprintf("%s %s carried Authorization", r.Method, r.Path))
		}
	}
	return leaks
}

// Secrets returns what must stand in no text: tokens and signatures.
func (h *Hub) Secrets() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.secrets)
}

// Told returns the secrets that stand in text.
func (h *Hub) Told(text string) []string {
	var told []string
	for _, s := range h.Secrets() {
		if s != "" && strings.Contains(text, s) {
			told = append(told, s)
		}
	}
	return told
}

// recorded notes every request and its answer.
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

// recorder tells the status of an answer.
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
