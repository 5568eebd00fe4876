package spec

import (
	"cmp"
	"slices"
)

// Roles are the roles of models beside "main": for short side tasks, for what is
// hard, for reviews, for edits that the main model described.
var Roles = []string{"small", "large", "review", "editor"}

// Routes reports whether s is a llama-server of several models, which starts one
// more for each that it loads.
func (s Service) Routes() bool { return s.Kind == "llama-server" && len(s.AllModels()) > 1 }

// AllModels are the models that s serves, each once.
func (s Service) AllModels() []string {
	if s.Model == "" || slices.Contains(s.Models, s.Model) {
		return s.Models
	}
	return append([]string{s.Model}, s.Models...)
}

// Main is the model that programs use for what no other role is for; "" if s names none.
func (s Service) Main() string {
	if name := cmp.Or(s.Roles["main"], s.Model); name != "" || len(s.Models) == 0 {
		return name
	}
	return s.Models[0]
}

// maxUnsaid is the planned size of a conversation in tokens if none is set:
// enough for an agent's first question, without filling a machine's memory.
const maxUnsaid = 32768

// ContextOf returns the tokens of one conversation with model m served by s: the
// service's setting, else h's for the model. 0: unknown.
func (s Service) ContextOf(h *Host, id string, m Model) int64 {
	if s.Context > 0 {
		return int64(s.Context)
	}
	for _, use := range h.Models {
		if use.ID == id && use.Context > 0 {
			return use.Context
		}
	}
	if s.Kind == "external" || m.Context == 0 {
		return 0
	}
	return min(maxUnsaid, m.Context)
}

// Beside are the models that a llama-server loads with it.
func (u ModelUse) Beside() []string {
	return slices.DeleteFunc([]string{u.Projector, u.Draft}, func(id string) bool { return id == "" })
}

// Model is the use of the model id; empty if h does not have it.
func (h *Host) Model(id string) ModelUse {
	for _, u := range h.Models {
		if u.ID == id {
			return u
		}
	}
	return ModelUse{}
}
