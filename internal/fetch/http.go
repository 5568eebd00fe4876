package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// httpSource serves one file over HTTP/1.1, with ranges if the server supports
// them.
type httpSource struct {
	client *http.Client
	name   string
	at     *location
	now    func() time.Time
}

func (c *Client) httpSource(name string, resolve func(context.Context) (address, error)) *httpSource {
	return &httpSource{client: c.ranges, name: name, at: &location{resolve: resolve, now: c.now}, now: c.now}
}

func (s *httpSource) String() string { return s.name }
func (s *httpSource) ranged() bool   { return true }

// open implements source. A server's lengths may lead to an early refusal,
// never to acceptance.
func (s *httpSource) open(ctx context.Context, from, to, size int64, seen validator) (stream, error) {
	at, err := s.at.where(ctx)
	if err != nil {
		return stream{}, err
	}
	st, led, err := s.ask(ctx, at, from, to, size, seen)
	s.at.answered(at, led)
	return st, err
}

// ask requests at and returns the final URL, nil with an error.
func (s *httpSource) ask(ctx context.Context, at address, from, to, size int64, seen validator) (stream, *url.URL, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.url.String(), nil)
	if err != nil {
		return stream{}, nil, refuse(nextSource, "%w", bare(err))
	}
	for name, values := range at.header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Accept-Encoding", "identity")
	ranged := from > 0 || to < size
	if ranged {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
	}
	if from > 0 && seen.ETag != "" {
		req.Header.Set("If-Range", seen.ETag)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return stream{}, nil, transportError(err)
	}
	st, err := s.accept(resp, from, to, size, ranged, seen)
	if err != nil {
		resp.Body.Close()
		if r := (*refusal)(nil); errors.As(err, &r) {
			r.verdict = s.other(r.verdict, at, resp)
		}
		return stream{}, nil, err
	}
	return st, resp.Request.URL, nil
}

// other is v, the verdict of resp, when it is known whether another address of
// the content can be had.
func (s *httpSource) other(v verdict, at address, resp *http.Response) verdict {
	signed := at.derived || resp.Request.URL.String() != at.url.String()
	if signed && resp.StatusCode == http.StatusBadRequest {
		v = moved // S3's answer to a signature whose token has expired
	}
	switch {
	case v != moved:
	case signed && s.at.hasServed():
		v = expired
	case !signed && resp.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		v = wholeOnly
	case !signed:
		v = nextSource
	}
	return v
}

// accept judges the head of a response.
func (s *httpSource) accept(resp *http.Response, from, to, size int64, ranged bool, seen validator) (stream, error) {
	switch {
	case resp.StatusCode == http.StatusOK:
	case resp.StatusCode == http.StatusPartialContent && ranged:
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && ranged:
		if total, ok := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes */"); ok && total != strconv.FormatInt(size, 10) {
			return stream{}, refuse(nextSource, "has %s bytes, but %d are pinned", total, size)
		}
		return stream{}, refuse(moved, "answered %s to bytes %d-%d", resp.Status, from, to-1)
	default:
		return stream{}, s.status(resp)
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return stream{}, refuse(nextSource, "sends %s-encoded bytes though asked for identity", enc)
	}
	st := stream{body: resp.Body, to: size, validator: validatorOf(resp.Header)}
	changed := seen.ETag != "" && st.validator.ETag != "" && st.validator.ETag != seen.ETag
	if resp.StatusCode == http.StatusOK {
		switch n := resp.ContentLength; {
		case n >= 0 && n != size:
			return stream{}, refuse(nextSource, "has %d bytes, but %d are pinned", n, size)
		case changed:
			return stream{}, refuse(startAgain, "has changed: ETag %s was %s", st.validator.ETag, seen.ETag)
		case from > 0:
			return stream{}, refuse(wholeOnly, "answered bytes %d-%d with the whole file", from, to-1)
		}
		return st, nil
	}
	start, end, total, ok := contentRange(resp.Header.Get("Content-Range"))
	switch {
	case !ok || start != from || end >= to:
		return stream{}, refuse(wholeOnly, "was asked for bytes %d-%d and answered %q", from, to-1, resp.Header.Get("Content-Range"))
	case total != size:
		return stream{}, refuse(nextSource, "has %d bytes, but %d are pinned", total, size)
	case changed:
		return stream{}, refuse(startAgain, "has changed: ETag %s was %s", st.validator.ETag, seen.ETag)
	}
	st.from, st.to = start, end+1
	return st, nil
}

// status turns a status without content into a refusal.
func (s *httpSource) status(resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return refuse(moved, "answered %s: a login or accepted terms are required; for a Hugging Face model, accept them on its page and set HF_TOKEN", resp.Status)
	case code == http.StatusNotFound || code == http.StatusGone:
		return refuse(moved, "answered %s: no such file; check the source in the spec or the catalog", resp.Status)
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code == http.StatusTooEarly:
		return &refusal{verdict: notNow, after: retryAfter(resp.Header.Get("Retry-After"), s.now()), err: fmt.Errorf("answered %s", resp.Status)}
	default:
		return refuse(nextSource, "answered %s", resp.Status)
	}
}

// transportError separates permanent errors from those that a retry may fix.
func transportError(err error) error {
	err = bare(err)
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) || errors.As(err, &dns) && dns.IsNotFound {
		return refuse(nextSource, "%w", err)
	}
	return err
}

// bare removes the URL, which may be signed, from an error of package http.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// validatorOf keeps what If-Range allows: no weak ETags.
func validatorOf(h http.Header) validator {
	if etag := h.Get("ETag"); strings.HasPrefix(etag, `"`) {
		return validator{ETag: etag}
	}
	return validator{}
}

// contentRange parses "bytes START-END/TOTAL" with three valid numbers.
func contentRange(h string) (start, end, total int64, ok bool) {
	span, all, found := strings.Cut(strings.TrimPrefix(h, "bytes "), "/")
	first, last, dash := strings.Cut(span, "-")
	start, err1 := strconv.ParseInt(first, 10, 64)
	end, err2 := strconv.ParseInt(last, 10, 64)
	total, err3 := strconv.ParseInt(all, 10, 64)
	ok = strings.HasPrefix(h, "bytes ") && found && dash && errors.Join(err1, err2, err3) == nil &&
		0 <= start && start <= end && end < total
	return start, end, total, ok
}

// retryAfter parses seconds or a date; anything else is 0.
func retryAfter(h string, now time.Time) time.Duration {
	if s, err := strconv.ParseInt(h, 10, 32); err == nil {
		return max(0, time.Duration(s)*time.Second)
	}
	if t, err := http.ParseTime(h); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}
