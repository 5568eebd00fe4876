package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	getter "github.com/hashicorp/go-getter/v2"

	sourceaddress "aisync.dev/aisync/internal/fetch/address"
	"aisync.dev/aisync/internal/fetch/archive"
	"aisync.dev/aisync/internal/fetch/git"
	"aisync.dev/aisync/schema/spec"
)

// treeLimits bound the contents of a source, and the size of a packed archive.
var treeLimits = archive.Limits{Files: 50_000, Bytes: 512 << 20}

// Tree implements Fetcher.
func (c *Client) Tree(ctx context.Context, src, dst string) error {
	return c.treeBy(ctx, src, dst, nil)
}

// treeBy is Tree by get, nil for the one that the address asks for.
func (c *Client) treeBy(ctx context.Context, src, dst string, get treeGetter) error {
	root, sub := getter.SourceDirSubdir(src)
	if err := sourceaddress.Check(root); err != nil {
		return fmt.Errorf("fetch %s: %w", redacted(src), err)
	}
	if _, err := os.Lstat(dst); err == nil {
		return fmt.Errorf("fetch %s: %s: %w", redacted(src), dst, fs.ErrExist)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dst), "."+filepath.Base(dst)+".fetch-")
	if err != nil {
		return fmt.Errorf("fetch %s: %w", redacted(src), err)
	}
	defer os.RemoveAll(tmp)
	if err := c.tree(ctx, root, sub, tmp, dst, get); err != nil {
		return fmt.Errorf("fetch %s: %w", redacted(src), err)
	}
	return nil
}

// treeGetter fetches all of root, of which sub is wanted, into the folder dst.
type treeGetter func(ctx context.Context, root, sub, dst string) error

// tree fetches root below tmp and moves sub of it to dst.
func (c *Client) tree(ctx context.Context, root, sub, tmp, dst string, get treeGetter) error {
	got := filepath.Join(tmp, "tree")
	switch {
	case get != nil:
	case strings.HasPrefix(root, "git::"):
		get = c.repository
	case sourceaddress.IsArtifact(root):
		get = c.artifact
	case spec.LocalArchive(root):
		get = c.file
	default:
		get = c.archive
	}
	err := get(ctx, root, sub, got)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return readable(err, root, tmp)
	}
	top := got
	if sub != "" {
		if got, err = subfolder(got, sub); err != nil {
			return err
		}
	}
	if err := checkLinks(got); err != nil {
		return err
	}
	if got != top { // the history stays with it
		if err := os.Rename(filepath.Join(top, ".git"), filepath.Join(got, ".git")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(got, dst)
}

// readable is err without secrets and the names of temporary folders.
func readable(err error, root, tmp string) error {
	raw := strings.TrimPrefix(root, "git::")
	for _, known := range []string{root, raw, strings.SplitN(raw, "?", 2)[0]} {
		if text := err.Error(); strings.Contains(text, known) {
			err = &redactedError{err, strings.ReplaceAll(text, known, redacted(known))}
		}
	}
	if text := err.Error(); strings.Contains(text, tmp) {
		err = &redactedError{err, strings.ReplaceAll(text, tmp, "…")}
	}
	return err
}

// redactedError is an error in other words.
type redactedError struct {
	err  error
	text string
}

func (w *redactedError) Error() string { return w.text }
func (w *redactedError) Unwrap() error { return w.err }

// repository clones a git source with its history, which tells what a file was
// before.
func (c *Client) repository(ctx context.Context, root, sub, dst string) error {
	s, err := c.gitSource(root, sub)
	if err != nil {
		return err
	}
	_, err = git.Clone(ctx, s, dst)
	return err
}

func (c *Client) gitSource(root, sub string) (git.Source, error) {
	raw, query, _ := strings.Cut(strings.TrimPrefix(root, "git::"), "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		return git.Source{}, bare(err)
	}
	depth, _ := strconv.Atoi(q.Get("depth")) // Check has validated it
	return git.Source{URL: raw, Ref: q.Get("ref"), Depth: depth, Stall: 3 * c.stall, Folder: sub, Beside: c.clones}, nil
}

// BundleFile is the name of the one file of what MirroredTree fetches.
const BundleFile = "repo.bundle"

// MirroredTree is Tree for a git source src whose ref is a commit, out of from, an
// archive or an artifact with that commit and its history in BundleFile. It does not
// trust from: git names all that it takes by its hash.
func (c *Client) MirroredTree(ctx context.Context, src, from, dst string) error {
	return c.treeBy(ctx, src, dst, func(ctx context.Context, root, sub, dst string) error {
		s, err := c.gitSource(root, sub)
		if err != nil {
			return err
		}
		packed := dst + ".packed"
		defer os.RemoveAll(packed)
		if err := c.Tree(ctx, from, packed); err != nil {
			return err
		}
		return git.CloneBundle(ctx, s, filepath.Join(packed, BundleFile), dst)
	})
}

// archive fetches an archive, with a separate go-getter client for each call:
// go-getter modifies the getters that it receives.
func (c *Client) archive(ctx context.Context, root, _, dst string) error {
	unpackers := map[string]getter.Decompressor{}
	for _, ending := range archive.Endings {
		unpackers[ending] = unpacker{ending, c.treeLimits}
	}
	client := &getter.Client{
		Getters: []getter.Getter{
			&getter.HttpGetter{Client: c.http, Netrc: false, XTerraformGetDisabled: true, DoNotCheckHeadFirst: true, MaxBytes: c.treeLimits.Bytes},
		},
		Decompressors:   unpackers,
		DisableSymlinks: true,
	}
	_, err := client.Get(ctx, &getter.Request{Src: root, Dst: dst, GetMode: getter.ModeDir, Copy: true, Umask: 0o022})
	if err != nil {
		return bare(err)
	}
	return nil
}

// artifact fetches an artifact of a registry.
func (c *Client) artifact(ctx context.Context, root, _, dst string) error {
	if c.Artifact == nil {
		return errors.New("no way to ask registries")
	}
	return c.Artifact(ctx, root, dst, c.treeLimits)
}

// file unpacks an archive of this machine.
func (c *Client) file(_ context.Context, root, _, dst string) error {
	info, err := os.Stat(root) // before opening: opening a pipe would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no such archive; a relative path starts at the spec that names it: %w", fs.ErrNotExist)
	case err != nil:
		return bare(err)
	case !info.Mode().IsRegular():
		return errors.New("is not a regular file")
	case info.Size() > c.treeLimits.Bytes:
		return fmt.Errorf("%w: %d bytes", archive.ErrTooLarge, info.Size())
	}
	return archive.Unpack(dst, root, sourceaddress.Ending(root), c.treeLimits)
}

