package schema

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/spec"
)

// Checks that CUE cannot express, or not in words for people: references,
// uniqueness, fields that one kind requires and another forbids.

func ids[T any](list []T, id func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = id(v)
	}
	return out
}

func runtimeIDs(x catalog.Index) []string {
	return ids(x.Runtimes(), func(r spec.Runtime) string { return r.ID })
}

// checkCatalog refuses own entries that shadow an embedded one.
func checkCatalog(n node, own spec.Catalog) {
	embedded := catalog.With(spec.Catalog{})
	for _, r := range own.Runtimes {
		if e, ok := embedded.Runtime(r.ID); ok {
			r.Pos, e.Pos = spec.Position{}, spec.Position{}
			if !reflect.DeepEqual(r, e) {
				n.get("runtimes").get(r.ID).taken("runtime")
			}
		}
	}
	for _, m := range own.Models {
		if e, ok := embedded.Model(m.ID); ok {
			m.Pos, e.Pos = spec.Position{}, spec.Position{}
			if !reflect.DeepEqual(m, e) {
				n.get("models").get(m.ID).taken("model")
			}
		}
	}
}

func (n node) taken(kind string) {
	n.doc.add(Problem{
		Pos: n.labelPos(), Path: pathText(n.path),
		Message: fmt.Sprintf("%s %q exists in the embedded catalog, and this one differs", kind, n.name()),
		Hint:    "give yours another id",
	})
}

// noPackage reports a runtime that an installer does not have.
func (n node) noPackage(rt spec.Runtime, via string) {
	if len(rt.Packages) == 0 {
		n.problem(fmt.Sprintf("no installer has %s", rt.ID), "leave out install, and install it by hand")
		return
	}
	known := slices.Sorted(maps.Keys(rt.Packages))
	n.problem(fmt.Sprintf("the catalog knows no %s package of %s", via, rt.ID), "want one of "+strings.Join(known, ", "))
}

// unknown reports that n names nothing known.
func (n node) unknown(kind, got string, known []string) {
	n.problem(fmt.Sprintf("unknown %s %q", kind, got), nearest.Hint(got, known))
}

// checkExperimental refuses a runtime that is known from documentation alone, unless
// the spec allows such.
func (x inventory) checkExperimental(n node, pos spec.Position, id string, allowed bool) {
	if rt, ok := x.Runtime(id); ok && rt.Experimental && !allowed {
		n.doc.add(Problem{
			Pos: pos, Path: pathText(n.path), Message: fmt.Sprintf("runtime %q is known from its documentation alone: aisync was never tried with it", id),
			Hint: "write experimental: true beside runtimes, and look at what it makes of the files",
		})
	}
}

func checkHost(n node, h *spec.Host, x inventory) {
	checkMatch(n.get("match"), h.Match)
	for _, u := range h.Runtimes {
		at := n.get("runtimes").get(u.ID)
		if !x.runtime(u.ID) {
			x.unknown(at, at.labelPos(), u.ID)
		}
		x.checkExperimental(at, at.labelPos(), u.ID, h.Experimental)
		if rt, ok := x.Runtime(u.ID); ok && u.Install != nil {
			for _, via := range u.Install.Installers() {
				if rt.Packages[via] == "" {
					at.get("install").get("via").noPackage(rt, via)
				}
			}
		}
		checkInstall(at.get("install"), u.Install)
		x.checkLaunch(at, u)
		if u.CLI == "" {
			continue
		}
		if !x.runtime(u.CLI) {
			x.unknown(at.get("cli"), at.get("cli").valuePos(), u.CLI)
		}
	}
	uses := ids(h.Runtimes, func(u spec.RuntimeUse) string { return u.ID })
	if h.Default != "" && !slices.Contains(uses, h.Default) {
		n.get("default").problem(fmt.Sprintf("default %q is not among the host's runtimes", h.Default), nearest.Hint(h.Default, uses))
	}
	for _, s := range h.Settings {
		if !x.runtime(s.Runtime) {
			at := n.get("settings").get(s.Runtime)
			x.unknown(at, at.labelPos(), s.Runtime)
		}
	}
	x.checkBudgets(n.get("context"), h.Context)
	x.checkServers(n.get("mcp"), h.MCP)
	x.checkPicks(n.get("bundles"))
	if climbs(h.Store.Value) {
		n.get("store").problem("a store's path holds no ..", "")
	}
	checkModels(n.get("models"), h, x.Index)
	checkServices(n, h)
}

