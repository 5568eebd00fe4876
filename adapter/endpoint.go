package adapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// target is what a local runtime must know of the server it talks to.
type target struct {
	service string // its name in the spec
	url     string // with /v1
	model   string // as the server calls it
	context int64  // tokens; 0 unknown
	apis    []string
	pos     spec.Position
	runs    reconcile.Address // what aisync starts of it, "" of an external one
}

// allAPIs is what an external service is taken to have that says nothing, and
// what the servers that aisync starts have: llama-server and ollama speak all
// of them since early 2026, and llama-swap passes on what it gets.
var allAPIs = []string{"chat", "completions", "embeddings", "messages", "responses"}

// endpoint points programs at the services that the spec gives them. That
// depends on the machine, so it stands in user scope, never in a project.
func (h Host) endpoint(b *builder) {
	unsaid := map[string]bool{}
	for _, use := range h.Spec.Runtimes {
		rt, ok := find(h.Runtimes, use.ID)
		name := h.serviceOf(use, rt)
		if !ok || name.Value == "" || use.Install == nil && !h.there(h.command(use, rt)) {
			continue
		}
		i := slices.IndexFunc(h.Spec.Services, func(s spec.Service) bool { return s.Name == name.Value })
		if i < 0 {
			continue // said below, or by the schema
		}
		s, origin := h.Spec.Services[i], joined(from(name.Pos), from(use.Pos))
		if h.withheld(b, use, rt, s, origin) {
			continue
		}
		if s.Kind == "external" && len(s.APIs) == 0 && !unsaid[s.Name] {
			unsaid[s.Name] = true
			b.note(true, from(s.Pos), "service %s does not say its apis, so it is taken to have all of them; aisync doctor asks it", s.Name)
		}
		h.connect(b, use, rt, h.target(s), origin)
	}
	var names []string
	for _, s := range h.Spec.Services {
		names = append(names, s.Name)
	}
	e := h.Spec.Endpoint
	switch {
	case e.Value == "":
	case !slices.Contains(names, e.Value):
		b.fail(from(e.Pos), "endpoint names the service %q, and there is none of that name: %s", e.Value, list(names))
	default:
		h.untouched(b)
	}
}

// serviceOf returns the service that the spec gives a runtime, "" for none. The
// host's endpoint alone is for generic local runtimes: a vendor's program keeps
// its maker's service until the spec gives it another in so many words.
func (h Host) serviceOf(use spec.RuntimeUse, rt spec.Runtime) spec.Named {
	switch e := use.Endpoint; {
	case e != nil && !e.On:
		return spec.Named{}
	case e != nil && e.Service != "":
		return spec.Named{Value: e.Service, Pos: e.Pos}
	case e != nil:
		return spec.Named{Value: h.Spec.Endpoint.Value, Pos: e.Pos}
	case rt.Local:
		return h.Spec.Endpoint
	}
	return spec.Named{}
}

// untouched names, where no generic local runtime takes the host's endpoint,
// the programs that do not take it either, and what points them there: until
// this version the endpoint alone did.
func (h Host) untouched(b *builder) {
	var ids, write []string
	for _, use := range h.Spec.Runtimes {
		rt, _ := find(h.Runtimes, use.ID)
		switch {
		case rt.Local:
			return
		case use.Endpoint == nil && pointable(rt) && (use.Install != nil || h.there(rt.Command)):
			ids, write = append(ids, use.ID), append(write, use.ID+": endpoint: true")
		}
	}
	if len(ids) > 0 {
		b.note(false, from(h.Spec.Endpoint.Pos), "endpoint %q is for generic local runtimes alone, and this host has none; %s: not pointed at it; to point programs there write runtimes: {%s}; endpoint: false ends this note",
			h.Spec.Endpoint.Value, list(ids), list(write))
	}
}

// pointable reports whether a vendor's program can talk to another server than
// its maker's.
func pointable(rt spec.Runtime) bool { return len(rt.User.Endpoint)+len(rt.Launch.Endpoint) > 0 }

func find(catalog []spec.Runtime, id string) (spec.Runtime, bool) {
	for i := range catalog { // a Runtime is large, and a catalog may hold a thousand
		if catalog[i].ID == id {
			return catalog[i], true
		}
	}
	return spec.Runtime{}, false
}

func (h Host) target(s spec.Service) target {
	t := target{service: s.Name, url: strings.TrimSuffix(s.URL, "/"), model: s.Model, context: int64(s.Context), apis: s.APIs, pos: s.Pos}
	if s.Kind != "external" {
		t.runs = reconcile.Address("service:" + s.Scope + "/" + s.Name)
	}
	if t.url == "" {
		t.url = "http://127.0.0.1:" + strconv.Itoa(s.Port) + "/v1"
	}
	if t.model == "" && len(s.Models) > 0 {
		t.model = s.Models[0]
	}
	if i := slices.IndexFunc(h.Models, func(m spec.Model) bool { return m.ID == t.model }); i >= 0 && s.Kind != "external" {
		t.context = s.ContextOf(h.Spec, t.model, h.Models[i])
	}
	if len(t.apis) == 0 {
		t.apis = allAPIs
	}
	return t
}

