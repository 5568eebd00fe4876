// Package hub knows what is particular to Hugging Face and its mirrors: how a
// file of a repository is named, pinned and paid for with a token. It moves no
// content and keeps none. Start reading at Resolve.
package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// DefaultEndpoint is used where HF_ENDPOINT names no mirror.
const DefaultEndpoint = "https://huggingface.co"

// Resolved pins one file: what is at URL never changes, as it names a commit.
type Resolved struct {
	Commit string // 40 hex digits
	Size   int64  // bytes
	SHA256 string // 64 hex digits
	URL    string
}

var (
	// ErrGated says that a login, or accepting the terms, is missing.
	ErrGated = errors.New("is gated, private, or not there")
	// ErrNotFound says that the endpoint has no such file.
	ErrNotFound = errors.New("not found")
	// ErrNoDigest says that the endpoint does not tell the file's sha256.
	ErrNoDigest = errors.New("the endpoint does not tell its sha256")
)

// Resolve asks endpoint ("" is DefaultEndpoint) what file of repo is at rev.
// It makes one HEAD request, and follows redirects only within the endpoint,
// as renamed repositories need it; the content's own host is never asked.
// client brings the token: see Authorize.
func Resolve(ctx context.Context, client *http.Client, endpoint, repo, rev, file string) (Resolved, error) {
	if endpoint == "" {
		endpoint = DefaultEndpoint
	}
	what := fmt.Sprintf("%s of %s at %s", file, repo, rev)
	at, err := URL(endpoint, repo, rev, file)
	if err != nil {
		return Resolved{}, fmt.Errorf("resolve %s: %w", what, err)
	}
	resp, err := head(ctx, client, at)
	if err != nil {
		return Resolved{}, fmt.Errorf("resolve %s: ask %s: %w", what, endpoint, err)
	}
	if err := status(resp, repo); err != nil {
		return Resolved{}, fmt.Errorf("resolve %s: %w", what, err)
	}
	r, err := pinned(resp)
	if err != nil {
		return Resolved{}, fmt.Errorf("resolve %s: %s: %w", what, endpoint, err)
	}
	r.URL, err = URL(endpoint, repo, r.Commit, file)
	return r, err
}

// URL is where endpoint serves file of repo at rev. rev may hold slashes, as
// refs/pr/1 does; file is a slash-separated path.
func URL(endpoint, repo, rev, file string) (string, error) {
	base, err := url.Parse(strings.TrimRight(endpoint, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return "", fmt.Errorf("endpoint %q is no http(s) URL; check HF_ENDPOINT", endpoint)
	}
	if n := strings.Count(repo, "/"); n > 1 || !clean(repo) || !clean(rev) || !clean(file) {
		return "", fmt.Errorf("%q, %q, %q name no file of a repository: want OWNER/NAME, a revision and a path", repo, rev, file)
	}
	segments := strings.Split(file, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return base.String() + "/" + repo + "/resolve/" + url.PathEscape(rev) + "/" + strings.Join(segments, "/"), nil
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

// head asks for at, following redirects within its origin.
func head(ctx context.Context, client *http.Client, at string) (*http.Response, error) {
	still := *client
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	from, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	for range 6 {
		req, err := http.NewRequestWithContext(ctx, http.MethodHead, at, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept-Encoding", "identity")
		resp, err := still.Do(req)
		if err != nil {
			var u *url.Error
			if errors.As(err, &u) {
				err = u.Err
			}
			return nil, err
		}
		resp.Body.Close()
		to, err := resp.Location()
		if resp.StatusCode/100 != 3 || err != nil || resp.Header.Get("X-Linked-Etag") != "" || !sameOrigin(from, to) {
			return resp, nil
		}
		at = to.String()
	}
	return nil, errors.New("redirects in a circle")
}

// status explains an answer that pins nothing.
func status(resp *http.Response, repo string) error {
	switch code := resp.StatusCode; {
	case code/100 == 2 || code/100 == 3:
		return nil
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("%s %w (%s); accept its terms at %s://%s/%s and set HF_TOKEN to a token that may read it",
			repo, ErrGated, resp.Status, resp.Request.URL.Scheme, resp.Request.URL.Host, repo)
	case code == http.StatusNotFound:
		if why := resp.Header.Get("X-Error-Code"); why != "" {
			return fmt.Errorf("%w (%s); check the repository, the revision and the path", ErrNotFound, why)
		}
		return fmt.Errorf("%w; check the repository, the revision and the path", ErrNotFound)
	case code == http.StatusTooManyRequests || code >= 500:
		return fmt.Errorf("answered %s; try again later", resp.Status)
	default:
		return fmt.Errorf("answered %s", resp.Status)
	}
}

// pinned reads the headers. X-Linked-* describe the content where the answer
// itself is a redirect or a pointer; Content-Length of a redirect never does.
func pinned(resp *http.Response) (Resolved, error) {
	h := resp.Header
	r := Resolved{Commit: h.Get("X-Repo-Commit"), Size: -1}
	if raw, err := hex.DecodeString(r.Commit); err != nil || len(raw) != 20 {
		return Resolved{}, fmt.Errorf("X-Repo-Commit %q is no commit; is it a Hugging Face endpoint?", r.Commit)
	}
	tag := h.Get("X-Linked-Etag")
	if tag == "" {
		tag = h.Get("ETag")
	}
	tag = strings.ToLower(strings.Trim(strings.TrimPrefix(tag, "W/"), `"`))
	tag = strings.TrimPrefix(tag, "sha256:")
	if raw, err := hex.DecodeString(tag); err != nil || len(raw) != 32 {
		if len(tag) == 40 {
			return Resolved{}, fmt.Errorf("%w: ETag %s is a git blob's, the file is not stored as a large one; write its sha256 into the catalog entry", ErrNoDigest, tag)
		}
		return Resolved{}, fmt.Errorf("%w: ETag is %q; write the sha256 into the catalog entry", ErrNoDigest, tag)
	}
	r.SHA256 = tag
	if n, err := strconv.ParseInt(h.Get("X-Linked-Size"), 10, 64); err == nil {
		r.Size = n
	} else if resp.StatusCode == http.StatusOK {
		r.Size = resp.ContentLength
	}
	if r.Size <= 0 {
		return Resolved{}, errors.New("does not tell the file's size")
	}
	return r, nil
}
