package stack

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// keyName is the file of the state folder with the key under which secrets are
// compared. It says nothing of any of them.
const keyName = "secrets.key"

// Sealer makes fingerprints of secrets. Its key is read when the first is asked
// for, and made then by a command that writes; a command that only looks takes
// one of its own, to which nothing that is recorded compares.
type Sealer struct {
	Reader fsys.Reader
	disk   fsys.FS // nil: only look
	State  fsys.LogicalPath
	load   sync.Once
	seal   file.Seal
	err    error
}

// Seal is a file.Seal.
func (s *Sealer) Seal(v []byte) reconcile.Fingerprint {
	s.load.Do(s.open)
	return s.seal(v)
}

func (s *Sealer) open() {
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // never fails
	s.seal = file.NewSeal(fresh)
	at := s.State.Join(keyName)
	if s.Reader == nil {
		return
	}
	switch key, err := s.Reader.ReadFile(at); {
	case err == nil && len(key) >= len(fresh):
		s.seal = file.NewSeal(key)
	case err == nil:
		s.err = fmt.Errorf("%s is cut off: move it away, and run aisync apply --force for what is then in doubt", at)
	case !errors.Is(err, fs.ErrNotExist):
		s.err = fmt.Errorf("read the key of secrets: %w", err)
	case s.disk != nil:
		if _, err := s.disk.MkdirAll(s.State, 0o700); err != nil {
			s.err = err
			return
		}
		s.err = s.disk.Replace(at, fsys.Content{Bytes: fresh, Mode: 0o600}, fsys.Expect{Absent: true}, nil)
	}
}

// secrets are for programs that cannot be told where a secret is.
func (w *View) secrets() *adapter.Secrets {
	return &adapter.Secrets{
		Value: w.secret, Seal: w.seal.Seal,
		Recorded: func(a reconcile.Address, key reconcile.LeafKey) (reconcile.Fingerprint, bool) {
			for _, rec := range w.Store.On(a) {
				if l := rec.Leaf(key); l != nil && rec.Owner == reconcile.HostOwner {
					return l.Live, true
				}
			}
			return "", false
		},
	}
}

// secret is the value of s.
func (w *View) secret(s spec.Secret) (string, error) {
	if s.Env != "" {
		if v := w.Env.Get(s.Env); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("its configuration has no form that names a secret, so the value is written, and the variable %s is not set here; set it and run aisync apply", s.Env)
	}
	b, err := os.ReadFile(w.Places.Expand(s.File))
	if err != nil {
		return "", fmt.Errorf("its configuration has no form that names a secret, so the value is written, and it cannot be had: %w; mend that and run aisync apply", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}
