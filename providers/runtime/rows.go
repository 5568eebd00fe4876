package runtime

import (
	"fmt"
	"path"

	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// services lists the servers that somebody has to start.
func (h Host) services(b *builder) {
	for _, s := range h.Spec.Services {
		if !s.Enabled || s.Kind == "external" {
			continue
		}
		b.cannot(reconcile.Address("service:"+s.Name), from(s.Pos), "running servers comes in a later version; start it by hand: %s", h.serve(s))
	}
}

// serve is the command that starts a server.
func (h Host) serve(s spec.Service) string {
	host := "127.0.0.1"
	if s.Listen == "lan" {
		host = "0.0.0.0"
	}
	switch s.Kind {
	case "llama-server":
		command := fmt.Sprintf("llama-server --model %s --alias %s --host %s --port %d", h.modelFile(s.Model), s.Model, host, s.Port)
		if s.Context > 0 {
			command += fmt.Sprintf(" --ctx-size %d", s.Context)
		}
		return command
	case "ollama":
		return fmt.Sprintf("OLLAMA_HOST=%s:%d ollama serve", host, s.Port)
	case "llama-swap":
		return fmt.Sprintf("llama-swap --listen %s:%d", host, s.Port)
	}
	return s.Kind
}

// modelFile is where the first file of a model will lie.
func (h Host) modelFile(id string) string {
	for _, use := range h.Spec.Models {
		if use.ID != id {
			continue
		}
		for _, m := range h.Models {
			if m.ID != id || h.Pick == nil {
				continue
			}
			if q, _, err := h.Pick(use, m); err == nil && len(q.Files) > 0 {
				return string(store.Friendly(fsys.LogicalPath(h.store()), id, q.Files[0].Repo, q.Files[0].Path))
			}
		}
	}
	return path.Join(h.store(), "*", "*", "*.gguf")
}
