package runtime

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// target is what a local runtime must know of the server it talks to.
type target struct {
	url     string // with /v1
	model   string // as the server calls it
	context int64  // tokens; 0 unknown
}

// endpoint tells the local runtimes of the host where their model is served.
// It depends on the machine, so it stands in user scope, never in a project.
func (h Host) endpoint(b *builder) {
	if h.Spec.Endpoint.Value == "" {
		return
	}
	var names []string
	for _, s := range h.Spec.Services {
		if names = append(names, s.Name); s.Name != h.Spec.Endpoint.Value {
			continue
		}
		for _, use := range h.Spec.Runtimes {
			if rt, ok := find(h.Runtimes, use.ID); ok && rt.Local {
				h.connect(b, use, rt, h.target(s))
			}
		}
		return
	}
	b.fail(from(h.Spec.Endpoint.Pos), "endpoint names the service %q, and there is none of that name: %s", h.Spec.Endpoint.Value, list(names))
}

func find(catalog []spec.Runtime, id string) (spec.Runtime, bool) {
	i := slices.IndexFunc(catalog, func(r spec.Runtime) bool { return r.ID == id })
	if i < 0 {
		return spec.Runtime{}, false
	}
	return catalog[i], true
}

func (h Host) target(s spec.Service) target {
	t := target{url: strings.TrimSuffix(s.URL, "/"), model: s.Model, context: int64(s.Context)}
	if t.url == "" {
		t.url = "http://127.0.0.1:" + strconv.Itoa(s.Port) + "/v1"
	}
	if t.model == "" && len(s.Models) > 0 {
		t.model = s.Models[0]
	}
	if t.context == 0 && s.Kind != "external" {
		if i := slices.IndexFunc(h.Models, func(m spec.Model) bool { return m.ID == t.model }); i >= 0 {
			t.context = h.Models[i].Context
		}
	}
	return t
}

// connect writes the configuration of the program that drives a generic
// runtime, in the runtime's own folder: the program is pointed there when it
// is launched as that runtime, and keeps its own configuration otherwise.
func (h Host) connect(b *builder, use spec.RuntimeUse, rt spec.Runtime, t target) {
	origin := joined(from(h.Spec.Endpoint.Pos), from(use.Pos))
	if use.CLI == "" || rt.User.Dir == "" {
		b.cannot(reconcile.Address("runtime:"+use.ID), origin, "pointing %s at the endpoint %s comes in a later version; set %s in its own configuration by hand", use.ID, h.Spec.Endpoint.Value, t.url)
		return
	}
	switch use.CLI {
	case "opencode":
		h.opencode(b, rt, t, origin)
	case "aider":
		name := path.Join(rt.User.Dir, ".aider.conf.yml")
		b.leaf(fileAt(name), "", reconcile.Leaf{Body: file.Whole(h.aider(b, rt, t), 0o644), Origin: origin}, rt.ID)
		b.note(false, origin, "aider reads a project's AGENTS.md only where it is told to: start it with --read AGENTS.md")
	default:
		b.cannot(reconcile.Address("runtime:"+use.ID), origin, "driving %s with %q comes in a later version; use cli: \"opencode\" or \"aider\", or point %s at %s by hand", use.ID, use.CLI, use.CLI, t.url)
	}
}

// maxOutput bounds an answer where the context is large enough for one.
const maxOutput = 4096

func (h Host) opencode(b *builder, rt spec.Runtime, t target, origin []reconcile.Position) {
	type limit struct {
		Context int64 `json:"context"`
		Output  int64 `json:"output"`
	}
	type model struct {
		Name  string `json:"name"`
		Limit *limit `json:"limit,omitempty"`
	}
	m := model{Name: t.model}
	if t.context > 0 {
		m.Limit = &limit{t.context, min(maxOutput, t.context/4)}
	}
	provider := struct {
		NPM     string            `json:"npm"`
		Name    string            `json:"name"`
		Options map[string]string `json:"options"`
		Models  map[string]model  `json:"models"`
	}{"@ai-sdk/openai-compatible", "local (" + h.Spec.Endpoint.Value + ")", map[string]string{"apiKey": "none", "baseURL": t.url}, map[string]model{t.model: m}}
	name := path.Join(rt.User.Dir, "opencode.json")
	set := func(key string, v any) {
		value, err := json.Marshal(v)
		if err != nil {
			b.fail(origin, "%s: %w", name, err)
			return
		}
		b.leaf(fileAt(name), merge.JSON, reconcile.Leaf{Key: reconcile.LeafKey(key), Body: file.Value(value), Own: reconcile.Member, Origin: origin}, rt.ID)
	}
	set("/$schema", "https://opencode.ai/config.json")
	set("/model", "local/"+t.model)
	set("/small_model", "local/"+t.model)
	set("/autoupdate", false)
	set("/share", "disabled")
	set("/provider/local", provider)
	if rt.User.RulesIndex != "" && len(b.index[rt.User.RulesIndex]) > 0 {
		b.reference(spec.Reference{Path: name, Format: "json", Pointer: "/instructions/-", JSON: []byte(strconv.Quote(rt.User.RulesIndex))}, origin, rt.ID)
	}
}

// aider reads instructions only from files that its configuration names.
func (h Host) aider(b *builder, rt spec.Runtime, t target) []byte {
	var s strings.Builder
	fmt.Fprintf(&s, "# aider as %s; written by aisync, which owns this file\n", rt.ID)
	fmt.Fprintf(&s, "model: %s\nopenai-api-base: %s\nopenai-api-key: none\n", quoteYAML("openai/"+t.model), quoteYAML(t.url))
	s.WriteString("check-update: false\nanalytics-disable: true\n")
	if index := rt.User.RulesIndex; h.Home != "" && len(b.index[index]) > 0 {
		fmt.Fprintf(&s, "read:\n  - %s\n", quoteYAML(string(fileAt(index).Path(h.Home))))
	}
	return []byte(s.String())
}

// quoteYAML writes a string as JSON does, which YAML reads.
func quoteYAML(s string) string { return `"` + quoted(s) + `"` }

// quoted is what JSON writes between the quotes of a string.
func quoted(s string) string {
	b, _ := json.Marshal(s) // a string: cannot fail
	return string(b[1 : len(b)-1])
}
