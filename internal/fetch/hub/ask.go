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
	"time"
)

// ask makes one request and follows redirects within its origin to the response
// that describes the content. The caller closes the body.
func (c Client) ask(ctx context.Context, method, at string, header http.Header) (*http.Response, error) {
	if err := c.online(); err != nil {
		return nil, err
	}
	still := http.Client{}
	if c.HTTP != nil {
		still = *c.HTTP
	}
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	from, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	for range 6 {
		req, err := http.NewRequestWithContext(ctx, method, at, nil)
		if err != nil {
			return nil, err
		}
		for k, v := range header {
			req.Header[k] = v
		}
		req.Header.Set("Accept-Encoding", "identity")
		resp, err := still.Do(req)
		if err != nil {
			var u *url.Error
			if errors.As(err, &u) {
				err = u.Err
			}
			return nil, fmt.Errorf("ask %s: %w", c.endpoint(), err)
		}
		to, err := resp.Location()
		if resp.StatusCode/100 != 3 || err != nil || resp.Header.Get("X-Linked-Etag") != "" || !sameOrigin(from, to) {
			return resp, nil
		}
		resp.Body.Close()
		at = to.String()
	}
	return nil, fmt.Errorf("%s redirects in a circle", c.endpoint())
}

// status explains a response without a description.
func status(resp *http.Response, repo string) error {
	switch code := resp.StatusCode; {
	case code/100 == 2 || code/100 == 3:
		return nil
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		what := "set HF_TOKEN to a token that may read it"
		if resp.Request.Header.Get("Authorization") != "" || code == http.StatusForbidden {
			what = "use a token (HF_TOKEN) of an account that may read it"
		}
		return fmt.Errorf("%s: %w (%s); accept its terms at %s://%s/%s and %s",
			repo, ErrGated, resp.Status, resp.Request.URL.Scheme, resp.Request.URL.Host, repo, what)
	case code == http.StatusNotFound || code == http.StatusGone:
		if why := resp.Header.Get("X-Error-Code"); why != "" {
			return fmt.Errorf("%w (%s); check the repository, the revision and the path", ErrNotFound, why)
		}
		return fmt.Errorf("%w; check the repository, the revision and the path", ErrNotFound)
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return &temporaryError{status: resp.Status, after: retryAfter(resp.Header.Get("Retry-After"))}
	default:
		return fmt.Errorf("answered %s", resp.Status)
	}
}

// temporaryError is a failure that may pass soon.
type temporaryError struct {
	status string
	after  time.Duration
}

func (l *temporaryError) Error() string { return "answered " + l.status + "; try again later" }

// RetryAfter returns the wait that the endpoint asked for, 0 if none.
func (l *temporaryError) RetryAfter() time.Duration { return l.after }

// retryAfter parses seconds or a date; anything else is 0.
func retryAfter(h string) time.Duration {
	if s, err := strconv.ParseInt(h, 10, 32); err == nil {
		return max(0, time.Duration(s)*time.Second)
	}
	if t, err := http.ParseTime(h); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// described is what the headers of a response say about a file.
type described struct {
	commit, sha256 string // "" if unusable
	etag           string // unparsed
	size           int64  // -1 if unusable
}

// describe parses the headers. X-Linked-* describe the content if the response
// is a redirect or a pointer; the Content-Length of a redirect never does.
func describe(resp *http.Response) described {
	h := resp.Header
	d := described{size: -1}
	if raw, err := hex.DecodeString(h.Get("X-Repo-Commit")); err == nil && len(raw) == 20 {
		d.commit = h.Get("X-Repo-Commit")
	}
	d.etag = h.Get("X-Linked-Etag")
	if d.etag == "" && resp.StatusCode/100 == 2 {
		d.etag = h.Get("ETag")
	}
	d.etag = strings.Trim(strings.TrimPrefix(d.etag, "W/"), `"`)
	d.sha256 = hexDigest(d.etag)
	if n, err := strconv.ParseInt(h.Get("X-Linked-Size"), 10, 64); err == nil {
		d.size = n
	} else if resp.StatusCode == http.StatusOK {
		d.size = resp.ContentLength
	} else if _, total, ok := strings.Cut(h.Get("Content-Range"), "/"); ok && resp.StatusCode == http.StatusPartialContent {
		if n, err := strconv.ParseInt(total, 10, 64); err == nil {
			d.size = n
		}
	}
	return d
}

// readHeader is describe with every field required.
func readHeader(resp *http.Response) (described, error) {
	d := describe(resp)
	switch {
	case d.commit == "":
		return d, fmt.Errorf("X-Repo-Commit %q is not a commit; is this a Hugging Face endpoint?", resp.Header.Get("X-Repo-Commit"))
	case d.sha256 == "" && len(d.etag) == 40:
		return d, fmt.Errorf("%w: ETag %s is that of a git blob, because the file is not in LFS; write its sha256 into the catalog entry", ErrNoDigest, d.etag)
	case d.sha256 == "":
		return d, fmt.Errorf("%w: ETag is %q; write the sha256 into the catalog entry", ErrNoDigest, d.etag)
	case d.size <= 0:
		return d, errors.New("no file size in the response")
	}
	return d, nil
}

// hexDigest returns s as 64 lower-case hex digits, without a server's prefix,
// or "" if it is not a sha256.
func hexDigest(s string) string {
	s = strings.TrimPrefix(strings.ToLower(s), "sha256:")
	if raw, err := hex.DecodeString(s); err != nil || len(raw) != 32 {
		return ""
	}
	return s
}
