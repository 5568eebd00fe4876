package pin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/fetch/address"
	"aisync.dev/aisync/internal/fetch/git"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// Cache holds fetched sources and archives: a source as a folder named after
// the digest of its files.
type Cache struct {
	Dir      fsys.LogicalPath
	Root     string // root above Dir; "" is /
	Chown    bool   // give fetched files to UID and GID
	UID, GID int
}

// Source returns the folder of a source that f pins, and its commit or digest.
// The error is ErrNotFetched if the cache lacks it.
func (c Cache) Source(f *File, src spec.Source) (dir, pin string, err error) {
	known, ok := f.Lock.Pin(KindOf(src), src.Name, "")
	if !ok || known.Values["url"] != src.URL {
		return "", "", ErrNotFetched
	}
	dir = c.tree(known.Values["tree"], src.URL)
	if _, err := os.Stat(dir); err != nil {
		return "", "", ErrNotFetched
	}
	return dir, pinnedAt(known), nil
}

// Sources is the physical folder of all sources.
func (c Cache) Sources() string { return filepath.Join(c.Root, string(c.Dir), "sources") }

// nothing is the digest of a tree that installs nothing.
var nothing = func() string {
	sum := sha256.Sum256([]byte("aisync tree 1\n"))
	return "sha256:" + hex.EncodeToString(sum[:])
}()

// tree is the physical folder for the tree of that digest. Trees that install nothing
// have one each, by their addresses: what else they hold, such as a list of plugins,
// tells what to do.
func (c Cache) tree(digest, url string) string {
	if digest == nothing {
		digest += " " + url
	}
	sum := sha256.Sum256([]byte(digest))
	return filepath.Join(c.Sources(), hex.EncodeToString(sum[:12]))
}

// handOver gives a fetched tree to the person for whom root works.
func (c Cache) handOver(dir string) error {
	if !c.Chown {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, c.UID, c.GID)
	})
}

// pinnedAt is the content that a pin of a source names: its commit, its manifest in a
// registry, otherwise the digest of its files.
func pinnedAt(pin reconcile.Pin) string {
	return cmp.Or(pin.Values["commit"], pin.Values["manifest"], pin.Values["tree"])
}

// pinnedAddress is where exactly the content that values pin is fetched.
func pinnedAddress(url string, values map[string]string) string {
	if c := values["commit"]; c != "" {
		return atCommit(url, c)
	}
	if m := values["manifest"]; m != "" {
		root, folder := address.Split(url)
		if at, err := oci.At(root, m); err == nil {
			return address.Join(at, folder)
		}
	}
	return url
}

// Source returns a folder of the cache with exactly the pinned content of a git
// or archive source, and its commit or digest. In the modes that pin, it
// fetches what the cache lacks, pinned or not.
func (r *Resolver) Source(ctx context.Context, src spec.Source) (dir, pin string, err error) {
	f := r.lockOf(src)
	known, ok := r.get(f, KindOf(src), src.Name, "")
	if ok && known.Values["url"] != src.URL {
		ok = false // the spec names another place now: a new source
	}
	if ok {
		dir := r.Cache.tree(known.Values["tree"], src.URL)
		if _, err := os.Stat(dir); err == nil && (r.Locked || !lacksWhole(src, known)) {
			return dir, pinnedAt(known), nil
		}
	} else if r.Locked {
		return "", "", notPinned(what(src), src.Pos)
	}
	if !r.Mode.pins() {
		return "", "", ErrNotFetched
	}
	if r.Network.Offline && !spec.LocalArchive(src.URL) {
		return "", "", fmt.Errorf("%w: %w", ErrNotFetched, reconcile.ErrOffline)
	}
	return r.fetchSource(ctx, f, src, known, ok)
}

// lockOf is the lock that pins a source: that of the spec that names it.
func (r *Resolver) lockOf(src spec.Source) *File {
	if r.Project != nil && src.Dir == filepath.Dir(r.Project.Path) {
		return r.Project
	}
	return r.Host
}

