// Package hub is the client for Hugging Face and its mirrors: it names, pins
// and locates files of a repository, with a token where one is required. It
// moves no content and stores nothing. Start reading at Client, then locate.go.
package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"aisync.dev/aisync/reconcile"
)

// DefaultEndpoint is used unless HF_ENDPOINT names a mirror.
const DefaultEndpoint = "https://huggingface.co"

// Resolved pins one file: the content at URL never changes, because it names a
// commit.
type Resolved struct {
	Path   string // in the repository
	Commit string // 40 hex digits
	Size   int64  // bytes
	SHA256 string // 64 hex digits
	URL    string // at the endpoint that answered
	Source string // hf://…, which any endpoint serves: see Locate
}

var (
	// ErrGated means that a login, or accepting the terms, is missing.
	ErrGated = errors.New("gated, private or missing")
	// ErrNotFound means that the endpoint has no such file.
	ErrNotFound = errors.New("not found")
	// ErrNoDigest means that the endpoint does not report the file's sha256.
	ErrNoDigest = errors.New("no sha256 from the endpoint")
	// ErrMissingShard means that a model lacks one of its shards.
	ErrMissingShard = errors.New("missing shard")
	// ErrChanged means that upstream has other content than the lock.
	ErrChanged = errors.New("upstream changed")
)

// Client asks one endpoint. The zero value asks DefaultEndpoint without a
// token. It is safe for concurrent use.
type Client struct {
	HTTP     *http.Client // adds the token: see Authorize; nil: http.DefaultClient
	Endpoint string       // "" is DefaultEndpoint
	Offline  bool         // every call fails with an error that wraps reconcile.ErrOffline
}

// resolve pins one file with one HEAD request. It follows redirects only within
// the endpoint, for renamed repositories, and never asks the content host. See
// Files for a model that may have shards.
func (c Client) resolve(ctx context.Context, repo, rev, file string) (Resolved, error) {
	at, err := URL(c.endpoint(), repo, rev, file)
	if err != nil {
		return Resolved{}, err
	}
	resp, err := c.ask(ctx, http.MethodHead, at, nil)
	if err != nil {
		return Resolved{}, err
	}
	resp.Body.Close()
	if err := status(resp, repo); err != nil {
		return Resolved{}, err
	}
	said, err := readHeader(resp)
	if err != nil {
		return Resolved{}, fmt.Errorf("%s: %w", c.endpoint(), err)
	}
	return c.pinned(repo, said.commit, Entry{Path: file, Size: said.size, SHA256: said.sha256})
}

// pinned is a file whose fields are all known.
func (c Client) pinned(repo, commit string, e Entry) (Resolved, error) {
	at, err := URL(c.endpoint(), repo, commit, e.Path)
	if err != nil {
		return Resolved{}, err
	}
	return Resolved{Path: e.Path, Commit: commit, Size: e.Size, SHA256: e.SHA256, URL: at, Source: Source(repo, commit, e.Path)}, nil
}

func (c Client) endpoint() string {
	if c.Endpoint == "" {
		return DefaultEndpoint
	}
	return strings.TrimRight(c.Endpoint, "/")
}

// online returns the error of a client that must not dial.
func (c Client) online() error {
	if c.Offline {
		return fmt.Errorf("ask %s: %w (HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE count too)", c.endpoint(), reconcile.ErrOffline)
	}
	return nil
}

// URL is the address at endpoint of file of repo at rev. rev may contain
// slashes, as in refs/pr/1; file is a slash-separated path.
func URL(endpoint, repo, rev, file string) (string, error) {
	if !clean(file) {
		return "", fmt.Errorf("%q is not a file path in a repository", file)
	}
	base, err := repository(endpoint, "", repo, "resolve", rev)
	if err != nil {
		return "", err
	}
	return base + "/" + escape(file), nil
}

// repository is the address at endpoint of verb for repo at rev.
func repository(endpoint, prefix, repo, verb, rev string) (string, error) {
	base, err := url.Parse(strings.TrimRight(endpoint, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return "", fmt.Errorf("endpoint %q is not an http(s) URL; check HF_ENDPOINT", endpoint)
	}
	if strings.Count(repo, "/") > 1 || !clean(repo) || !clean(rev) {
		return "", fmt.Errorf("%q at %q is not a repository: want OWNER/NAME and a revision", repo, rev)
	}
	return base.String() + prefix + "/" + repo + "/" + verb + "/" + url.PathEscape(rev), nil
}

// clean reports whether p is a relative path that stays below its base.
func clean(p string) bool {
	for s := range strings.SplitSeq(p, "/") {
		if s == "" || s == "." || s == ".." || strings.ContainsAny(s, "\\\x00\n\r") {
			return false
		}
	}
	return !strings.ContainsAny(p, "?#")
}

// escape escapes each segment of path.
func escape(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}
