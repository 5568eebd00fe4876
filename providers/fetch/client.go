package fetch

import (
	"context"
	"net"
	"net/http"
	"time"

	"aisync.dev/aisync/providers/fetch/hub"
)

// Options say how a Client reaches the world. The zero value works.
type Options struct {
	Endpoint    string // Hugging Face or a mirror of it; "" is hub.DefaultEndpoint
	Token       string // sent to Endpoint's origin and to nobody else
	UserAgent   string
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error) // nil: a net.Dialer

	Stall   time.Duration // without a byte for so long, a request is given up; 0: 20 s
	Retries int           // tries in a row that bring nothing before a source is given up; 0: 6

	JournalBytes int64         // what a kill may cost, at most twice; 0: 64 MiB
	JournalEvery time.Duration // 0: 2 s

	// Retry is told, before each pause, why a try brought nothing and which of
	// how many comes next; nil: nobody is told.
	Retry func(name string, why error, pause time.Duration, next, tries int)

	Now   func() time.Time                                 // nil: time.Now
	Sleep func(ctx context.Context, d time.Duration) error // nil: sleeps; returns early with ctx's error
}

// Client fetches over the network and from local files. Safe for concurrent use.
type Client struct {
	http         *http.Client
	retries      int
	retry        func(name string, why error, pause time.Duration, next, tries int)
	journalBytes int64
	journalEvery time.Duration
	span         int64 // bytes asked for in one request
	now          func() time.Time
	sleep        func(ctx context.Context, d time.Duration) error
}

// maxSpan bounds one request: Hugging Face's CDN refuses responses of more than 50 GB.
const maxSpan = 16 << 30

// New returns a Client. Proxies and certificate authorities are those that Go
// knows: HTTP_PROXY, HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR.
func New(o Options) *Client {
	c := &Client{
		retries:      or(o.Retries, 6),
		retry:        o.Retry,
		journalBytes: or(o.JournalBytes, 64<<20),
		journalEvery: or(o.JournalEvery, 2*time.Second),
		span:         maxSpan,
		now:          o.Now,
		sleep:        o.Sleep,
	}
	if c.retry == nil {
		c.retry = func(string, error, time.Duration, int, int) {}
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.sleep == nil {
		c.sleep = sleep
	}
	dial := o.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	// HTTP/1.1 only: over HTTP/2 every range would share one connection.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	var rt http.RoundTripper = &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dial,
		Protocols:           protocols,
		DisableCompression:  true,
		TLSHandshakeTimeout: 15 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 8,
	}
	rt = hub.Authorize(rt, or(o.Endpoint, hub.DefaultEndpoint), o.Token)
	c.http = &http.Client{Transport: &guard{base: rt, stall: or(o.Stall, 20*time.Second), agent: or(o.UserAgent, "aisync")}}
	return c
}

// HTTP returns the client with which Fetch makes its requests: token, proxies
// and stall detection included.
func (c *Client) HTTP() *http.Client { return c.http }

func or[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
