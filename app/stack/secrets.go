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

// keyName is the file of the state folder that holds the key under which secrets
// are compared. It says nothing about any secret.
const keyName = "secrets.key"

// SecretHasher makes fingerprints of secrets under a key, which it reads when the
// first is asked for.
type SecretHasher struct {
	reader fsys.Reader
	state  fsys.LogicalPath
	keep   func(at fsys.LogicalPath, key []byte) error // stores a new key

	once sync.Once
	hash file.Seal
	err  error // why the stored key cannot be used
}

// NewSecretHasher returns a hasher that writes nothing: where no key is stored,
// it takes a random one, and its fingerprints equal no recorded ones.
func NewSecretHasher(reader fsys.Reader, state fsys.LogicalPath) *SecretHasher {
	return &SecretHasher{reader: reader, state: state, keep: func(fsys.LogicalPath, []byte) error { return nil }}
}

// newKeepingHasher returns a hasher that stores the key it makes.
func newKeepingHasher(disk fsys.FS, state fsys.LogicalPath) *SecretHasher {
	h := NewSecretHasher(disk, state)
	h.keep = func(at fsys.LogicalPath, key []byte) error {
		if _, err := disk.MkdirAll(state, 0o700); err != nil {
			return err
		}
		return disk.Replace(at, fsys.Content{Bytes: key, Mode: 0o600}, fsys.Expect{Absent: true}, nil)
	}
	return h
}

// Hash is a file.Seal. View.Plan reports why a stored key could not be used.
func (h *SecretHasher) Hash(v []byte) reconcile.Fingerprint {
	h.once.Do(h.loadKey)
	return h.hash(v)
}

func (h *SecretHasher) loadKey() {
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // never fails
	h.hash = file.NewSeal(fresh)
	at := h.state.Join(keyName)
	switch key, err := h.reader.ReadFile(at); {
	case err == nil && len(key) >= len(fresh):
		h.hash = file.NewSeal(key)
	case err == nil:
		h.err = fmt.Errorf("%s is cut off: move it away, and run aisync apply --force for what is then in doubt", at)
	case errors.Is(err, fs.ErrNotExist):
		h.err = h.keep(at, fresh)
	default:
		h.err = fmt.Errorf("read the key of secrets: %w", err)
	}
}

// secrets returns the values for programs whose configuration can name no secret.
func (v *View) secrets() *adapter.Secrets {
	return &adapter.Secrets{
		Value: v.secret, Seal: v.hasher.Hash,
		Recorded: func(a reconcile.Address, key reconcile.LeafKey) (reconcile.Fingerprint, bool) {
			for _, rec := range v.Store.On(a) {
				if l := rec.Leaf(key); l != nil && rec.Owner == reconcile.HostOwner {
					return l.Live, true
				}
			}
			return "", false
		},
	}
}

// secret returns the value of s.
func (v *View) secret(s spec.Secret) (string, error) {
	if s.Env != "" {
		if value := v.Env.Get(s.Env); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("its configuration has no form that names a secret, so the value is written, and the variable %s is not set here; set it and run aisync apply", s.Env)
	}
	b, err := os.ReadFile(v.Places.Expand(s.File))
	if err != nil {
		return "", fmt.Errorf("its configuration has no form that names a secret, so the value is written, and it cannot be had: %w; mend that and run aisync apply", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}
