package fetch

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Resolver turns a source of its scheme into a URL that serves its bytes, and
// headers for the origin of that URL only. It is called again when the URL is
// old or refused. An error with a method RetryAfter() time.Duration, or a
// net.Error, counts as temporary; after any other the source is given up.
type Resolver func(ctx context.Context, source string, size int64, sha256 string) (at string, header http.Header, err error)

// fresh is how long an address is used before it is resolved again: signed ones
// expire.
const fresh = 5 * time.Minute

// location is the current address of a source's bytes. It remembers an address
// from a resolver or a redirect, so that not each range asks again. It is safe
// for concurrent use.
type location struct {
	resolve func(ctx context.Context) (address, error)
	now     func() time.Time

	mu        sync.Mutex // held while resolving: the others wait for the result
	at        address
	until     time.Time
	number    int
	served    bool          // a request got bytes: a refusal after that means that its address expired
	redirects bool          // requests to the resolved address were redirected
	following chan struct{} // closed once the request that follows a redirect knows its end
}

// address is one answer of where. Its user reports the outcome with answered.
type address struct {
	url     *url.URL
	header  http.Header
	derived bool // from a resolver or redirect, which may give another one
	number  int
	leads   bool // the others wait for its redirect
}

// where returns the address to request.
func (l *location) where(ctx context.Context) (address, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.following != nil {
		wait := l.following
		l.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
		}
		l.mu.Lock()
		if err := ctx.Err(); err != nil {
			return address{}, err
		}
	}
	if l.at.url != nil && l.now().Before(l.until) {
		return l.at, nil
	}
	a, err := l.resolve(ctx)
	if err != nil {
		return address{}, err
	}
	l.until = l.now().Add(fresh)
	l.keep(a)
	if a = l.at; l.redirects {
		a.leads, l.following = true, make(chan struct{})
	}
	return a, nil
}

func (l *location) keep(a address) {
	l.number++
	a.number = l.number
	l.at = a
}

// answered records that a request to a ended at u; nil means that it was
// refused.
func (l *location) answered(a address, u *url.URL) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.leads {
		close(l.following)
		l.following = nil
	}
	l.served = l.served || u != nil
	switch {
	case a.number != l.at.number: // another has replaced it
	case u == nil && a.derived:
		l.at = address{}
	case u != nil && *u != *a.url:
		led := address{url: u, derived: true}
		if sameOrigin(u, a.url) {
			led.header = a.header
		}
		l.redirects = true
		l.keep(led)
	}
}

func (l *location) hasServed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.served
}

// resolved calls r, and classifies its errors.
func resolved(ctx context.Context, r Resolver, source string, size int64, sha256 string) (address, error) {
	raw, header, err := r(ctx, source, size, sha256)
	if err != nil {
		var later interface{ RetryAfter() time.Duration }
		var network net.Error
		switch {
		case errors.As(err, &later):
			return address{}, &refusal{verdict: notNow, after: later.RetryAfter(), err: bare(err)}
		case errors.As(err, &network):
			return address{}, transportError(err)
		}
		return address{}, refuse(nextSource, "%w", err)
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return address{}, refuse(nextSource, "leads to no http(s) URL")
	}
	return address{url: u, header: header, derived: true}, nil
}

// guarded lets a redirect carry to another origin only the headers that select
// bytes.
func guarded(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return refuse(nextSource, "redirects more than 10 times")
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return refuse(nextSource, "redirects to a %s URL", req.URL.Scheme)
	}
	if sameOrigin(req.URL, via[0].URL) {
		return nil
	}
	for name := range req.Header {
		switch name {
		case "Range", "If-Range", "Accept-Encoding", "User-Agent":
		default:
			req.Header.Del(name)
		}
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Host, b.Host)
}
