package pin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/internal/fetch/address"
	"aisync.dev/aisync/internal/fetch/git"
	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/mcpregistry"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/internal/fetch/peer"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// ErrBusy means that another process is fetching the same.
var ErrBusy = fetch.ErrBusy

// Network reaches hubs, registries and sources with one shared client. It dials
// nothing before its first use. Set its fields before that; its methods are
// safe for concurrent use.
type Network struct {
	Getenv      func(string) string // the person's environment: HF_ENDPOINT, HF_TOKEN, DOCKER_CONFIG
	Home        string              // physical folder of tokens and logins
	UserAgent   string
	Offline     bool   // do not use the network
	Connections int    // concurrent ranges of one file; 0: as many as make it faster, up to 16
	LimitRate   int64  // total bytes a second; 0: no limit
	Clones      string // physical folder of fetched sources: those of the same repository lend what they have; may be ""

	Mirrors []string // of the host, in order; see mirrors.go
	Named   string   // start of the sources that a person named for this command, which come before the mirrors; may be ""
	// Served is called with each mirror that served something, Left with each that did
	// not, and why. name is that of the file or the source. May be nil.
	Served func(name, mirror string)
	Left   func(name, mirror string, why error)

	// Retry is called before each pause with the reason of the failed try and
	// the number of the next; may be nil.
	Retry func(name string, why error, pause time.Duration, next, tries int)

	silent sync.Map // mirrors that did not answer for a source, and are not asked for the next

	once sync.Once
	made *fetch.Client
}

// Fetcher is the fetcher for providers. If the network must not be used, it
// takes from files of this machine alone.
func (n *Network) Fetcher() reconcile.Fetcher { return artifacts{n} }

// Reacher checks whether sources exist; nil if the network must not be used.
func (n *Network) Reacher() reconcile.Reacher {
	if n.Offline {
		return nil
	}
	return func(ctx context.Context, name string, sources []string, size int64, sha256 string) error {
		sources, mirrors := n.mirrored(sources, sha256)
		return n.client().Reach(ctx, fetch.Artifact{Name: name, Sources: sources, Size: size, SHA256: sha256, Mirrors: slices.Collect(maps.Keys(mirrors))})
	}
}

// Tree fetches the git or archive source src into the folder dst, which must
// not exist. The error wraps fetch.ErrOffline if the network must not be used.
// An archive of this machine needs none.
func (n *Network) Tree(ctx context.Context, src, dst string) error {
	if spec.LocalArchive(src) {
		return n.client().Tree(ctx, src, dst)
	}
	return n.fetcher().Tree(ctx, src, dst)
}

// Manifest returns the digest of the artifact that src, a source in an OCI registry,
// names now. The error wraps reconcile.ErrOffline if the network must not be used.
func (n *Network) Manifest(ctx context.Context, src string) (string, error) {
	root, _ := address.Split(src)
	_, image, _ := strings.Cut(root, "://")
	if n.Offline {
		return "", fmt.Errorf("ask for %s: %w", root, reconcile.ErrOffline)
	}
	if _, digest, ok := strings.Cut(image, "@"); ok {
		return digest, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return n.registry(n.client()).Digest(ctx, root)
}

// Refs returns what the host of the git source src lists now, and the ref that src
// names. It fetches no content. The error wraps reconcile.ErrOffline if the network
// must not be used.
func (n *Network) Refs(ctx context.Context, src string) (git.Refs, string, error) {
	if n.Offline {
		return git.Refs{}, "", fmt.Errorf("ask for the branches and tags: %w", reconcile.ErrOffline)
	}
	return n.client().Refs(ctx, src)
}

// fetcher is the client, or a fetcher that refuses.
func (n *Network) fetcher() fetch.Fetcher {
	if n.Offline {
		return fetch.Offline{}
	}
	return n.client()
}

// client is the only client of n.
func (n *Network) client() *fetch.Client {
	n.once.Do(func() {
		token, _ := hub.Token(n.Getenv, n.Home) // without a readable token, the hub reports that it is missing
		n.made = fetch.New(fetch.Options{
			Endpoint: n.endpoint(), Token: token, UserAgent: n.UserAgent, Connections: n.Connections, LimitRate: n.LimitRate, Clones: n.Clones, Retry: n.Retry,
		})
		n.made.Artifact = n.registry(n.made).Folder
		for scheme, r := range n.resolvers(n.made) {
			n.made.Resolve(scheme, r)
		}
	})
	return n.made
}

// endpoint is the address of the hub.
func (n *Network) endpoint() string { return hub.Endpoint(n.Getenv) }

// hub is Hugging Face, or its mirror, asked through c.
func (n *Network) hub(c *fetch.Client) hub.Client {
	return hub.Client{HTTP: c.HTTP(), Endpoint: n.endpoint(), Offline: n.Offline || hub.Offline(n.Getenv)}
}

// registry asks OCI registries through c.
func (n *Network) registry(c *fetch.Client) oci.Client {
	return oci.Client{HTTP: c.HTTP(), DockerConfig: oci.ConfigFile(n.Getenv, n.Home)}
}

// MCPRegistry asks the MCP registry at address; "" is the official one.
func (n *Network) MCPRegistry(address string) mcpregistry.Client {
	c := mcpregistry.Client{Registry: address, Offline: n.Offline}
	if !n.Offline {
		c.HTTP = n.client().HTTP()
	}
	return c
}

// ImageDigest returns what a tag of an image, HOST/REPO:TAG, names now.
func (n *Network) ImageDigest(ctx context.Context, image string) (string, error) {
	if n.Offline {
		return "", fmt.Errorf("ask for %s: %w", image, reconcile.ErrOffline)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return n.registry(n.client()).Digest(ctx, "oci://"+image)
}

// resolvers turn sources that are not addresses into addresses, by scheme.
func (n *Network) resolvers(c *fetch.Client) map[string]fetch.Resolver {
	registry := n.registry(c)
	return map[string]fetch.Resolver{"hf": n.hub(c).Locate, "oci": registry.Locate, "oci+http": registry.Locate, "peer": peer.Source{}.Locate}
}

// artifacts adapts a Network for providers.
type artifacts struct{ from *Network }

// Fetch implements reconcile.Fetcher.
func (a artifacts) Fetch(ctx context.Context, fs fsys.FS, name string, sources []string, size int64, sha256 string, part fsys.LogicalPath, progress func(done, total int64)) (from string, err error) {
	client, mirrors := a.from.fetcher(), map[string]string(nil)
	if a.from.Offline {
		if files := slices.DeleteFunc(slices.Clone(sources), func(s string) bool { return !spec.IsLocal(s) }); len(files) > 0 {
			client, sources = a.from.client(), files
		}
	} else {
		sources, mirrors = a.from.mirrored(sources, sha256)
	}
	tried := func(source string, failed error) {
		mirror, ours := mirrors[source]
		switch {
		case ours && failed != nil:
			a.from.left(name, mirror, source, failed)
		case ours:
			from = mirror
			a.from.served(name, mirror)
		case failed == nil:
			from = fetch.Shown(source)
		case len(mirrors) > 0 && errors.Is(failed, fetch.ErrMismatch):
			a.from.left(name, fetch.Shown(source), source, failed)
		}
	}
	err = client.Fetch(ctx, fetch.Artifact{
		Name: name, Sources: sources, Size: size, SHA256: sha256, Mirrors: slices.Collect(maps.Keys(mirrors)), Tried: tried,
	}, fs, part, progress)
	return from, err
}