// connect points a program at a server by its own configuration in user scope.
func (h Host) connect(b *builder, use spec.RuntimeUse, rt spec.Runtime, t target, origin []reconcile.Position) {
	driver := rt
	if d, ok := find(h.Runtimes, use.CLI); ok {
		driver = d
	}
	if len(driver.APIs) > 0 && !slices.ContainsFunc(driver.APIs, func(api string) bool { return slices.Contains(t.apis, api) }) {
		b.fail(from(t.pos), "service %s has the apis %s, and %s needs %s (%s); add it to apis if the service has it, or write endpoint: false for %s",
			t.service, list(t.apis), driver.ID, strings.Join(driver.APIs, " or "), text(origin), use.ID)
		return
	}
	if least := 2 * driver.FirstRequest; t.context > 0 && t.context < least {
		b.note(true, origin, "%s begins with about %d tokens, and %s has room for %d: give it a context of %d or more, or %s will soon forget what it was told",
			driver.ID, driver.FirstRequest, t.service, t.context, least, driver.ID)
	}
	switch {
	case rt.Local:
		h.write(b, use, rt, t, origin)
	case len(rt.User.Endpoint) > 0:
		b.note(false, origin, "%s talks to %s (%s) from now on", rt.ID, t.service, t.url)
		h.write(b, use, rt, t, origin)
	case len(rt.Launch.Endpoint) > 0:
		b.note(false, origin, "%s has no file that could point it at %s: it talks to it where it is started with %s in its environment", rt.ID, t.service, environment(rt.Launch.Endpoint, t))
	default:
		b.cannot(endpointOf(use), origin, "%s cannot talk to %s: it takes no server but its own maker's", rt.ID, t.service)
	}
}

// environment lists variables as a shell takes them.
func environment(vars map[string]string, t target) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		words = append(words, name+"="+t.fill(vars[name]))
	}
	return strings.Join(words, " ")
}

// point writes the leaves by which a program finds a server. They wait for it:
// where it cannot be started, the program is not pointed there.
func (h Host) point(b *builder, rt spec.Runtime, t target, origin []reconcile.Position) {
	for _, ref := range rt.User.Endpoint {
		value, ok, err := t.fillJSON(ref.JSON)
		if err != nil {
			b.fail(origin, "adapter: %s %s: %w", ref.Path, ref.Pointer, err)
			continue
		}
		if !ok {
			continue
		}
		ref.JSON = value
		b.reference(ref, origin, rt.ID)
		b.waits(fileAt(ref.Path), t.runs)
	}
}

// fill puts what is known of a server into text. {url} is without /v1.
func (t target) fill(s string) string {
	return strings.NewReplacer("{url}", strings.TrimSuffix(t.url, "/v1"), "{model}", t.model, "{name}", t.service, "{key}", "none",
		"{context}", strconv.FormatInt(t.context, 10), "{output}", strconv.FormatInt(t.output(), 10)).Replace(s)
}

func (t target) output() int64 { return min(maxOutput, t.context/4) }

// fillJSON does the same in a JSON value, names included. What is nothing but
// {context} or {output} becomes a number; where the context is not known, what
// holds it is left out, and ok is false if that is the whole value.
func (t target) fillJSON(value []byte) (filled []byte, ok bool, err error) {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return nil, false, err
	}
	if v, ok = t.filled(v); !ok {
		return nil, false, nil
	}
	return render.JSON(v), true, nil
}

func (t target) filled(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		switch {
		case v != "{context}" && v != "{output}":
			return t.fill(v), true
		case t.context == 0:
			return nil, false
		case v == "{context}":
			return t.context, true
		}
		return t.output(), true
	case []any:
		out := []any{}
		for _, e := range v {
			if e, ok := t.filled(e); ok {
				out = append(out, e)
			}
		}
		return out, true
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			if e, ok := t.filled(e); ok {
				out[t.fill(name)] = e
			}
		}
		return out, len(out) > 0 || len(v) == 0
	}
	return v, true
}

// drive writes the configuration of the program that drives a generic runtime,
// in the runtime's own folder: the program is pointed there when it is launched
// as that runtime, and keeps its own configuration otherwise.
func (h Host) drive(b *builder, use spec.RuntimeUse, rt spec.Runtime, t target, origin []reconcile.Position) {
	switch use.CLI {
	case "":
		b.cannot(endpointOf(use), origin, "no program drives %s; name one (cli: \"opencode\" or \"aider\"), or set %s in a program's own configuration by hand", use.ID, t.url)
	case "opencode":
		driver, _ := find(h.Runtimes, use.CLI)
		h.opencode(b, rt, driver, t, origin)
	case "aider":
		name := path.Join(rt.User.Dir, ".aider.conf.yml")
		b.leaf(fileAt(name), "", reconcile.Leaf{Body: file.Whole(h.aider(b, rt, t), 0o644), Origin: origin}, rt.ID)
		b.waits(fileAt(name), t.runs)
		b.note(false, origin, "aider reads a project's AGENTS.md only where it is told to: start it with --read AGENTS.md")
	default:
		b.cannot(endpointOf(use), origin, "%s is not driven by %s; use cli: \"opencode\" or \"aider\", or name %s itself among the runtimes, with endpoint: true", use.ID, use.CLI, use.CLI)
	}
}

// maxOutput bounds an answer where the context is large enough for one.
const maxOutput = 4096

// opencode writes what points that program at a server, in a file of rt's own.
func (h Host) opencode(b *builder, rt, driver spec.Runtime, t target, origin []reconcile.Position) {
	name := path.Join(rt.User.Dir, "opencode.json")
	set := func(pointer, value string) spec.Reference {
		return spec.Reference{Path: name, Format: "json", Pointer: pointer, JSON: []byte(value)}
	}
	leaves := []spec.Reference{set("/autoupdate", "false"), set("/share", `"disabled"`)}
	for _, ref := range slices.Concat(driver.User.Always, driver.User.Endpoint) {
		if path.Base(ref.Path) == path.Base(name) {
			ref.Path = name
			leaves = append(leaves, ref)
		}
	}
	if index := rt.User.RulesIndex; len(b.index[index]) > 0 {
		leaves = append(leaves, set("/instructions/-", strconv.Quote(index)))
	}
	rt.User.Endpoint = leaves
	h.point(b, rt, t, origin)
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
