// Package newer tells what sources of bundles and MCP servers are pinned to, and what
// their repositories, marketplaces and registries offer now. It writes nothing; to ask
// it dials what the specs name. Call Of, then Asker.Source or Asker.Server.
package newer

import (
	"cmp"
	"slices"
	"time"

	"aisync.dev/aisync/app/mcpserver"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// State is how what is pinned relates to what is offered.
type State string

const (
	Current  State = "current"
	Newer    State = "newer"    // something newer is offered
	Fixed    State = "fixed"    // the spec names a commit or a tag, which does not move
	Unpinned State = "unpinned" // nothing is pinned yet
	Folder   State = "folder"   // read as it is, never pinned
	Unknown  State = "unknown"  // the answer could not be had; Why says the reason
)

// Kinds of what is pinned.
const (
	KindSource = "source"
	KindServer = "mcp"
	KindBase   = pin.KindBase // a spec that the host's extends
)

// Pinned is a source or a server of a spec.
type Pinned struct {
	Kind   string
	Name   string
	Scope  string // "host", "project"
	Source spec.Source
	Server spec.MCPServer
	From   mcpserver.Source // of a server
	Lock   *pin.File        // that pins a source
}

// Pos is the place of p in its spec.
func (p *Pinned) Pos() spec.Position {
	if p.Kind == KindServer {
		return p.Server.Pos
	}
	return p.Source.Pos
}

// Row is what is known of one of them.
type Row struct {
	Kind       string     `json:"kind"`
	Name       string     `json:"name"`
	Scope      string     `json:"scope"`
	Address    string     `json:"address"`
	From       string     `json:"from,omitempty"` // PLUGIN@MARKETPLACE
	State      State      `json:"state"`
	Pin        string     `json:"pin"`                   // a commit, a digest of files, a version; "": none
	PinnedDate *time.Time `json:"pinned_date,omitempty"` // when the commit was made, where that is known
	Newest     string     `json:"newest"`                // as Pin; "" where it is not known
	NewestName string     `json:"newest_name,omitempty"` // the branch or tag that it is

	NewestAddress string `json:"newest_address,omitempty"` // where its marketplace has it now, if that is elsewhere

	Note string `json:"note,omitempty"`
	Why  string `json:"why,omitempty"` // why the state is unknown
	At   string `json:"at"`            // the line of the spec

	Err error `json:"-"` // of an unknown state
}

// Of returns the sources and the servers of registries that the specs of a host and of
// a project name, each of which may be nil.
func Of(host *spec.Host, project *spec.Project, hostLock, projectLock *pin.File) []*Pinned {
	var out []*Pinned
	if host != nil {
		for _, b := range host.Bases {
			out = append(out, &Pinned{Kind: KindBase, Name: b.Name, Scope: "host", Source: b, Lock: hostLock})
		}
		for _, b := range host.Bundles {
			out = append(out, &Pinned{Kind: KindSource, Name: b.Name, Scope: "host", Source: bundle.OfHost(b, host.Dir), Lock: hostLock})
		}
		out = append(out, servers("host", host.MCP)...)
	}
	if project != nil {
		for _, s := range project.Sources {
			if !slices.ContainsFunc(out, func(p *Pinned) bool { return p.Scope == "project" && p.Name == s.Name }) { // a nested spec may repeat it
				out = append(out, &Pinned{Kind: KindSource, Name: s.Name, Scope: "project", Source: s, Lock: projectLock})
			}
		}
		out = append(out, servers("project", project.MCP)...)
	}
	return out
}

func servers(scope string, list []spec.MCPServer) []*Pinned {
	var out []*Pinned
	for _, m := range list {
		if from, err := mcpserver.ParseSource(m.From); m.From != "" && err == nil {
			out = append(out, &Pinned{Kind: KindServer, Name: m.Name, Scope: scope, Server: m, From: from})
		}
	}
	return out
}

// Row returns what is known of p without asking.
func (p *Pinned) Row() *Row {
	r := &Row{Kind: p.Kind, Name: p.Name, Scope: p.Scope, At: p.Pos().String()}
	if p.Kind == KindServer {
		r.Address, r.Pin = p.Server.From, p.From.Version
		return r
	}
	r.Address, r.From = bundle.ShortAddress(p.Source.URL), p.Source.From
	if known, ok := p.Lock.Lock.Pin(pin.KindOf(p.Source), p.Name, ""); ok && known.Values["url"] == p.Source.URL {
		r.Pin = cmp.Or(known.Values["commit"], known.Values["manifest"], known.Values["tree"])
	}
	return r
}

// failed is r with the reason why its state is unknown.
func (r *Row) failed(err error) *Row {
	r.State, r.Why, r.Err = Unknown, err.Error(), err
	return r
}

// Failed is the row of p that could not be asked.
func (p *Pinned) Failed(err error) *Row { return p.Row().failed(err) }
