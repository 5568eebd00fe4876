package packages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// Servers returns list with the path of its program as the command of each
// server whose package aisync installs for home.
func Servers(home fsys.LogicalPath, list []spec.MCPServer) []spec.MCPServer {
	out := slices.Clone(list)
	for i, m := range out {
		if m.Install != nil {
			out[i].Command = string(home.Join(NpmPrefix, "bin", m.Command))
		}
	}
	return out
}

// server declares the package of an MCP server, in its exact version and with
// the pinned digest.
func (h Host) server(ctx context.Context, d *Declared, m spec.MCPServer) error {
	in := m.Install
	a := Address(npm.name, in.Package)
	w := request{want: exactly(in.Version)}
	integrity, left, err := h.PinIntegrity(ctx, npm.name, in.Package, in.Version, in.Pos)
	if err != nil {
		return err
	}
	w.integrity = integrity
	reason := "its digest is pinned in aisync.lock"
	switch {
	case left != nil:
		w.unknown = left.Error()
	case integrity == "":
		reason = "no digest is known; " + advice.ApplyPins
	}
	d.declare(a, w, reason, in.Pos)
	h.runsOnNode(d, fmt.Sprintf("MCP server %s (%s)", m.Name, in.Package), in.Package, in.Version, "", in.Pos)
	if in.Node == "" {
		return nil
	}
	return h.node(ctx, d, fmt.Sprintf("MCP server %q", m.Name), in)
}

// Release is what npm's registry says of one version of a package.
type Release struct {
	Version    string            `json:"-"`
	Node       string            `json:"node,omitempty"` // the range of Node that it needs; "": any
	Programs   map[string]string `json:"programs"`       // by name, the file that each is
	Integrity  string            `json:"integrity"`
	Deprecated string            `json:"deprecated,omitempty"` // the publisher's reason
}

// ErrNoNPM means that npm is not in PATH.
var ErrNoNPM = errors.New("npm is not in PATH")

// ValidName reports whether aisync installs a package of that name.
func ValidName(name string) bool { return nameForm.MatchString(name) }

// Release asks npm's registry about one version of a package. The error wraps
// reconcile.ErrOffline where the network must not be used, or ErrNoNPM.
func (p Provider) Release(ctx context.Context, r reconcile.ReadEnv, name, version string) (Release, error) {
	at, err := p.at(r)
	switch {
	case err != nil:
		return Release{}, err
	case at.Offline:
		return Release{}, fmt.Errorf("ask npm for %s: %w", name, reconcile.ErrOffline)
	case !at.has(ctx, npm.program):
		return Release{}, fmt.Errorf("ask for %s: %w", name, ErrNoNPM)
	}
	at.by = &npm
	got, err := npmView(ctx, at, name, version)
	if err != nil {
		return Release{}, err
	}
	if got.Version != version || got.Integrity == "" {
		return Release{}, fmt.Errorf("npm's registry answered with version %q and no digest of it when asked for %s@%s", got.Version, name, version)
	}
	return got.release(name), nil
}

// Program is the program that npx would start of the package name: the one with
// the name of the package, or the only one; "" if there is none.
func (r Release) Program(name string) string {
	if r.Programs[path.Base(name)] != "" {
		return path.Base(name)
	}
	files := slices.Compact(slices.Sorted(maps.Values(r.Programs)))
	if len(files) != 1 {
		return ""
	}
	return slices.Sorted(maps.Keys(r.Programs))[0]
}

// otherIntegrity is the error of a package whose tarball is not the pinned one;
// want is "" if none is pinned. npm itself holds the tarball against the digest
// that the registry names, and keeps no note of it for a global prefix, so that
// the registry's word is compared before each installation.
func otherIntegrity(name, version, got, want string) error {
	if want == "" || got == want {
		return nil
	}
	return advice.New(fmt.Errorf("the registry has another %s %s than the one that aisync.lock pins: want %s, got %q", name, version, want, got),
		advice.UpdatePackage(shellquote.Terminal(name)))
}
