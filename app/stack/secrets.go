package stack

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"aisync.dev/aisync/adapter/sealed"
	"aisync.dev/aisync/app/stack/place"
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

	mu   sync.Mutex
	keys map[string]string // of services, by name

	keyErr error // why one of them cannot be read or stored
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
		if _, err := disk.MkdirAll(at.Dir(), 0o700); err != nil {
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
func (v *View) secrets() *sealed.Secrets {
	return &sealed.Secrets{
		Seal: v.hasher.Hash,
		Value: func(s spec.Secret) (string, error) {
			value, err := v.secret(s)
			switch {
			case err == nil:
			case s.Env != "":
				err = fmt.Errorf("its configuration has no form that names a secret, so the value is written, and %w; set it and run aisync apply", err)
			default:
				err = fmt.Errorf("its configuration has no form that names a secret, so the value is written, and it cannot be had: %w; mend that and run aisync apply", err)
			}
			return value, err
		},
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
	if name, ok := strings.CutPrefix(s.File, string(v.Places.State.Join(spec.KeyFolder))+"/"); ok {
		return v.serviceKey(name)
	}
	return v.Secret(s)
}

// Secret returns the value of s.
func (m *Machine) Secret(s spec.Secret) (string, error) { return ReadSecret(m.Env.Get, m.Places, s) }

// ReadSecret returns the value of s in the environment that get reads, or in a file.
func ReadSecret(get func(string) string, p place.Places, s spec.Secret) (string, error) {
	if s.Env != "" {
		if value := get(s.Env); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("the variable %s is not set here", s.Env)
	}
	b, err := os.ReadFile(p.Expand(s.File))
	return strings.TrimRight(string(b), "\r\n"), err
}

// Access returns the headers of requests to s, its key among them.
func (m *Machine) Access(s spec.Service) (map[string]string, error) {
	return s.Access(string(m.Places.Home), string(m.Places.State)).Header(m.Secret)
}
