// Package hub knows what is particular to Hugging Face and its mirrors: how a
// file of a repository is named, pinned, found and paid for with a token. It
// moves no content and keeps none. Start reading at Client, then locate.go.
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

// DefaultEndpoint is used where HF_ENDPOINT names no mirror.
const DefaultEndpoint = "https://huggingface.co"

// Resolved pins one file: what is at URL never changes, as it names a commit.
type Resolved struct {
	Path   string // in the repository
	Commit string // 40 hex digits
	Size   int64  // bytes
	SHA256 string // 64 hex digits
	URL    string // at the endpoint that was asked
	Source string // hf://…, which any endpoint serves: see Locate
}

var (
	// ErrGated says that a login, or accepting the terms, is missing.
	ErrGated = errors.New("is gated, private, or not there")
	// ErrNotFound says that the endpoint has no such file.
	ErrNotFound = errors.New("not found")
	// ErrNoDigest says that the endpoint does not tell the file's sha256.
	ErrNoDigest = errors.New("the endpoint does not tell its sha256")
	// ErrMissingShard says that a model's other shards are there and one is not.
	ErrMissingShard = errors.New("a shard is missing")
	// ErrChanged says that upstream has other content than was locked.
	ErrChanged = errors.New("upstream changed")
)

// Client asks one endpoint. The zero value asks DefaultEndpoint without a
// token. Safe for concurrent use.
type Client struct {
	HTTP     *http.Client // brings the token: see Authorize; nil: http.DefaultClient
	Endpoint string       // "" is DefaultEndpoint
	Offline  bool         // every call fails with an error that wraps reconcile.ErrOffline
}

// resolve pins one file with one HEAD request. Redirects are followed only
// within the endpoint, as renamed repositories need it; the content's own host
// is never asked. See Files for a model that may lie in shards.
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

// pinned is a file whose every detail is known.
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
		return fmt.Errorf("asking %s %w (HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE count too)", c.endpoint(), reconcile.ErrOffline)
	}
	return nil
}

// URL is where endpoint serves file of repo at rev. rev may hold slashes, as
// refs/pr/1 does; file is a slash-separated path.
func URL(endpoint, repo, rev, file string) (string, error) {
	if !clean(file) {
		return "", fmt.Errorf("%q is no path of a file in a repository", file)
	}
	base, err := repository(endpoint, "", repo, "resolve", rev)
	if err != nil {
		return "", err
	}
	return base + "/" + escape(file), nil
}

// repository is the address under which endpoint does verb for repo at rev.
func repository(endpoint, prefix, repo, verb, rev string) (string, error) {
	base, err := url.Parse(strings.TrimRight(endpoint, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return "", fmt.Errorf("endpoint %q is no http(s) URL; check HF_ENDPOINT", endpoint)
	}
	if strings.Count(repo, "/") > 1 || !clean(repo) || !clean(rev) {
		return "", fmt.Errorf("%q at %q is no repository: want OWNER/NAME and a revision", repo, rev)
	}
	return base.String() + prefix + "/" + repo + "/" + verb + "/" + url.PathEscape(rev), nil
}

// clean reports whether p is a relative path that stays where it is joined.
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
