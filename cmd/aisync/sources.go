package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/internal/fetch/git"
	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/internal/fetch/peer"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// errNotAtHand says that a source lies in no cache here and may not be fetched now.
type errNotAtHand struct{}

func (errNotAtHand) Error() string { return "it has not been fetched to this machine" }
func (errNotAtHand) Hint() string  { return "run: aisync lock" }

// source brings a git or archive source to a folder of the cache that holds
// exactly what is pinned.
func (p *pinner) source(ctx context.Context, src spec.Source) (dir, pin string, err error) {
	l := p.lockOf(p.inProject(src))
	known, ok := p.get(l, "bundle", src.Name, "")
	if ok && known.Values["url"] != src.URL {
		ok = false // the spec names another place now: that is a new source
	}
	if ok {
		dir := p.w.cached(known.Values["tree"])
		if _, err := os.Stat(dir); err == nil {
			return dir, pinName(known), nil
		}
	} else if p.w.Locked {
		return "", "", p.unpinned(fmt.Sprintf("bundle source %q", src.Name), src.Pos)
	}
	if p.s == nil {
		return "", "", errNotAtHand{}
	}
	if p.w.Offline {
		return "", "", fmt.Errorf("%w: it %w", errNotAtHand{}, reconcile.ErrOffline)
	}
	return p.fetchSource(ctx, l, src, known, ok)
}

// inProject reports whether the project names src, rather than the host.
func (p *pinner) inProject(src spec.Source) bool {
	return p.w.Places.Project != "" && src.Dir == p.w.Places.Project
}

func pinName(pin reconcile.Pin) string {
	if c := pin.Values["commit"]; c != "" {
		return c
	}
	return pin.Values["tree"]
}

// fetchSource fetches src into the cache, and pins it or holds it to its pin.
func (p *pinner) fetchSource(ctx context.Context, l *lockFile, src spec.Source, known reconcile.Pin, pinned bool) (string, string, error) {
	from := src.URL
	if pinned && known.Values["commit"] != "" {
		from = atCommit(src.URL, known.Values["commit"])
	}
	tmp, err := p.s.newCacheFolder()
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(tmp)
	got := filepath.Join(tmp, "tree")
	p.w.Notify("fetching bundle source %s", safe(src.Name))
	if err := p.w.client().Tree(ctx, from, got); err != nil {
		if pinned && errors.Is(err, git.ErrGone) {
			err = advice.Command(err, "aisync lock --update "+shellQuote(src.Name)+", and look at what moved")
		}
		return "", "", err
	}
	tree, err := treeDigest(ctx, got)
	if err != nil {
		return "", "", err
	}
	if pinned && tree != known.Values["tree"] {
		return "", "", advice.Command(fmt.Errorf("bundle source %q: %s does not hold what %s pins: want tree %.19s…, got %.19s…", src.Name, src.URL, lockName, known.Values["tree"], tree), "aisync lock --update "+src.Name+", if the change is right")
	}
	if !pinned {
		values := map[string]string{"url": src.URL, "tree": tree}
		if strings.HasPrefix(src.URL, "git::") { // what an archive has in .git is no word of git's
			if values["commit"], err = git.Head(ctx, got); err != nil {
				return "", "", err
			}
		}
		was := known
		known = reconcile.Pin{Kind: "bundle", Name: src.Name, Values: values}
		p.set(l, known)
		if err := p.moved(ctx, src, was, got); err != nil {
			return "", "", err
		}
	}
	dir := p.w.cached(tree)
	if err := p.w.handOver(got); err != nil {
		return "", "", err
	}
	if err := os.Rename(got, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return "", "", fmt.Errorf("keep bundle source %q: %w", src.Name, err)
		}
	}
	return dir, pinName(known), nil
}

// treeDigest identifies everything that the tree in dir could install.
func treeDigest(ctx context.Context, dir string) (string, error) {
	t, err := new(bundle.Sources).Open(ctx, spec.Source{URL: dir})
	if err != nil {
		return "", err
	}
	return t.Digest()
}

// atCommit is a git source at one commit, whatever ref it names.
func atCommit(src, commit string) string {
	base, query, _ := strings.Cut(src, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		values = url.Values{}
	}
	values.Set("ref", commit)
	values.Del("depth") // a shallow clone may not reach it
	return base + "?" + values.Encode()
}

// cached is the folder of the cache for a tree of that digest.
func (w *Machine) cached(tree string) string {
	sum := sha256.Sum256([]byte(tree))
	return filepath.Join(w.Places.Physical(w.sourceCache()), hex.EncodeToString(sum[:12]))
}

func (w *Machine) sourceCache() fsys.LogicalPath { return w.Places.Cache.Join("sources") }

