// Package update provides the commands about what is pinned: outdated, update and
// show source.
package update

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/mcpserver"
	"aisync.dev/aisync/app/newer"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/edit"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/yield"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// specsOf returns the specs of the owners that take part; one may be nil.
func specsOf(w *stack.View) (*spec.Host, *spec.Project) {
	host, project := w.Spec.Host, w.Spec.Project
	if !w.Has(reconcile.HostOwner) {
		host = nil
	}
	if w.Places.Project == "" || !w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		project = nil
	}
	return host, project
}

// unknownName begins the error of a name that no spec has.
const unknownName = "no source and no server of a registry is called"

// pinnedOf returns what the specs pin, and of that what names names; all without one.
func pinnedOf(w *stack.View, names []string) ([]*newer.Pinned, error) {
	host, project := specsOf(w)
	all := newer.Of(host, project, w.HostLock, w.ProjectLock)
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, p := range all {
		known = append(known, p.Name)
		if p.Kind == newer.KindBase {
			known = append(known, p.Kind)
		}
	}
	var out []*newer.Pinned
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf(unknownName+" %q in the spec%s", termtext.Safe(name), nearest.Suggest(name, known))
		}
	}
	for _, p := range all {
		if slices.Contains(names, p.Name) || p.Kind == newer.KindBase && slices.Contains(names, p.Kind) {
			out = append(out, p)
		}
	}
	return out, nil
}

// completePinned completes the names of what the specs pin.
func completePinned(a *cli.App, kinds ...string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		w, err := a.Loaded(cmd.Context(), stack.ScopeAll, stack.Look)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		all, _ := pinnedOf(w, nil) // cannot fail without names
		for _, p := range all {
			if slices.Contains(kinds, p.Kind) {
				out = append(out, p.Name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// askerOf returns what asks for what is newer.
func askerOf(w *stack.View, r *pin.Resolver) *newer.Asker {
	return &newer.Asker{Network: r.Network, Cache: r.Cache, Home: w.Places.Physical(w.Places.Home), Sources: func(scope string) []spec.Source {
		host, project := specsOf(w)
		var out []spec.Source
		if scope == "project" && project != nil {
			return project.Sources
		}
		if scope == "host" && host != nil {
			for _, b := range host.Bundles {
				out = append(out, bundle.OfHost(b, host.Dir))
			}
		}
		return out
	}}
}

// registryFor returns the registry that p came from. A project is input from
// strangers: a registry that it names, and the person does not, is not asked.
func registryFor(a *cli.App, w *stack.View, p *newer.Pinned, address string) (mcpserver.Registry, error) {
	if p.Scope == "project" && p.From.Registry != "" && p.From.Registry != edit.NamedRegistry(a, address) {
		return mcpserver.Registry{}, advice.New(fmt.Errorf("it came from the registry %s, which the project names and not you", termtext.Safe(p.From.Registry)),
			"--registry "+shellquote.Terminal(p.From.Registry))
	}
	registry, _ := edit.RegistryOf(a, w.Places, p.From, address)
	return registry, nil
}

// takenBy returns the parts that the spec of p takes of the source, which resolve
// finds.
func takenBy(ctx context.Context, w *stack.View, p *newer.Pinned, resolve func(context.Context, spec.Source) (string, string, error)) (yield.Spec, []*bundle.Part, *bundle.Tree, error) {
	y := yield.Spec{Runtimes: w.Catalog.Runtimes(), Sources: &bundle.Sources{Home: w.Places.Physical(w.Places.Home), Resolve: resolve, Instead: w.Instead}}
	if p.Scope == "host" {
		y.Host = w.Spec.Host
	} else {
		y.Project = w.Spec.Project
	}
	parts, tree, err := y.Taken(ctx, p.Name)
	return y, parts, tree, err
}