// unpacker adapts package archive to go-getter.
type unpacker struct {
	ending string
	limits archive.Limits
}

// Decompress implements getter.Decompressor.
func (u unpacker) Decompress(dst, src string, _ bool, _ os.FileMode) error {
	return archive.Unpack(dst, src, u.ending, u.limits)
}

// subfolder finds sub, which may be a pattern, in root only.
func subfolder(root, sub string) (string, error) {
	if !filepath.IsLocal(sub) {
		return "", fmt.Errorf("folder %q leaves the source", sub)
	}
	found, err := getter.SubdirGlob(root, sub)
	if err != nil {
		return "", fmt.Errorf("folder %q: %w", sub, err)
	}
	rel, err := filepath.Rel(root, found)
	if err != nil {
		return "", err
	}
	inside, err := os.OpenRoot(root)
	if err != nil {
		return "", err
	}
	defer inside.Close()
	info, err := inside.Lstat(rel)
	if err == nil && !info.IsDir() {
		err = errors.New("is not a folder")
	}
	if err != nil {
		return "", fmt.Errorf("folder %q: %w", sub, err)
	}
	return found, nil
}

// checkLinks refuses a tree with a link out of it.
func checkLinks(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Join(filepath.Dir(path), target))
		if err != nil || filepath.IsAbs(target) || !filepath.IsLocal(rel) {
			name, _ := filepath.Rel(root, path)
			return fmt.Errorf("link %s leads out of the source, to %s", name, target)
		}
		return nil
	})
}

// redacted is a source without its password and query.
func redacted(src string) string {
	if spec.LocalArchive(src) {
		return src
	}
	force, raw := "", src
	if i := strings.Index(src, "::"); i >= 0 {
		force, raw = src[:i+2], src[i+2:]
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return force + "(no URL)"
	}
	return force + place(u)
}

// treeSource is one file of a repository: git::URL//path/in/it?ref=…
type treeSource struct {
	client *Client
	src    string
}

func (s *treeSource) String() string { return redacted(s.src) }

func (s *treeSource) ranged() bool { return false }

// open implements source; every call clones the repository, so it is meant for
// small files.
func (s *treeSource) open(ctx context.Context, from, to, size int64, _ validator) (stream, error) {
	root, sub := getter.SourceDirSubdir(s.src)
	if !filepath.IsLocal(sub) {
		return stream{}, refuse(nextSource, "no file named; use git::URL//path?ref=…")
	}
	tmp, err := os.MkdirTemp("", "aisync-fetch-")
	if err != nil {
		return stream{}, fmt.Errorf("%w: %w", errLocal, err)
	}
	st, err := s.openIn(ctx, tmp, root, sub, from, to, size)
	if err != nil {
		os.RemoveAll(tmp)
	}
	return st, err
}

func (s *treeSource) openIn(ctx context.Context, tmp, root, sub string, from, to, size int64) (stream, error) {
	tree := filepath.Join(tmp, "tree")
	if err := s.client.Tree(ctx, root, tree); err != nil {
		return stream{}, refuse(nextSource, "%w", err)
	}
	st, err := openFile(filepath.Join(tree, sub), from, to, size)
	if err != nil {
		return stream{}, err
	}
	st.body = &tempBody{ReadCloser: st.body, dir: tmp}
	return st, nil
}

// tempBody removes a folder when the body read from it is closed.
type tempBody struct {
	io.ReadCloser
	dir string
}

func (s *tempBody) Close() error {
	return errors.Join(s.ReadCloser.Close(), os.RemoveAll(s.dir))
}
