package fetch

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/http"
	"os"
	"time"

	"aisync.dev/aisync/internal/fetch/archive"
	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/partfile"
)

// Options configure a Client. The zero value works.
type Options struct {
	Endpoint    string // Hugging Face or a mirror of it; "" is hub.DefaultEndpoint
	Token       string // sent only to Endpoint's origin
	UserAgent   string
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error) // nil: a net.Dialer

	Stall   time.Duration // time limit without a byte; 0: 20 s. git, which is silent while it works, has three times that
	Retries int           // consecutive failed tries before a source is given up; 0: 6

	Connections int                 // concurrent ranges of one artifact, if one does not keep the hash busy; 0: as many as make it faster, up to 16
	LimitRate   int64               // bytes a second for the whole Client; 0: no limit
	Chunk       int64               // bytes of one range; 0: 8 MiB, and 16 MiB from 64 GiB on
	Resolve     map[string]Resolver // further kinds of sources, by scheme
	Clones      string              // a folder of earlier clones, which lend new ones what they have; may be ""

	JournalBytes int64         // bytes that a loss of power may cost, besides those in flight; 0: 256 MiB. A kill costs a connection 2 MiB
	JournalEvery time.Duration // 0: 5 s
	Volatile     bool          // no journal and no sync: a kill costs everything, a loss of power even a verified file

	// Retry is called before each pause with the reason of the failed try and
	// the number of the next; may be nil.
	Retry func(name string, why error, pause time.Duration, next, tries int)

	Now   func() time.Time                                 // nil: time.Now
	Sleep func(ctx context.Context, d time.Duration) error // nil: sleeps; returns early with ctx's error
}

// Client fetches from the network and from local files. It is safe for
// concurrent use.
type Client struct {
	// Artifact makes the folder dst of what an artifact of an OCI registry holds. Set
	// it before the first Tree; nil: such sources are refused.
	Artifact func(ctx context.Context, source, dst string, limits archive.Limits) error

	silent       silent // mirrors that did not answer
	http         *http.Client
	ranges       *http.Client // http, with stricter redirects
	resolvers    map[string]Resolver
	retries      int
	retry        func(name string, why error, pause time.Duration, next, tries int)
	connections  int // 0: as many as help
	chunk        int64
	journalBytes int64
	journalEvery time.Duration
	volatile     bool
	limit        *limit
	patience     time.Duration // before a second connection; see feed
	handing      time.Duration // that handing a chunk to another connection must save; see hold
	crawl        slowness
	stall        time.Duration
	treeLimits   archive.Limits
	clones       string
	direct       func(*os.File) *os.File
	wrap         func(contents) contents // lets tests observe and spoil access to a part
	now          func() time.Time
	sleep        func(ctx context.Context, d time.Duration) error
}

// New returns a Client. It uses Go's proxies and certificate authorities:
// HTTP_PROXY, HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR.
func New(o Options) *Client {
	c := &Client{
		retries:      cmp.Or(o.Retries, 6),
		retry:        o.Retry,
		resolvers:    maps.Clone(o.Resolve),
		connections:  max(0, o.Connections),
		chunk:        o.Chunk,
		journalBytes: cmp.Or(o.JournalBytes, 256<<20),
		journalEvery: cmp.Or(o.JournalEvery, 5*time.Second),
		volatile:     o.Volatile,
		patience:     50 * time.Millisecond,
		handing:      250 * time.Millisecond,
		stall:        cmp.Or(o.Stall, 20*time.Second),
		treeLimits:   treeLimits,
		clones:       o.Clones,
		crawl:        slowness{over: 30 * time.Second, rate: 16 << 10},
		direct:       partfile.OpenDirect,
		wrap:         func(f contents) contents { return f },
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
	c.silent.now = c.now
	c.limit = newLimit(o.LimitRate, c.now, c.sleep)
	dial := o.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	dial = checkedDial(dial)
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
		MaxIdleConnsPerHost: max(mostConnections, c.connections),
	}
	rt = hub.Authorize(rt, cmp.Or(o.Endpoint, hub.DefaultEndpoint), o.Token)
	c.http = &http.Client{Transport: &guard{base: rt, stall: c.stall, crawl: c.crawl, agent: cmp.Or(o.UserAgent, "aisync")}}
	c.ranges = &http.Client{Transport: c.http.Transport, CheckRedirect: guarded}
	return c
}

// HTTP returns the client of Fetch's requests, with token, proxies and stall
// detection.
func (c *Client) HTTP() *http.Client { return c.http }

// Resolve adds r, which may use HTTP, for sources of scheme. Call it before the
// first Fetch.
func (c *Client) Resolve(scheme string, r Resolver) {
	if c.resolvers == nil {
		c.resolvers = make(map[string]Resolver)
	}
	c.resolvers[scheme] = r
}

// chunkOf is the length of the ranges of an artifact of size bytes: short
// enough for a drop to cost little, long enough for a small journal.
func (c *Client) chunkOf(size int64) int64 {
	n := c.chunk
	if n <= 0 {
		n = 8 << 20
		if size >= 64<<30 {
			n = 16 << 20
		}
	}
	return max(n, size/maxChunks+1)
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
