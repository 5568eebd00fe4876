package fsys

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"sync"
)

// Digest returns the digest of a regular file's bytes, "sha256:<hex>".
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// LinkDigest returns the digest of a link to target, "link:<hex>".
func LinkDigest(target string) string {
	sum := sha256.Sum256([]byte(target))
	return "link:" + hex.EncodeToString(sum[:])
}

// DigestReader returns the Digest of all that r yields.
func DigestReader(r io.Reader) (string, error) {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	for {
		n, err := r.Read(buf[:])
		h.Write(buf[:n])
		if err == io.EOF {
			return "sha256:" + hex.EncodeToString(h.Sum(buf[:0])), nil
		}
		if err != nil {
			return "", err
		}
	}
}

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// DigestAt returns the digest of the file or link at p: what Expect wants. The
// error satisfies errors.Is(err, fs.ErrNotExist) where nothing is there, and
// wraps ErrBlocked for a folder or a device.
func DigestAt(r Reader, p LogicalPath) (string, error) {
	fi, err := r.Lstat(p)
	if err != nil {
		return "", err
	}
	if fi.Mode()&fs.ModeSymlink != 0 {
		target, err := r.Readlink(p)
		if err != nil {
			return "", err
		}
		return LinkDigest(target), nil
	}
	digest, _, err := r.Digest(p)
	return digest, err
}
