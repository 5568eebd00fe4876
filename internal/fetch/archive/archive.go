// Package archive unpacks untrusted tar and zip archives into a folder. It
// writes nothing outside the folder, creates only folders, files and links that
// stay inside, and applies its limits to what actually comes out, whatever the
// archive claims. Call Unpack; for several archives and files in one folder, Open.
package archive

import (
	"archive/tar"
	"archive/zip"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Bounds on the length and depth of names: each folder of a name is remembered.
// Linux has no longer names (PATH_MAX), and real sources are not so deep.
const longest, deepest = 4096, 64

// Limits bound the contents of an archive.
type Limits struct {
	Files int   // entries of any kind
	Bytes int64 // of all files, unpacked
}

// Endings are the suffixes of archives that Unpack knows. tar.xz is left out:
// its decoders have had faults on hostile input.
var Endings = []string{"tar", "tar.gz", "tgz", "tar.bz2", "tbz2", "tar.zst", "tzst", "zip"}

// ErrTooLarge means that an archive exceeds the limits.
var ErrTooLarge = errors.New("too large")

// Unpack unpacks the archive src, with the suffix ending, into the folder dst,
// which it makes. After a failure the caller removes dst.
func Unpack(dst, src, ending string, limits Limits) error {
	f, err := Open(dst, limits)
	if err != nil {
		return err
	}
	defer f.root.Close()
	if err := f.Unpack(src, ending); err != nil {
		return err
	}
	return f.Finish()
}

// Folder is a folder into which archives and files are put. The limits are those of
// all of them together, and no name may come twice.
type Folder struct{ unpacking }

// Open makes the folder dst. The caller calls Finish; after a failure it removes dst.
func Open(dst string, limits Limits) (*Folder, error) {
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dst)
	if err != nil {
		return nil, err
	}
	return &Folder{unpacking{root: root, limits: limits, left: limits.Bytes, names: map[string]string{}}}, nil
}

// Unpack unpacks the archive src, with the suffix ending.
func (f *Folder) Unpack(src, ending string) error {
	if ending == "zip" {
		return f.zip(src)
	}
	return f.tar(src, ending)
}

// File writes one file.
func (f *Folder) File(name string, from io.Reader) error {
	name, err := f.place(name, false)
	if err != nil {
		return err
	}
	return f.file(name, 0o644, from)
}

// Close gives the folder up.
func (f *Folder) Close() error { return f.root.Close() }

// Finish makes the links and closes the folder.
func (f *Folder) Finish() error {
	err := f.makeLinks()
	if err == nil && f.files == 0 {
		err = errors.New("the archive is empty")
	}
	return errors.Join(err, f.root.Close())
}

type unpacking struct {
	root   *os.Root
	limits Limits
	count  int
	files  int
	left   int64             // bytes still allowed
	names  map[string]string // names by their form on a case-insensitive file system
	links  []link
}

type link struct{ name, target string }

// place checks an entry's name and returns it clean; "" for the top.
func (u *unpacking) place(name string, dir bool) (string, error) {
	if u.count++; u.count > u.limits.Files {
		return "", fmt.Errorf("%w: more than %d entries", ErrTooLarge, u.limits.Files)
	}
	if len(name) > longest || strings.Count(name, "/") > deepest {
		return "", fmt.Errorf("%w: entry %.40q… has a name of %d bytes and %d folders", ErrTooLarge, name, len(name), strings.Count(name, "/"))
	}
	switch {
	case strings.HasPrefix(name, "/"), strings.ContainsAny(name, "\\\x00"):
		return "", fmt.Errorf("entry %q: name must be a relative path below the archive's top, with slashes", name)
	case path.Clean(name) == ".":
		return "", nil
	case !filepath.IsLocal(name) || path.Clean(name) != strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/"):
		return "", fmt.Errorf("entry %q leads out of the archive or in a circle", name)
	}
	name = path.Clean(name)
	for n := name; n != "."; n = path.Dir(n) { // its folders may have no entry
		folded := strings.ToLower(n)
		if had, ok := u.names[folded]; ok && (had != n || n == name && !dir) {
			if had == n {
				return "", fmt.Errorf("duplicate entry %q", n)
			}
			return "", fmt.Errorf("entries %q and %q differ only in case; many file systems treat them as one", had, n)
		}
		u.names[folded] = n
	}
	return name, nil
}

