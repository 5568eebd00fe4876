// Package bundlepolicy finds what bundles bring that the policies of specs forbid: hooks,
// git hooks and MCP servers; and what settings bring. It reads sources that are on this
// machine and writes nothing. Call Check and Settings.
package bundlepolicy

import (
	"context"
	"errors"
	"fmt"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/items"
	"aisync.dev/aisync/internal/bundle/yield"
	"aisync.dev/aisync/schema/policy"
	"aisync.dev/aisync/schema/problem"
	"aisync.dev/aisync/schema/spec"
)

// Check returns an error for each hook and server that the specs of y take of their
// sources and limits forbid, at the line that names the source.
func Check(ctx context.Context, limits []spec.Limits, y yield.Spec) error {
	if len(limits) == 0 {
		return nil
	}
	var errs []error
	if h := y.Host; h != nil {
		of := yield.Spec{Host: h, Runtimes: y.Runtimes, Sources: y.Sources}
		for _, b := range h.Bundles {
			errs = append(errs, source(ctx, policy.OfHost(limits), of, bundle.OfHost(b, h.Dir), "hosts."+h.Name+".bundles."+b.Name))
		}
	}
	for _, one := range y.Project.Layers() {
		of := yield.Spec{Project: one, Runtimes: y.Runtimes, Sources: y.Sources}
		for _, s := range one.Sources {
			errs = append(errs, source(ctx, limits, of, s, "project.sources."+s.Name))
		}
	}
	return errors.Join(errs...)
}

// source checks what the spec of y takes of one source.
func source(ctx context.Context, limits []spec.Limits, y yield.Spec, src spec.Source, path string) error {
	parts, tree, err := y.Taken(ctx, src.Name)
	if err != nil {
		return nil // it is not here, or what declares it says what is wrong
	}
	if src.Pick.Whole() && tree != nil { // a program loads all of it by itself
		if all, err := tree.Top(); err == nil {
			parts = append(parts, all)
		}
	}
	var errs []error
	refuse := func(message, hint string) {
		if message != "" {
			errs = append(errs, problem.Problem{Pos: src.Pos, Path: path, Message: message, Hint: hint})
		}
	}
	for _, i := range items.Of(parts...) {
		switch i.Kind {
		case "hook", "git hook", "hook program":
			if len(errs) == 0 {
				refuse(policy.Hooks(limits, fmt.Sprintf("%s %s of source %q", i.Kind, i.Name, bundle.ShortAddress(src.URL)), src.URL))
			}
		case "MCP server":
			refuse(policy.Server(limits, i.Alone.Neutral.Servers[0]))
		}
	}
	return errors.Join(errs...)
}
