package fleet

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"aisync.dev/aisync/app/clone"
	"aisync.dev/aisync/app/fleet"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/programage"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/versions"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// specOf adds the repository of the host's spec to r, if it lies in one.
func specOf(ctx context.Context, a *cli.App, m *stack.Machine, r *fleet.Report) {
	p := m.Places
	c, err := clone.Open(ctx, p.Config, clone.Options{Env: a.Env.List(), Named: p.Configured, Chown: p.Chown, UID: p.UID, GID: p.GID})
	if err != nil {
		return
	}
	if last, err := c.Last(ctx); err == nil {
		r.Spec.Commit, r.Spec.Date = last.ID, last.Date.UTC().Format(time.RFC3339)
	}
	if edits, err := c.Edits(ctx); err == nil {
		r.Spec.Edits = len(edits)
	}
}

// ofView adds what the spec and the lock of the host say to r.
func ofView(v *stack.View, r *fleet.Report, clean func(string) string) {
	r.Spec.Digest = v.Spec.Digest
	for _, p := range v.HostLock.Lock.Pins() {
		at := cmp.Or(p.Values["commit"], p.Values["manifest"], p.Values["tree"], p.Values["version"], p.Values["sha256"], p.Values["quant"], p.Values["digest"])
		if p.Kind != "aisync" {
			r.Pins = append(r.Pins, fleet.Pin{Kind: p.Kind, Name: clean(p.Name), At: at})
		}
	}
	h := v.Spec.Host
	if h == nil {
		return
	}
	r.Host = h.Name
	for _, b := range h.Bases {
		base := fleet.Base{Name: clean(b.Name)}
		if known, ok := v.HostLock.Lock.Pin(pin.KindBase, b.Name, ""); ok {
			base.Pin = cmp.Or(known.Values["commit"], known.Values["manifest"], known.Values["tree"])
		}
		r.Bases = append(r.Bases, base)
	}
	f, err := v.Facts()
	if err != nil {
		return
	}
	for _, u := range h.Runtimes {
		if rt, ok := v.Catalog.Runtime(u.ID); ok && rt.Command != "" {
			r.Runtimes = append(r.Runtimes, runtimeOf(v, u, rt, f.Programs[rt.Command]))
		}
	}
}

// runtimeOf compares the program at a path with what the spec asks for, and with what
// aisync writes for.
func runtimeOf(v *stack.View, u spec.RuntimeUse, rt spec.Runtime, at string) fleet.Runtime {
	out := fleet.Runtime{ID: u.ID, State: fleet.Missing}
	if u.Install != nil && u.Install.Version != "any" {
		out.Wanted = u.Install.Version
		for _, via := range u.Install.Installers() {
			if known, ok := v.HostLock.Lock.Pin("package", via+"/"+rt.Packages[via], ""); ok && out.Wanted == "" {
				out.Wanted = known.Values["version"]
			}
		}
	}
	if at == "" {
		return out
	}
	age := programage.Of(rt, at, reconcile.Position(u.Pos))
	out.Version, out.State = age.Version, fleet.InRange
	misfits := age.Misfits()
	switch {
	case out.Version == "":
		out.State = fleet.Unknown
	case !fits(out.Version, out.Wanted):
		out.State, out.Why = fleet.Outside, fmt.Sprintf("want %s", out.Wanted)
	case len(misfits) > 0:
		out.State, out.Why = fleet.Outside, strings.Join(misfits, "; ")
	}
	return out
}

// fits reports whether version is what a spec has in install: version.
func fits(version, wanted string) bool {
	if bound, ok := strings.CutPrefix(wanted, ">="); ok {
		return versions.Compare(version, strings.TrimSpace(bound)) >= 0
	}
	return wanted == "" || versions.Compare(version, wanted) == 0
}
