package service

import (
	"errors"
	"io/fs"
	"os"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// keyArguments name the file of the server's key to llama-server; none where the
// spec's arguments or variables do, or where it has none. llama-swap passes what a
// request carries on to its servers, so that they check the key.
func (h Host) keyArguments(s spec.Service) []string {
	file := s.Access(string(h.Home), string(h.State)).Key.File
	if h.Key == nil || file == "" || s.SaysKey() {
		return nil
	}
	return []string{"--api-key-file", file}
}

// keyed adds the key to what restarts s.
func (h Host) keyed(s spec.Service, inputs map[string]string) error {
	if h.Key == nil {
		return nil
	}
	input, err := h.Key(s)
	if input != "" {
		inputs["key"] = input
	}
	return err
}

// open says what anyone may do who reaches the port of s; "" for nothing.
func (h Host) open(s spec.Service) string {
	switch {
	case s.Access(string(h.Home), string(h.State)).Key == spec.Key{}:
		return "use it without a key"
	case s.Kind == "llama-swap":
		return "see and unload its models without a key"
	}
	return ""
}

// forgetKey removes the key that aisync made for a service.
func (p Provider) forgetKey(w reconcile.WriteEnv, name string) error {
	at, err := w.FS.Physical(p.State.Join(spec.KeyFolder, name))
	if err != nil {
		return err
	}
	if err := os.Remove(at); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
