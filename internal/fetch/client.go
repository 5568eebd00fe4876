package fetch

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/http"
	"time"

	"aisync.dev/aisync/internal/fetch/archive"
	"aisync.dev/aisync/internal/fetch/hub"
)

// Options say how a Client reaches the world. The zero value works.
type Options struct {
	Endpoint    string // Hugging Face or a mirror of it; "" is hub.DefaultEndpoint
	Token       string // sent to Endpoint's origin and to nobody else
	UserAgent   string
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error) // nil: a net.Dialer

	Stall   time.Duration // without a byte for so long, a request is given up; 0: 20 s. git, which is silent while it works, has three times that
	Retries int           // tries in a row that bring nothing before a source is given up; 0: 6

	Connections int                 // ranges of one artifact at a time, where one does not keep the hash busy; 0: 4
	LimitRate   int64               // bytes a second, over all that the Client fetches; 0: no limit
	Chunk       int64               // bytes of one range; 0: 8 MiB, and 16 MiB from 64 GiB on
	Resolve     map[string]Resolver // by scheme: what else than http(s), files and git can be a source

	JournalBytes int64         // what a kill may cost, beside what is on its way; 0: 256 MiB
	JournalEvery time.Duration // 0: 5 s
	Volatile     bool          // keep no journal and sync nothing: a kill costs all, and a loss of power what is called right

	// Retry is told, before each pause, why a try brought nothing and which of
	// how many comes next; nil: nobody is told.
	Retry func(name string, why error, pause time.Duration, next, tries int)

	Now   func() time.Time                                 // nil: time.Now
	Sleep func(ctx context.Context, d time.Duration) error // nil: sleeps; returns early with ctx's error
}

// Client fetches over the network and from local files. Safe for concurrent use.
type Client struct {
	http         *http.Client
	ranges       *http.Client // http, with stricter redirects
	resolvers    map[string]Resolver
	retries      int
	retry        func(name string, why error, pause time.Duration, next, tries int)
	connections  int
	chunk        int64
	journalBytes int64
	journalEvery time.Duration
	volatile     bool
	limit        *limit
	patience     time.Duration // with one connection; see feed
	crawl        crawl
	stall        time.Duration
	treeLimits   archive.Limits
	wrap         func(contents) contents // tests see and spoil reads and writes of a part
	now          func() time.Time
	sleep        func(ctx context.Context, d time.Duration) error
}

// New returns a Client. Proxies and certificate authorities are those that Go
// knows: HTTP_PROXY, HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR.
func New(o Options) *Client {
	c := &Client{
		retries:      cmp.Or(o.Retries, 6),
		retry:        o.Retry,
		resolvers:    maps.Clone(o.Resolve),
		connections:  max(1, cmp.Or(o.Connections, 4)),
		chunk:        o.Chunk,
		journalBytes: cmp.Or(o.JournalBytes, 256<<20),
		journalEvery: cmp.Or(o.JournalEvery, 5*time.Second),
		volatile:     o.Volatile,
		patience:     50 * time.Millisecond,
		stall:        cmp.Or(o.Stall, 20*time.Second),
		treeLimits:   treeLimits,
		crawl:        crawl{over: 30 * time.Second, rate: 16 << 10},
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
	c.limit = newLimit(o.LimitRate, c.now, c.sleep)
	dial := o.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	dial = outward(dial)
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
		MaxIdleConnsPerHost: max(8, c.connections),
	}
	rt = hub.Authorize(rt, cmp.Or(o.Endpoint, hub.DefaultEndpoint), o.Token)
	c.http = &http.Client{Transport: &guard{base: rt, stall: c.stall, crawl: c.crawl, agent: cmp.Or(o.UserAgent, "aisync")}}
	c.ranges = &http.Client{Transport: c.http.Transport, CheckRedirect: guarded}
	return c
}

// HTTP returns the client with which Fetch makes its requests: token, proxies
// and stall detection included.
func (c *Client) HTTP() *http.Client { return c.http }

// Resolve adds r for sources of scheme: one that itself uses HTTP. It may not
// be called once Fetch has been.
func (c *Client) Resolve(scheme string, r Resolver) {
	if c.resolvers == nil {
		c.resolvers = make(map[string]Resolver)
	}
	c.resolvers[scheme] = r
}

// chunkOf is the length of the ranges of an artifact of size bytes: short
// enough for a drop to cost little, long enough for a journal to be small.
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