func (u *unpacking) folder(name string) error {
	if name == "" || name == "." {
		return nil
	}
	return u.root.MkdirAll(name, 0o755)
}

// file writes one file. Of mode only the executable bit counts.
func (u *unpacking) file(name string, mode fs.FileMode, from io.Reader) error {
	if name == "" {
		return errors.New("the archive's top is a file")
	}
	if err := u.folder(path.Dir(name)); err != nil {
		return err
	}
	perm := fs.FileMode(0o644)
	if mode&0o100 != 0 {
		perm = 0o755
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(from, u.left+1))
	if u.left -= n; u.left < 0 {
		err = fmt.Errorf("%w: more than %d bytes unpacked", ErrTooLarge, u.limits.Bytes)
	}
	u.files++
	return errors.Join(err, f.Close(), u.root.Chmod(name, perm))
}

// link records a link; links are made last, so that nothing is written through
// one.
func (u *unpacking) link(name, target string) error {
	to := path.Join(path.Dir(name), target)
	if name == "" || path.IsAbs(target) || strings.ContainsAny(target, "\\\x00") || !filepath.IsLocal(to) {
		return fmt.Errorf("link %q leads out of the archive, to %s", name, target)
	}
	u.links = append(u.links, link{name, target})
	u.files++
	return nil
}

func (u *unpacking) makeLinks() error {
	for _, l := range u.links {
		if err := u.folder(path.Dir(l.name)); err != nil {
			return err
		}
		if err := u.root.Symlink(l.target, l.name); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacking) tar(src, ending string) error {
	f, err := os.Open(src)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := decoder(f, ending)
	if err != nil {
		return err
	}
	defer plain.Close()
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader { // git archive puts the commit there
			continue
		}
		name, err := u.place(h.Name, h.Typeflag == tar.TypeDir)
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = u.folder(name)
		case tar.TypeReg:
			err = u.file(name, h.FileInfo().Mode(), r)
		case tar.TypeSymlink:
			err = u.link(name, h.Linkname)
		case tar.TypeLink:
			err = fmt.Errorf("entry %q is a hard link, to %s; pack the file itself: tar --hard-dereference", h.Name, h.Linkname)
		default:
			err = fmt.Errorf("entry %q is not a file, folder or link", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

// decoder decompresses a tar.
func decoder(f io.Reader, ending string) (io.ReadCloser, error) {
	switch ending {
	case "tar":
		return io.NopCloser(f), nil
	case "tar.gz", "tgz":
		return gzip.NewReader(f)
	case "tar.bz2", "tbz2":
		return io.NopCloser(bzip2.NewReader(f)), nil
	case "tar.zst", "tzst":
		d, err := zstd.NewReader(f, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("unknown archive format: %q", ending)
}

func (u *unpacking) zip(src string) error {
	z, err := zip.OpenReader(src)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if err := u.zipped(f); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacking) zipped(f *zip.File) error {
	mode := f.Mode()
	name, err := u.place(f.Name, mode.IsDir())
	if err != nil {
		return err
	}
	switch {
	case mode.IsDir():
		return u.folder(name)
	case mode.Type() != 0 && mode.Type() != fs.ModeSymlink:
		return fmt.Errorf("entry %q is not a file, folder or link", f.Name)
	}
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("entry %q: %w", f.Name, err)
	}
	defer r.Close()
	if mode.Type() == 0 {
		err = u.file(name, mode, r)
	} else {
		var target []byte
		if target, err = io.ReadAll(io.LimitReader(r, 4096)); err == nil {
			err = u.link(name, string(target))
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}
