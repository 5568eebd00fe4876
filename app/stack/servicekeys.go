package stack

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// firstKey is the generation of the key that a service starts with for the first
// time. A plan made before there is a key knows it.
const firstKey = "0"

// serviceKey returns the key that aisync makes for the service name. A session
// stores a new one, for its owner alone; a view that only looks makes one that no
// server will have. What aisync's own folder does not give or take fails the plan: a
// service left out for it would pass for one that cannot be had.
func (v *View) serviceKey(name string) (key string, err error) {
	h := v.hasher
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.keyErr = cmp.Or(h.keyErr, err) }()
	if key, ok := h.keys[name]; ok {
		return key, nil
	}
	at := v.Places.State.Join(spec.KeyFolder, name)
	var b []byte
	b, err = h.reader.ReadFile(at)
	key = strings.TrimSpace(string(b))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read the key of service %s: %w", name, err)
	case key == "":
		random := make([]byte, 32)
		_, _ = rand.Read(random) // never fails
		key = strings.Join([]string{"aisync", v.keyGeneration(name), hex.EncodeToString(random)}, "-")
		if err != nil { // an empty file is a person's
			err = h.keep(at, []byte(key+"\n"))
		}
		if err != nil {
			return "", fmt.Errorf("store the key of service %s: %w", name, err)
		}
	}
	if h.keys == nil {
		h.keys = map[string]string{}
	}
	h.keys[name] = key
	return key, nil
}

// keyGeneration names a new key, so that a plan made before it is stored equals one
// made after: it depends on what was applied last.
func (v *View) keyGeneration(name string) string {
	for _, s := range v.Spec.Host.Services {
		for _, r := range v.Store.On(service.Address(s)) {
			if l := r.Leaf(""); s.Name == name && r.Owner == reconcile.HostOwner && l != nil {
				print := string(l.Live)
				return print[max(0, len(print)-8):]
			}
		}
	}
	return firstKey
}

// keyInput returns what restarts s when its key changes: the generation of a key
// that aisync made, else a fingerprint; "" for a server without one.
func (v *View) keyInput(s spec.Service) (string, error) {
	at := s.Access(string(v.Places.Home), string(v.Places.State)).Key
	if at.File == "" || s.SaysKey() {
		return "", nil
	}
	key, err := v.secret(at.Secret)
	if err != nil {
		return "", fmt.Errorf("its key cannot be read: %w", err)
	}
	if parts := strings.Split(key, "-"); len(parts) == 3 && parts[0] == "aisync" {
		return parts[1], nil
	}
	return string(v.hasher.Hash([]byte(key))), nil
}

// SweepKeys removes the keys of services that are gone, and what those saved, where no
// apply stopped them: they had ended by themselves.
func (s *Session) SweepKeys() error {
	if s.Spec.Host == nil || !s.Has(reconcile.HostOwner) {
		return nil
	}
	var errs error
	for _, folder := range []fsys.LogicalPath{s.Places.State.Join(spec.KeyFolder), service.SlotFolder(s.Places.State)} {
		all, err := s.FS.ReadDir(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		errs = errors.Join(errs, err)
		for _, e := range all {
			at := s.Places.Physical(folder.Join(e.Name()))
			if !s.known(e.Name()) {
				errs = errors.Join(errs, os.RemoveAll(at))
			}
		}
	}
	return errs
}

// known reports whether the spec has a service of that name, or one was applied.
func (v *View) known(name string) bool {
	return slices.ContainsFunc(v.Spec.Host.Services, func(s spec.Service) bool { return s.Name == name }) ||
		len(v.Store.On(service.Address(spec.Service{Name: name, Scope: "user"})))+len(v.Store.On(service.Address(spec.Service{Name: name, Scope: "system"}))) > 0
}
