package pin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/internal/fetch/address"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// A mirror has files and sources by what pins them, and nothing else is asked of it:
//
//	oci://HOST/REPO      a file is the blob of its digest in REPO, a source of a registry
//	                     the manifest of its digest, a commit of git the tag git-COMMIT
//	https://HOST/PATH    a file is PATH/sha256/ab/abcd…, a commit PATH/git/COMMIT.tar.gz
//	peer://HOST:PORT     what aisync models serve serves: files alone

// fileAt is where mirror has the file with that digest.
func fileAt(mirror, sha256 string) string {
	switch {
	case spec.IsOCI(mirror):
		return mirror + "@sha256:" + strings.ToLower(sha256)
	case strings.HasPrefix(mirror, "peer:"):
		return mirror
	}
	sha256 = strings.ToLower(sha256)
	return strings.TrimRight(mirror, "/") + "/sha256/" + sha256[:min(2, len(sha256))] + "/" + sha256
}

// sourceAt is where mirror has the source that values pin, "" if it can have none.
// bundled says that it is there as a bundle of git.
func sourceAt(mirror, url string, values map[string]string) (at string, bundled bool) {
	commit, manifest := values["commit"], values["manifest"]
	web := strings.HasPrefix(mirror, "http:") || strings.HasPrefix(mirror, "https:")
	switch {
	case commit != "" && spec.IsOCI(mirror):
		return mirror + ":" + CommitTag(commit), true
	case commit != "" && web:
		return strings.TrimRight(mirror, "/") + "/git/" + commit + ".tar.gz", true
	case manifest != "" && spec.IsOCI(mirror):
		_, folder := address.Split(url)
		return address.Join(mirror+"@"+manifest, folder), false
	}
	return "", false
}

// CommitTag is the tag of a commit in a mirror that is a registry.
func CommitTag(commit string) string { return "git-" + commit }

// mirrored returns sources with those of the mirrors: behind files of this machine and
// the source that a person named, before all others. of tells the mirror of each.
func (n *Network) mirrored(sources []string, sha256 string) (all []string, of map[string]string) {
	if len(n.Mirrors) == 0 || sha256 == "" {
		return sources, nil
	}
	of = map[string]string{}
	var mine []string
	for _, m := range n.Mirrors {
		at := fileAt(m, sha256)
		mine, of[at] = append(mine, at), m
	}
	i := slices.IndexFunc(sources, func(s string) bool {
		return !spec.IsLocal(s) && (n.Named == "" || !strings.HasPrefix(s, n.Named))
	})
	if i < 0 {
		i = len(sources)
	}
	return slices.Concat(sources[:i], mine, sources[i:]), of
}

// fromMirror fetches the source that known pins into the folder dst, from the first
// mirror that has it, and reports whether one had. url is the pinned address.
func (n *Network) fromMirror(ctx context.Context, name, url string, known reconcile.Pin, dst string) bool {
	for _, m := range n.Mirrors {
		at, bundled := sourceAt(m, url, known.Values)
		if _, silent := n.silent.Load(m); at == "" || n.Offline || silent {
			continue
		}
		get := n.client().Tree
		if bundled {
			get = func(ctx context.Context, at, dst string) error { return n.client().MirroredTree(ctx, url, at, dst) }
		}
		err := get(ctx, at, dst)
		if err == nil {
			var tree string
			if tree, err = treeDigest(ctx, dst, bundle.IsWhole(known.Values["tree"])); err == nil && tree != known.Values["tree"] {
				err = fmt.Errorf("%w: want tree %.19s…, got %.19s…", fetch.ErrMismatch, known.Values["tree"], tree)
			}
		}
		if err == nil {
			n.served(name, m)
			return true
		}
		n.left(name, m, at, err)
		if network := net.Error(nil); errors.As(err, &network) {
			n.silent.Store(m, true)
		}
		if ctx.Err() != nil || os.RemoveAll(dst) != nil {
			return false
		}
	}
	return false
}

func (n *Network) served(name, mirror string) {
	if n.Served != nil {
		n.Served(name, mirror)
	}
}

// left tells that mirror, asked at its address at, did not serve name.
func (n *Network) left(name, mirror, at string, why error) {
	if n.Left == nil {
		return
	}
	if errors.Is(why, oci.ErrNotFound) {
		why = errLacks
	}
	n.Left(name, mirror, &beneath{why, fetch.Shown(at)})
}

var errLacks = errors.New("it is not there")

// beneath is an error without what its text has up to an address.
type beneath struct {
	err error
	at  string
}

func (b *beneath) Error() string {
	text := b.err.Error()
	if i := strings.LastIndex(text, b.at+": "); i >= 0 {
		return text[i+len(b.at)+2:]
	}
	return text
}

func (b *beneath) Unwrap() error { return b.err }

// Standing is what a mirror answers.
type Standing struct {
	Has, Asked int    // files
	Err        error  // it did not answer as a mirror does; nil: it did
	Denied     bool   // Err is that a login is missing or wrong
	Host       string // where to log in
}

// AskMirror asks a mirror for its first byte of each of files, digests by size.
func (n *Network) AskMirror(ctx context.Context, mirror string, files map[string]int64) Standing {
	s := Standing{}
	if err := n.answers(ctx, mirror); err != nil {
		return Standing{Err: err, Denied: errors.Is(err, oci.ErrDenied), Host: hostOf(mirror)}
	}
	for sha256, size := range files {
		s.Asked++
		if n.client().Reach(ctx, fetch.Artifact{Name: sha256, Sources: []string{fileAt(mirror, sha256)}, Size: size, SHA256: sha256}) == nil {
			s.Has++
		}
	}
	return s
}

// answers returns nil if mirror answers at all, and lets this machine in.
func (n *Network) answers(ctx context.Context, mirror string) error {
	if spec.IsOCI(mirror) {
		return n.registry(n.client()).Ping(ctx, mirror)
	}
	at := strings.TrimRight(strings.Replace(mirror, "peer:", "http:", 1), "/") + "/sha256/"
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, at, nil)
	if err != nil {
		return err
	}
	resp, err := n.client().HTTP().Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if c := resp.StatusCode; c == http.StatusUnauthorized || c >= http.StatusInternalServerError {
		return fmt.Errorf("%s answered %s", at, resp.Status)
	}
	return nil
}