func (w *Session) newCacheFolder() (string, error) {
	if _, err := w.FS.MkdirAll(w.sourceCache(), 0o700); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	tmp, err := os.MkdirTemp(w.Places.Physical(w.sourceCache()), ".new-")
	if err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	return tmp, nil
}

// handOver gives a fetched tree to the person for whom root works.
func (w *View) handOver(dir string) error {
	if !w.Places.Chown {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, w.Places.UID, w.Places.GID)
	})
}

// client is the client for everything that is fetched.
func (w *View) client() *fetch.Client {
	getenv, home := w.Env.Get, w.Places.Physical(w.Places.Home)
	token, _ := hub.Token(getenv, home) // a token that cannot be read: the hub says that one is missing
	c := fetch.New(fetch.Options{
		Endpoint: hub.Endpoint(getenv), Token: token, UserAgent: "aisync/" + versionText(),
		Connections: w.Transfer.Connections, LimitRate: w.Transfer.LimitRate,
		Retry: func(name string, why error, pause time.Duration, next, tries int) {
			w.Notify("%s: %s; trying again in %s (%d of %d)", safe(name), safe(plainReason(why)), max(pause.Round(time.Second), time.Second), next, tries)
		},
	})
	for scheme, r := range w.resolvers(c) {
		c.Resolve(scheme, r)
	}
	return c
}

// hub is Hugging Face, or the mirror that stands for it, asked through c.
func (w *View) hub(c *fetch.Client) hub.Client {
	return hub.Client{HTTP: c.HTTP(), Endpoint: hub.Endpoint(w.Env.Get), Offline: w.Offline || hub.Offline(w.Env.Get)}
}

// registry asks OCI registries through c.
func (w *View) registry(c *fetch.Client) oci.Client {
	return oci.Client{HTTP: c.HTTP(), DockerConfig: oci.ConfigFile(w.Env.Get, w.Places.Physical(w.Places.Home))}
}

// resolvers are the sources that are no address themselves, by scheme.
func (w *View) resolvers(c *fetch.Client) map[string]fetch.Resolver {
	registry := w.registry(c)
	return map[string]fetch.Resolver{
		"hf": w.hub(c).Locate, "oci": registry.Locate, "oci+http": registry.Locate, "peer": peer.Source{}.Locate,
	}
}

// plainReason is an error without the addresses that the system puts before it.
func plainReason(err error) string {
	for _, known := range []syscall.Errno{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETUNREACH} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// fetcher is what providers fetch with; under --offline it refuses.
func (w *View) fetcher() reconcile.Fetcher {
	if w.Offline {
		return artifacts{fetch.Offline{}}
	}
	return artifacts{w.client()}
}

// reacher asks sources whether they are there; nil under --offline.
func (w *View) reacher() reconcile.Reacher {
	if w.Offline {
		return nil
	}
	return func(ctx context.Context, name string, sources []string, size int64, sha256 string) error {
		return w.client().Reach(ctx, fetch.Artifact{Name: name, Sources: sources, Size: size, SHA256: sha256})
	}
}

// artifacts is a fetch.Fetcher as providers know it.
type artifacts struct{ from fetch.Fetcher }

// Fetch implements reconcile.Fetcher.
func (a artifacts) Fetch(ctx context.Context, fs fsys.FS, name string, sources []string, size int64, sha256 string, part fsys.LogicalPath, progress func(done, total int64)) error {
	return a.from.Fetch(ctx, fetch.Artifact{Name: name, Sources: sources, Size: size, SHA256: sha256}, fs, part, progress)
}

// verifySource fetches what pin names anew and compares it with the pin.
func (w *View) verifySource(ctx context.Context, l *lockFile, pin reconcile.Pin) error {
	tmp, err := os.MkdirTemp("", "aisync-verify-")
	if err != nil {
		return fmt.Errorf("verify bundle source %q: %w", pin.Name, err)
	}
	defer os.RemoveAll(tmp)
	from := pin.Values["url"]
	if c := pin.Values["commit"]; c != "" {
		from = atCommit(from, c)
	}
	got := filepath.Join(tmp, "tree")
	if err := w.client().Tree(ctx, from, got); err != nil {
		return fmt.Errorf("verify bundle source %q: %w", pin.Name, err)
	}
	tree, err := treeDigest(ctx, got)
	if err != nil {
		return fmt.Errorf("verify bundle source %q: %w", pin.Name, err)
	}
	if tree != pin.Values["tree"] {
		return fmt.Errorf("%s: bundle source %q: pinned is tree %.19s…, but %s holds %.19s…; somebody changed the lock or the source: look at it before you apply", l.path, pin.Name, pin.Values["tree"], from, tree)
	}
	w.Notify("bundle source %s is what %s pins", safe(pin.Name), lockName)
	return nil
}
