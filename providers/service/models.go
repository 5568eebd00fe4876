package service

import (
	"fmt"
	"strings"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// served is a model as a server gets it.
type served struct {
	id      string
	file    fsys.LogicalPath // the first of its files
	context int64            // tokens of one conversation; 0: the model's own limit

	projector, draft fsys.LogicalPath // loaded beside it; "": none
}

// beside is the arguments for the files that are loaded beside m.
func (m served) beside() (out []string) {
	if m.projector != "" {
		out = append(out, "--mmproj", string(m.projector))
	}
	if m.draft != "" {
		out = append(out, "--model-draft", string(m.draft))
	}
	return out
}

// Without this variable newer servers make no use of a draft. Older ones do, and
// ignore the variable.
const specType, simpleDraft = "LLAMA_ARG_SPEC_TYPE", "draft-simple"

// models are the models that the service serves, the inputs of the server that
// come from them, and the files that must exist before it starts.
func (h Host) models(w *wants) (models []served, inputs map[string]string, needs []fsys.LogicalPath) {
	inputs = map[string]string{}
	for _, id := range ModelsOf(w.s) {
		m, ok := h.Models(id)
		if !ok {
			continue
		}
		one := served{id: id, file: m.File, context: w.s.ContextOf(h.Spec, id, spec.Model{Context: m.Context})}
		use := h.Spec.Model(id)
		for _, id := range use.Beside() {
			with, ok := h.Models(id)
			switch {
			case !ok:
				continue
			case w.s.Kind == "ollama":
				w.Notes = append(w.Notes, reconcile.Note{Warning: true, Origin: origin(w.s), Text: fmt.Sprintf("ollama serves %s without %s, which only a llama-server loads beside it", use.ID, id)})
				continue
			case id == use.Projector:
				one.projector = with.File
			default:
				one.draft = with.File
			}
			inputs["model "+id] = digest([]byte(strings.Join(with.SHA256, "\n")))
			w.after = append(w.after, reconcile.Address("model:"+id))
			needs = append(needs, with.File)
		}
		models = append(models, one)
		inputs["model "+id] = digest([]byte(strings.Join(m.SHA256, "\n")))
		w.after = append(w.after, reconcile.Address("model:"+id))
		if w.s.Kind == "ollama" {
			w.after = append(w.after, m.Views...)
		} else {
			needs = append(needs, m.File)
		}
	}
	if strings.Contains(w.s.ChatTemplate, "/") {
		needs = append(needs, h.path(w.s.ChatTemplate))
	}
	return models, inputs, needs
}
