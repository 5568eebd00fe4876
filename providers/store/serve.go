package store

import (
	"context"
	"encoding/hex"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"

	"aisync.dev/aisync/internal/fetch/peer"
)

// Serve serves the complete files of the store in the physical folder dir, by
// digest, on addr (HOST:PORT), until ctx ends. addr must be loopback unless
// beyondLoopback is set. It calls began once it listens, and access after each
// response, from several goroutines.
func Serve(ctx context.Context, dir, addr string, beyondLoopback bool, began func(files int, at net.Addr), access func(line string)) error {
	ln, err := peer.Listen(addr, beyondLoopback)
	if err != nil {
		return err
	}
	all, _ := shared(dir).List() // never fails
	began(len(all), ln.Addr())
	return peer.Serve(ctx, ln, shared(dir), peer.Options{Access: func(x peer.Access) { access(x.String()) }})
}

// shared is the physical folder of a store as peers read it.
type shared string

// Find implements peer.Store.
func (s shared) Find(sha256 string) (string, int64, bool) {
	if raw, err := hex.DecodeString(sha256); err != nil || len(raw) != 32 {
		return "", 0, false
	}
	name := filepath.Join(string(s), string(Blob("/", sha256)))
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return "", 0, false
	}
	return name, info.Size(), true
}

// List implements peer.Store.
func (s shared) List() ([]peer.Blob, error) {
	out := []peer.Blob{}
	names, _ := fs.Glob(os.DirFS(string(s)), blobs+"/??/*") // a pattern of ours: cannot be bad
	for _, n := range names {
		if _, size, ok := s.Find(path.Base(n)); ok {
			out = append(out, peer.Blob{SHA256: path.Base(n), Size: size})
		}
	}
	return out, nil
}