// unknownLabel is unknown for an object that is named by its field.
func (n node) unknownLabel(kind string, known []string) {
	n.doc.add(Problem{Pos: n.labelPos(), Path: pathText(n.path), Message: fmt.Sprintf("unknown %s %q", kind, n.name()), Hint: nearest.Hint(n.name(), known)})
}

func checkMatch(n node, m spec.Match) {
	for name, re := range map[string]string{"cpu": m.CPU, "product": m.Product} {
		if _, err := regexp.Compile(re); err != nil {
			n.get(name).problem("bad regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "see https://golang.org/s/re2syntax")
		}
	}
}

func checkModels(n node, h *spec.Host, x catalog.Index) {
	known := ids(x.Models(), func(m spec.Model) string { return m.ID })
	for _, u := range h.Models {
		m, ok := x.Model(u.ID)
		if !ok {
			n.get(u.ID).unknownLabel("model", known)
			continue
		}
		for _, field := range []string{"mmproj", "draft"} {
			at := n.get(u.ID).get(field)
			others := slices.DeleteFunc(ids(h.Models, func(o spec.ModelUse) string { return o.ID }), func(id string) bool { return id == u.ID })
			if at.exists() && !slices.Contains(others, at.str()) {
				at.unknown("model of this host", at.str(), others)
			}
		}
		quants := ids(m.Quants, func(q spec.Quant) string { return q.Name })
		switch {
		case u.Quant == "" && len(quants) > 1:
			n.get(u.ID).problem(fmt.Sprintf("model %q has %d quantizations", u.ID, len(quants)), `write quant: "auto", or one of `+strings.Join(quants, ", "))
		case u.Quant != "" && u.Quant != "auto" && !slices.Contains(quants, u.Quant):
			n.get(u.ID).get("quant").unknown("quantization", u.Quant, append(quants, "auto"))
		}
	}
}

func checkServices(n node, h *spec.Host) {
	models := ids(h.Models, func(u spec.ModelUse) string { return u.ID })
	names := ids(h.Services, func(s spec.Service) string { return s.Name })
	taken := map[int]spec.Service{}
	for _, s := range h.Services {
		at := n.get("services").get(s.Name)
		checkService(at, s, models)
		checkInstall(at.get("install"), s.Install)
		if !s.Enabled || s.Port == 0 || s.Kind == "external" {
			continue
		}
		if first, ok := taken[s.Port]; ok {
			at.get("port").problem(fmt.Sprintf("port %d is taken by service %q", s.Port, first.Name), "the other one is at "+first.Pos.String())
			continue
		}
		taken[s.Port] = s
	}
	for _, u := range h.Runtimes {
		at := n.get("runtimes").get(u.ID).get("endpoint")
		switch e := u.Endpoint; {
		case e == nil || !e.On:
		case e.Service == "" && h.Endpoint.Value == "":
			at.problem("the host has no endpoint", `write endpoint: "NAME" beside runtimes, or the name of a service in place of true`)
		case e.Service != "" && !slices.Contains(names, e.Service):
			at.unknown("service", e.Service, names)
		}
	}
	if e := h.Endpoint.Value; e != "" && !slices.Contains(names, e) {
		n.get("endpoint").unknown("service", e, names)
	}
}

// checkService reports missing and unused fields for the service's kind. The
// models of an external service are not checked.
func checkService(n node, s spec.Service, models []string) {
	needs := map[string][]string{"llama-server": map[bool][]string{true: {"port"}, false: {"model", "port"}}[n.get("models").exists()], "llama-swap": {"models", "port"}, "external": {"url"}}
	takes := map[string][]string{
		"llama-server": {"model", "models", "roles", "loaded", "port", "context", "scope", "listen", "apis", "install", "backend", "parallel", "gpuLayers", "chatTemplate", "args", "env", "key"},
		"ollama":       {"models", "roles", "port", "context", "scope", "listen", "apis", "install", "backend", "parallel", "env"},
		"llama-swap":   {"models", "roles", "port", "context", "scope", "listen", "apis", "install", "backend", "parallel", "gpuLayers", "chatTemplate", "args", "env", "key"},
		"external":     {"model", "models", "roles", "url", "apis", "context", "key", "headers"},
	}
	fields, ok := takes[s.Kind]
	if !ok {
		return
	}
	for _, name := range needs[s.Kind] {
		if !n.get(name).exists() {
			n.doc.add(Problem{Pos: n.labelPos(), Path: pathText(n.path), Message: name + " is missing", Hint: "a service of kind " + s.Kind + " needs it"})
		}
	}
	for _, f := range n.fields() {
		if name := f.name(); name != "kind" && name != "enabled" && !slices.Contains(fields, name) && slices.Contains(serviceFields, name) {
			n.doc.add(Problem{Pos: f.labelPos(), Path: pathText(f.path), Message: "a service of kind " + s.Kind + " has no " + name, Hint: "it takes " + strings.Join(fields, ", ")})
		}
	}
	for _, f := range n.get("roles").fields() {
		if !slices.Contains(s.AllModels(), f.str()) {
			f.unknown("model of this service", f.str(), s.AllModels())
		}
	}
	if problem, hint := s.KeyContradiction(); problem != "" {
		n.get("key").problem(problem, hint)
	}
	if s.Kind == "external" {
		return
	}
	checkOverrides(n)
	if s.Model != "" && !slices.Contains(models, s.Model) {
		n.get("model").unknown("model", s.Model, models)
	}
	for _, m := range n.get("models").elements() {
		if !slices.Contains(models, m.str()) {
			m.unknown("model", m.str(), models)
		}
	}
}

var serviceFields = []string{"model", "models", "roles", "loaded", "port", "context", "scope", "listen", "url", "apis", "install", "backend", "parallel", "gpuLayers", "chatTemplate", "args", "env", "key", "headers"}

// overrides are arguments and variables that duplicate a field of a service, or
// that aisync must know: the address above all.
var overrides = map[string]string{
	"-m": "model", "--model": "model", "-a": "model", "--alias": "model", "-hf": "model", "--hf-repo": "model", "-mu": "model", "--model-url": "model",
	"--models-preset": "models", "--models-dir": "models", "--models-max": "loaded",
	"LLAMA_ARG_MODELS_PRESET": "models", "LLAMA_ARG_MODELS_DIR": "models", "LLAMA_ARG_MODELS_MAX": "loaded",
	"--host": "listen", "--port": "port", "-c": "context", "--ctx-size": "context", "-np": "parallel", "--parallel": "parallel",
	"-ngl": "gpuLayers", "--gpu-layers": "gpuLayers", "--n-gpu-layers": "gpuLayers", "--chat-template": "chatTemplate", "--chat-template-file": "chatTemplate",
	"LLAMA_ARG_HOST": "listen", "LLAMA_ARG_PORT": "port", "LLAMA_ARG_MODEL": "model", "OLLAMA_HOST": "listen and port", "OLLAMA_MODELS": "models",
	"OLLAMA_CONTEXT_LENGTH": "context", "OLLAMA_NUM_PARALLEL": "parallel", "OLLAMA_NOPRUNE": "models",
}

// checkOverrides reports arguments and variables that would override a field.
func checkOverrides(n node) {
	const never = "it is derived from other fields"
	for _, a := range n.get("args").elements() {
		flag, _, _ := strings.Cut(a.str(), "=")
		if field, ok := overrides[flag]; ok {
			a.problem(fmt.Sprintf("args may not set %s", flag), never+"; use "+field)
		}
	}
	for _, v := range n.get("env").fields() {
		field, ok := overrides[v.name()]
		switch {
		case ok:
			n.doc.add(Problem{Pos: v.labelPos(), Path: pathText(v.path), Message: "env may not set " + v.name(), Hint: never + "; use " + field})
		case strings.HasPrefix(v.name(), "AISYNC_"):
			n.doc.add(Problem{Pos: v.labelPos(), Path: pathText(v.path), Message: "env may not set " + v.name(), Hint: "names that start with AISYNC_ are reserved"})
		}
	}
	if file := n.get("chatTemplate"); strings.Contains(file.str(), "/") && !strings.HasPrefix(file.str(), "/") && !strings.HasPrefix(file.str(), "~/") {
		file.problem("want a name, or a file that starts with ~/ or /", "a server does not start in the spec's folder")
	}
}

// checkBudgets refuses budgets of runtimes that the catalog does not know.
func (x inventory) checkBudgets(n node, list []spec.ContextBudget) {
	for _, b := range list {
		if at := n.get(b.Runtime); !x.runtime(b.Runtime) {
			x.unknown(at, at.labelPos(), b.Runtime)
		}
	}
}

func checkProject(n node, p *spec.Project, h *spec.Host, x inventory) {
	var uses []string
	for _, e := range n.get("runtimes").elements() {
		id := e.str()
		switch {
		case id == "":
		case !x.runtime(id):
			x.unknown(e, e.valuePos(), id)
		case slices.Contains(uses, id):
			e.problem(fmt.Sprintf("runtime %q is listed twice", id), "")
		default:
			x.checkExperimental(e, e.valuePos(), id, p.Experimental)
		}
		uses = append(uses, id)
	}
	if p.Default != "" && !slices.Contains(uses, p.Default) {
		n.get("default").problem(fmt.Sprintf("default %q is not among the project's runtimes", p.Default), nearest.Hint(p.Default, uses))
	}
	for _, s := range p.Settings {
		if !x.runtime(s.Runtime) {
			at := n.get("settings").get(s.Runtime)
			x.unknown(at, at.labelPos(), s.Runtime)
		}
	}
	x.checkBudgets(n.get("context"), p.Context)
	x.checkServers(n.get("mcp"), p.MCP)
	for _, s := range p.MCP {
		if s.Install != nil {
			n.get("mcp").get(s.Name).get("install").problem("install is for the servers of a host: the files of a project are the same on every machine", s.Started())
		}
	}
	x.checkPicks(n.get("sources"))
	sources := append(ids(p.Sources, func(s spec.Source) string { return s.Name }), spec.OwnSource)
	sources = append(sources, hostSourceNames(h)...)
	n.checkRefs(sources)
	for _, f := range n.get("places").fields() {
		f.checkRefs(sources)
	}
}

// checkPicks refuses unknown runtimes of the sources at n.
func (x inventory) checkPicks(n node) {
	for _, f := range n.fields() {
		for _, e := range f.get("runtimes").elements() {
			if !x.runtime(e.str()) {
				x.unknown(e, e.valuePos(), e.str())
			}
		}
	}
}

func hostSourceNames(h *spec.Host) []string {
	if h == nil {
		return nil
	}
	return ids(h.Bundles, func(b spec.HostBundle) string { return b.Name })
}

// checkRefs refuses bundles and teams of sources that are not among those.
func (n node) checkRefs(sources []string) {
	for _, list := range []string{"bundles", "teams"} {
		for _, e := range n.get(list).elements() {
			ref, err := spec.ParseBundleRef(e.str())
			if err == nil && ref.Source != "" && !slices.Contains(sources, ref.Source) {
				e.unknown("source", ref.Source, sources)
			}
		}
	}
}

// checkInstall allows fields of releases only for releases.
func checkInstall(n node, in *spec.Install) {
	if in == nil || slices.Contains(in.Installers(), "release") {
		return
	}
	for _, field := range []string{"url", "sha256"} {
		if at := n.get(field); at.exists() {
			at.problem(field+" is for the archive of a release, but this is installed with "+in.Via, `via: "release"`)
		}
	}
}