// fetchSource fetches src into the cache, and pins it or compares it with its pin.
func (r *Resolver) fetchSource(ctx context.Context, f *File, src spec.Source, known reconcile.Pin, pinned bool) (string, string, error) {
	from, manifest := bundle.Fetched(src, r.Network.Home), ""
	if pinned {
		from = pinnedAddress(from, known.Values)
	} else if address.IsArtifact(from) {
		var err error
		if manifest, err = r.Network.Manifest(ctx, from); err != nil {
			return "", "", err
		}
		from = pinnedAddress(from, map[string]string{"manifest": manifest})
	}
	tmp, err := r.newCacheFolder()
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(tmp)
	got := filepath.Join(tmp, "tree")
	r.notify(Event{Kind: map[bool]EventKind{false: FetchingSource, true: FetchingBase}[src.Base], Name: src.Name})
	if pinned && r.Network.fromMirror(ctx, src.Name, from, known, got) {
		// Its digest is that of the pin.
	} else if err := r.Network.Tree(ctx, from, got); err != nil {
		if pinned && errors.Is(err, git.ErrGone) {
			err = &Error{Reason: Gone, ID: src.Name, Err: err}
		}
		return "", "", err
	}
	tree, err := digestOf(ctx, KindOf(src), got, pinned && bundle.IsWhole(known.Values["tree"]) || !pinned && src.Pick.Whole())
	if err != nil {
		return "", "", err
	}
	if pinned && tree != known.Values["tree"] {
		return "", "", &Error{Reason: Changed, ID: src.Name, Err: fmt.Errorf("%s: content of %s differs from its pin in %s: want tree %.19s…, got %.19s…", what(src), src.URL, FileName, known.Values["tree"], tree)}
	}
	if !pinned {
		values := map[string]string{"url": src.URL, "tree": tree}
		if strings.HasPrefix(src.URL, "git::") { // the .git of an archive is not git's
			if values["commit"], err = git.Head(ctx, got); err != nil {
				return "", "", err
			}
		}
		if manifest != "" {
			values["manifest"] = manifest
		}
		old := known
		known = reconcile.Pin{Kind: KindOf(src), Name: src.Name, Values: values}
		r.put(f, known)
		if err := r.compare(ctx, f, src, old, got); err != nil {
			return "", "", err
		}
	}
	if pinned && !r.Locked && lacksWhole(src, known) {
		if tree, err = treeDigest(ctx, got, true); err != nil {
			return "", "", err
		}
		known.Values = maps.Clone(known.Values)
		known.Values["tree"] = tree
		r.put(f, known)
	}
	dir := r.Cache.tree(tree, src.URL)
	if err := r.Cache.handOver(got); err != nil {
		return "", "", err
	}
	if err := os.Rename(got, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return "", "", fmt.Errorf("cache %s: %w", what(src), err)
		}
	}
	return dir, pinnedAt(known), nil
}

// LookInto fetches src as it is now into a folder of its own in the cache, and pins
// nothing. Until the caller calls done, which removes the folder, a source of the same
// repository need not be fetched again.
func (r *Resolver) LookInto(ctx context.Context, src spec.Source) (dir string, done func(), err error) {
	tmp, err := r.newCacheFolder()
	if err != nil {
		return "", func() {}, err
	}
	done = func() { os.RemoveAll(tmp) }
	dir = filepath.Join(tmp, "tree")
	if err := r.Network.Tree(ctx, bundle.Fetched(src, r.Network.Home), dir); err != nil {
		done()
		return "", func() {}, err
	}
	return dir, done, nil
}

// newCacheFolder makes a folder in the cache for what is being fetched.
func (r *Resolver) newCacheFolder() (string, error) {
	if _, err := r.Disk.MkdirAll(r.Cache.Dir.Join("sources"), 0o700); err != nil {
		return "", fmt.Errorf("create the cache: %w", err)
	}
	tmp, err := os.MkdirTemp(r.Cache.Sources(), ".new-")
	if err != nil {
		return "", fmt.Errorf("create the cache: %w", err)
	}
	return tmp, nil
}

// treeDigest identifies everything that the tree in dir could install.
func treeDigest(ctx context.Context, dir string, whole bool) (string, error) {
	t, err := new(bundle.Sources).Open(ctx, spec.Source{URL: dir})
	if err != nil {
		return "", err
	}
	return t.DigestOf(whole)
}

// lacksWhole reports whether known, the pin of src, does not hold all files of a source
// that a program takes whole.
func lacksWhole(src spec.Source, known reconcile.Pin) bool {
	return src.Pick.Whole() && !bundle.IsWhole(known.Values["tree"])
}

// atCommit is a git source at one commit, whatever its ref.
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

// VerifySource fetches again what f pins of a source, and returns an error with
// both digests if the content differs. The path of an archive starts at dir.
func (n *Network) VerifySource(ctx context.Context, f *File, pin reconcile.Pin, dir string) error {
	tmp, err := os.MkdirTemp("", "aisync-verify-")
	if err != nil {
		return fmt.Errorf("verify bundle source %q: %w", pin.Name, err)
	}
	defer os.RemoveAll(tmp)
	of := what(spec.Source{Name: pin.Name, Base: pin.Kind == KindBase})
	from := pinnedAddress(bundle.Fetched(spec.Source{URL: pin.Values["url"], Dir: dir}, n.Home), pin.Values)
	got := filepath.Join(tmp, "tree")
	if err := n.Tree(ctx, from, got); err != nil {
		return fmt.Errorf("verify %s: %w", of, err)
	}
	tree, err := digestOf(ctx, pin.Kind, got, bundle.IsWhole(pin.Values["tree"]))
	if err != nil {
		return fmt.Errorf("verify %s: %w", of, err)
	}
	if tree != pin.Values["tree"] {
		return fmt.Errorf("%s: %s: pinned tree %.19s…, but %s has %.19s…; the lock or the source was changed: inspect it before you apply", f.Path, of, pin.Values["tree"], from, tree)
	}
	return nil
}

// Sources are the names of the sources that the spec of f reads; ok is false if
// there is no such spec.
func (r *Resolver) Sources(f *File) (names []string, ok bool) {
	switch h, p := r.Spec.Host, r.Spec.Project; {
	case f == r.Host && h != nil:
		for _, b := range h.Bundles {
			names = append(names, b.Name)
		}
		return names, true
	case f == r.Project && p != nil:
		for _, s := range p.Sources {
			names = append(names, s.Name)
		}
		return names, true
	}
	return nil, false
}
