package pin

import (
	"context"
	"sync"
	"time"

	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/internal/fetch/peer"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// ErrBusy says that another process is fetching the same.
var ErrBusy = fetch.ErrBusy

// Network is how hubs, registries and sources are reached: by one client for
// all that is asked and fetched. It dials nothing before it is used. Its fields
// are set before that; its methods are safe for concurrent use.
type Network struct {
	Getenv      func(string) string // the person's environment: HF_ENDPOINT, HF_TOKEN, DOCKER_CONFIG
	Home        string              // physical folder in which tokens and logins lie
	UserAgent   string
	Offline     bool  // the network may not be used
	Connections int   // ranges of one file at once; 0: 4
	LimitRate   int64 // bytes a second in all; 0: no limit

	// Retry is told, before each pause, why a try brought nothing and which of
	// how many comes next; may be nil.
	Retry func(name string, why error, pause time.Duration, next, tries int)

	once sync.Once
	made *fetch.Client
}

// Fetcher is what providers fetch with; it refuses where the network may not be
// used.
func (n *Network) Fetcher() reconcile.Fetcher { return artifacts{n.fetcher()} }

// Reacher asks sources whether they are there; nil where the network may not
// be used.
func (n *Network) Reacher() reconcile.Reacher {
	if n.Offline {
		return nil
	}
	return func(ctx context.Context, name string, sources []string, size int64, sha256 string) error {
		return n.client().Reach(ctx, fetch.Artifact{Name: name, Sources: sources, Size: size, SHA256: sha256})
	}
}

// Tree fetches the git or archive source src into the folder dst, which is not
// there yet. The error wraps fetch.ErrOffline where the network may not be used.
func (n *Network) Tree(ctx context.Context, src, dst string) error {
	return n.fetcher().Tree(ctx, src, dst)
}

// fetcher is the client, or one that refuses.
func (n *Network) fetcher() fetch.Fetcher {
	if n.Offline {
		return fetch.Offline{}
	}
	return n.client()
}

// client is the one client of n.
func (n *Network) client() *fetch.Client {
	n.once.Do(func() {
		token, _ := hub.Token(n.Getenv, n.Home) // without one that can be read, the hub says that it is missing
		n.made = fetch.New(fetch.Options{
			Endpoint: n.endpoint(), Token: token, UserAgent: n.UserAgent, Connections: n.Connections, LimitRate: n.LimitRate, Retry: n.Retry,
		})
		for scheme, r := range n.resolvers(n.made) {
			n.made.Resolve(scheme, r)
		}
	})
	return n.made
}

// endpoint is the hub that is asked.
func (n *Network) endpoint() string { return hub.Endpoint(n.Getenv) }

// hub is Hugging Face, or the mirror that stands for it, asked through c.
func (n *Network) hub(c *fetch.Client) hub.Client {
	return hub.Client{HTTP: c.HTTP(), Endpoint: n.endpoint(), Offline: n.Offline || hub.Offline(n.Getenv)}
}

// registry asks OCI registries through c.
func (n *Network) registry(c *fetch.Client) oci.Client {
	return oci.Client{HTTP: c.HTTP(), DockerConfig: oci.ConfigFile(n.Getenv, n.Home)}
}

// resolvers are the sources that are no address themselves, by scheme.
func (n *Network) resolvers(c *fetch.Client) map[string]fetch.Resolver {
	registry := n.registry(c)
	return map[string]fetch.Resolver{"hf": n.hub(c).Locate, "oci": registry.Locate, "oci+http": registry.Locate, "peer": peer.Source{}.Locate}
}

// artifacts is a fetch.Fetcher as providers know it.
type artifacts struct{ from fetch.Fetcher }

// Fetch implements reconcile.Fetcher.
func (a artifacts) Fetch(ctx context.Context, fs fsys.FS, name string, sources []string, size int64, sha256 string, part fsys.LogicalPath, progress func(done, total int64)) error {
	return a.from.Fetch(ctx, fetch.Artifact{Name: name, Sources: sources, Size: size, SHA256: sha256}, fs, part, progress)
}
