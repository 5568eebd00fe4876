// Package policy tells what the policies of specs allow, and which specs use what they
// forbid. It is pure. Call Check, and for what bundles bring Limit.Source and
// Limit.Server.
package policy

import (
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/fetch/address"
	"aisync.dev/aisync/schema/problem"
	"aisync.dev/aisync/schema/spec"
)

// kind is one of the lists of a policy.
type kind struct {
	field   string
	of      func(spec.Limits) *spec.Allowed
	covers  func(outer, inner string) bool // whether outer allows all that inner does
	exclude string                         // what an empty list excludes
}

var (
	sources  = kind{"sources", func(l spec.Limits) *spec.Allowed { return l.Sources }, coversSource, "no source"}
	servers  = kind{"mcp", func(l spec.Limits) *spec.Allowed { return l.MCP }, coversServer, "no server"}
	hooks    = kind{"hooks", func(l spec.Limits) *spec.Allowed { return l.Hooks }, coversSource, "no hooks of bundles"}
	runtimes = kind{"runtimes", func(l spec.Limits) *spec.Allowed { return l.Runtimes }, func(outer, inner string) bool { return outer == inner }, "no runtime"}
)

// refuse returns why one of limits forbids something called what, of which allowed
// reports whether an entry allows it; "" if none does.
func (k kind) refuse(limits []spec.Limits, what string, allowed func(entry string) bool) (message, hint string) {
	for _, l := range limits {
		a := k.of(l)
		if a == nil || slices.ContainsFunc(a.List, func(n spec.Named) bool { return allowed(n.Value) }) {
			continue
		}
		return fmt.Sprintf("%s is not allowed: the policy of %s (%s) allows %s", what, l.By, a.Pos, k.allows(a)),
			"take it out; or have " + k.field + " there name it"
	}
	return "", ""
}

func (k kind) allows(a *spec.Allowed) string {
	if len(a.List) == 0 {
		return k.exclude
	}
	var names []string
	for _, n := range a.List {
		names = append(names, n.Value)
	}
	return strings.Join(names, ", ")
}

// OfHost are the limits that hold for a host: a project has no say in what is outside
// of it.
func OfHost(limits []spec.Limits) []spec.Limits {
	return slices.DeleteFunc(slices.Clone(limits), func(l spec.Limits) bool { return l.By == Project })
}

// Check returns what of a host and of a project limits forbid, and the policies that
// allow more than those that they extend, or nothing together. Both may be nil.
func Check(all []spec.Limits, h *spec.Host, p *spec.Project) []problem.Problem {
	out, limits := contradictions(all), OfHost(all)
	add := func(pos spec.Position, path string, message, hint string) {
		if message != "" {
			out = append(out, problem.Problem{Pos: pos, Path: path, Message: message, Hint: hint})
		}
	}
	runtime := func(pos spec.Position, path, id string) {
		message, hint := runtimes.refuse(limits, fmt.Sprintf("runtime %q", id), func(e string) bool { return e == id })
		add(pos, path, message, hint)
	}
	server := func(path string, list []spec.MCPServer) {
		for _, s := range list {
			message, hint := Server(limits, s)
			add(s.Pos, path+".mcp."+s.Name, message, hint)
		}
	}
	source := func(pos spec.Position, path, url string) {
		message, hint := Source(limits, url)
		add(pos, path, message, hint)
	}
	if h != nil && !h.Builtin {
		at := "hosts." + h.Name
		for _, u := range h.Runtimes {
			runtime(u.Pos, at+".runtimes."+u.ID, u.ID)
			if u.CLI != "" {
				runtime(u.Pos, at+".runtimes."+u.ID+".cli", u.CLI)
			}
		}
		for _, b := range h.Bundles {
			source(b.Pos, at+".bundles."+b.Name, b.Source)
		}
		server(at, h.MCP)
	}
	limits = all
	for _, p := range p.Layers() {
		for _, r := range p.Runtimes {
			runtime(r.Pos, "project.runtimes", r.Value)
		}
		for _, s := range p.Sources {
			source(s.Pos, "project.sources."+s.Name, s.URL)
		}
		server("project", p.MCP)
	}
	return out
}

// Source returns why limits forbid the bundle source at url, and what to do; "" if they
// do not. A folder of the spec's own is part of the spec.
func Source(limits []spec.Limits, url string) (message, hint string) {
	if ownFolder(url) {
		return "", ""
	}
	return sources.refuse(limits, fmt.Sprintf("source %q", address.Short(url)), func(e string) bool { return coversSource(e, url) })
}

// Hooks returns why limits forbid the hooks of a bundle source at url, and what to do.
func Hooks(limits []spec.Limits, what, url string) (message, hint string) {
	message, hint = hooks.refuse(limits, what, func(e string) bool { return coversSource(e, url) })
	return message, strings.Replace(hint, "take it out;", `take of it what has no hooks, as in skills: ["NAME"];`, 1)
}

// Server returns why limits forbid a server, and what to do.
func Server(limits []spec.Limits, s spec.MCPServer) (message, hint string) {
	does, line := "", strings.Join(append([]string{s.Command}, s.Args...), " ")
	if does = "runs " + line; s.URL != "" {
		does = "is at " + s.URL
	}
	return servers.refuse(limits, fmt.Sprintf("server %q, which %s,", s.Name, does), func(e string) bool { return allowsServer(e, s) })
}

// contradictions returns the entries of policies that the ones behind them, which they
// tighten, do not allow; and of a project's policy only that nothing is left.
func contradictions(limits []spec.Limits) []problem.Problem {
	var out []problem.Problem
	for i, inner := range limits {
		for _, outer := range limits[i+1:] {
			for _, k := range []kind{sources, servers, hooks, runtimes} {
				in, is := k.of(inner), k.of(outer)
				if in == nil || is == nil {
					continue
				}
				if outer.By == Project {
					if p := k.nothingLeft(outer, inner); p != nil {
						out = append(out, *p)
					}
					continue
				}
				for n, e := range in.List {
					if !slices.ContainsFunc(is.List, func(o spec.Named) bool { return k.covers(o.Value, e.Value) }) {
						out = append(out, problem.Problem{
							Pos: e.Pos, Path: fmt.Sprintf("policy.%s.%d", k.field, n),
							Message: fmt.Sprintf("%q is not allowed by the policy of %s (%s), which allows %s", e.Value, outer.By, is.Pos, k.allows(is)),
							Hint:    "leave it out: a policy can only tighten the one that it extends",
						})
					}
				}
			}
		}
	}
	return out
}

// Project is the By of the policy of a project.
const Project = "the project"

// nothingLeft reports that the policies of a project and of a host's spec have nothing
// in common.
func (k kind) nothingLeft(project, host spec.Limits) *problem.Problem {
	in, is := k.of(project), k.of(host)
	for _, a := range in.List {
		for _, b := range is.List {
			if k.covers(a.Value, b.Value) || k.covers(b.Value, a.Value) {
				return nil
			}
		}
	}
	if len(in.List) == 0 || len(is.List) == 0 {
		return nil // one of them says so in so many words
	}
	return &problem.Problem{
		Pos: in.Pos, Path: "project.policy." + k.field,
		Message: fmt.Sprintf("the policies of the project and of %s (%s) leave nothing: one allows %s, the other %s", host.By, is.Pos, k.allows(in), k.allows(is)),
		Hint:    "agree on one of them",
	}
}
