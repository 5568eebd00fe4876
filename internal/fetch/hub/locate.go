package hub

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch/ssrf"
)

// Source is the URL of a file of repo without an endpoint: the endpoint
// configured at the time of the fetch serves it.
func Source(repo, rev, file string) string {
	return "hf://" + repo + "@" + url.PathEscape(rev) + "/" + escape(file)
}

// ParseSource is the inverse of Source. Without @REV the repository is
// OWNER/NAME and rev is main.
func ParseSource(source string) (repo, rev, file string, err error) {
	rest, ok := strings.CutPrefix(source, "hf://")
	repo, rest, pinned := strings.Cut(rest, "@")
	if pinned {
		rev, file, _ = strings.Cut(rest, "/")
	} else if parts := strings.SplitN(repo, "/", 3); len(parts) == 3 {
		repo, rev, file = parts[0]+"/"+parts[1], "main", parts[2]
	}
	rev, err1 := url.PathUnescape(rev)
	file, err2 := url.PathUnescape(file)
	if !ok || err1 != nil || err2 != nil || strings.Count(repo, "/") > 1 || !clean(repo) || !clean(rev) || !clean(file) {
		return "", "", "", fmt.Errorf("invalid source %q; want hf://OWNER/NAME@COMMIT/PATH", source)
	}
	return repo, rev, file, nil
}

// Locate returns where the content of source can be had now, for requests with
// Range: an expiring address at a host that must not see the token, or one at
// the endpoint itself. A client that gets 401 or 403 there calls Locate again.
//
// The error wraps ErrChanged, with both digests, if the endpoint's content
// differs from the locked sha256 and size; ErrGated and ErrNotFound if only a
// person can help. If it has a method RetryAfter() time.Duration, a retry may
// succeed.
func (c Client) Locate(ctx context.Context, source string, size int64, sha256 string) (string, http.Header, error) {
	repo, rev, file, err := ParseSource(source)
	if err != nil {
		return "", nil, err
	}
	at, err := URL(c.endpoint(), repo, rev, file)
	if err != nil {
		return "", nil, err
	}
	// Not HEAD: an address that is signed for HEAD may refuse GET.
	resp, err := c.ask(ctx, http.MethodGet, at, http.Header{"Range": {"bytes=0-0"}})
	if err != nil {
		return "", nil, err
	}
	resp.Body.Close()
	if err := status(resp, repo); err != nil {
		return "", nil, err
	}
	if err := same(describe(resp), size, sha256); err != nil {
		return "", nil, fmt.Errorf("%w; %s", err, advice.UpdateLock)
	}
	if resp.StatusCode/100 == 2 {
		return resp.Request.URL.String(), nil, nil
	}
	to, err := resp.Location()
	if err != nil || to.Host == "" || to.Scheme != "https" && to.Scheme != "http" {
		return "", nil, fmt.Errorf("%s answered %s without a location", c.endpoint(), resp.Status)
	}
	if err := ssrf.Check(resp.Request.URL, to); err != nil {
		return "", nil, fmt.Errorf("%s: %w", c.endpoint(), err)
	}
	return to.String(), nil, nil
}

// same compares an endpoint's description of a file with the locked one. Fields
// that it leaves out are left to the digest of the content.
func same(now described, size int64, sha256 string) error {
	differs := now.sha256 != "" && !strings.EqualFold(now.sha256, sha256)
	if !differs && (now.size < 0 || now.size == size) {
		return nil
	}
	is := "sha256 " + now.sha256
	if now.sha256 == "" {
		is = "no known sha256"
	}
	return fmt.Errorf("%w: locked sha256 %s and %d bytes, found %s and %d bytes", ErrChanged, sha256, size, is, now.size)
}
