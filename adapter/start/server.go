package start

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// Server is a model server as programs see it.
type Server struct {
	Name    string // of the service in the spec
	URL     string // with /v1
	Model   string // the server's name of the main model
	Context int64  // tokens; 0: unknown
	APIs    []string
	Models  []ServedModel     // all of them, the main one too; none: Model alone
	Roles   map[string]string // of models, by spec.Roles
	each    string            // the model that {each} stands for

	spec.Access // what requests to it must carry
}

// AllAPIs are the APIs of an external service without a list, and of the
// servers that aisync starts: llama-server and ollama have all of them since
// early 2026, and llama-swap passes requests on.
var AllAPIs = []string{"chat", "completions", "embeddings", "messages", "responses"}

// maxOutput bounds an answer if the context is large enough.
const maxOutput = 4096

// Server is the endpoint of the host's spec. It is an error if the server does
// not answer here.
func (h *Host) Server() (Server, error) {
	name := h.Spec.Endpoint.Value
	if name == "" {
		return Server{}, fmt.Errorf("host %s names no endpoint", h.Spec.Name)
	}
	s := h.service(name)
	if s == nil {
		return Server{}, fmt.Errorf("host %s names the unknown service %q as its endpoint", h.Spec.Name, name)
	}
	if why, _ := h.Absence(s); why != "" {
		return Server{}, fmt.Errorf("service %s, the endpoint of host %s, does not run here: %s", name, h.Spec.Name, why)
	}
	return h.ServerOf(s), nil
}

// service is the service with that name; nil if there is none.
func (h *Host) service(name string) *spec.Service {
	for i := range h.Spec.Services {
		if h.Spec.Services[i].Name == name {
			return &h.Spec.Services[i]
		}
	}
	return nil
}

// ServerOf is the server of the service s.
func (h *Host) ServerOf(s *spec.Service) Server {
	t := Server{Name: s.Name, URL: strings.TrimSuffix(s.URL, "/"), APIs: s.APIs, Roles: s.Roles, Access: s.Access(h.Home, h.State)}
	if t.URL == "" {
		t.URL = "http://127.0.0.1:" + strconv.Itoa(s.Port) + "/v1"
	}
	for _, id := range s.AllModels() {
		t.Models = append(t.Models, ServedModel{id, h.contextOf(s, id)})
	}
	t.Model, t.Context = s.Main(), int64(s.Context)
	if t.Model != "" {
		t.Context = t.contextOf(t.Model)
	}
	if len(t.APIs) == 0 {
		t.APIs = AllAPIs
	}
	return t
}

// contextOf returns the tokens of a conversation with a model of s; 0: unknown.
func (h *Host) contextOf(s *spec.Service, id string) int64 {
	i := slices.IndexFunc(h.Models, func(m spec.Model) bool { return m.ID == id })
	if i < 0 || s.Kind == "external" {
		return int64(s.Context)
	}
	tokens := s.ContextOf(h.Spec, id, h.Models[i])
	if trained := h.Models[i].Context; trained > 0 {
		return min(tokens, trained) // llama-server and ollama grant no more
	}
	return tokens
}

// FillQuoted replaces in text {url}, which is without /v1, {base}, the unchanged
// URL, {model}, {name}, {context} and {output}, and what stands for models. Each of
// these is inside a quoted JSON or YAML string.
func (s *Server) FillQuoted(text string) string { return s.replace(text, Escaped) }

func (s *Server) replace(text string, as func(string) string) string {
	text = s.named(text, as)
	return strings.NewReplacer("{url}", as(strings.TrimSuffix(s.URL, "/v1")), "{base}", as(s.URL), "{model}", as(s.Model), "{name}", as(s.Name),
		"{context}", strconv.FormatInt(s.Context, 10), "{output}", strconv.FormatInt(s.output(), 10)).Replace(text)
}

// Escaped is s as JSON, which YAML reads, writes it between quotes.
func Escaped(s string) string {
	b, _ := json.Marshal(s) // a string: cannot fail
	return string(b[1 : len(b)-1])
}

func (s *Server) output() int64 { return min(maxOutput, s.Context/4) }
