// Package bundles provides the command bundles: what a machine sends to a registry of
// the bundle sources that it uses.
package bundles

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// Command builds the command bundles.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "bundles",
		Short:       "send bundle sources to a registry",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(pushCommand(a))
	return cmd
}

// pushDoc is bundles push --json; see docs/json.md.
type pushDoc struct {
	FormatVersion string      `json:"format_version"`
	Sources       []pushedDoc `json:"sources"`
}

type pushedDoc struct {
	Source   string `json:"source"`
	At       string `json:"at"`
	Manifest string `json:"manifest,omitempty"`
	Sent     int64  `json:"sent_bytes"`
}

func pushCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "push oci://HOST/REPO[:TAG] SOURCE...",
		Short: "send bundle sources to a registry, for other machines",
		Long: `Sends bundle sources to a registry, with the login of docker's configuration.

A SOURCE is a name in the spec, or a folder (with a slash in it). A source of git
or of a registry goes there by its pin in aisync.lock, with its history: other
machines name the repository as a mirror (mirrors in the host's spec), and take
it from there. A folder goes there as it is, with the tag that is named, or
latest: other machines name oci://HOST/REPO:TAG as the source.`,
		Example: `  $ aisync bundles push oci://registry.lan:5000/models rules
  $ aisync bundles push oci://registry.lan:5000/rules:v3 ./rules`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(2, "the repository and the source"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return push(cmd.Context(), a, args[0], args[1:])
		},
	}
}

func push(ctx context.Context, a *cli.App, to string, names []string) error {
	r, err := pin.ParseRepository(to)
	if err != nil {
		return cli.Usagef("%s", termtext.Safe(err.Error()))
	}
	v, err := a.Loaded(ctx, stack.ScopeAll, stack.Look)
	if err != nil {
		return err
	}
	resolver, doc := v.Resolver(pin.Look), pushDoc{cli.ViewVersion, []pushedDoc{}}
	for _, name := range names {
		src, dir, at, err := find(ctx, v, resolver, name)
		if err != nil {
			return err
		}
		p, err := v.Network().PushSource(ctx, r, src, dir, at)
		if err != nil {
			return fmt.Errorf("source %s: %w", name, err)
		}
		doc.Sources = append(doc.Sources, pushedDoc{name, p.At, p.Manifest, p.Sent})
		if !a.Flags.JSON {
			sent := "was there"
			if p.Sent > 0 {
				sent = quantity.Bytes(p.Sent) + " sent"
			}
			a.Printf("%s  %s  %s\n", termtext.Safe(name), termtext.Safe(p.At), sent)
		}
	}
	if a.Flags.JSON {
		return a.WriteJSON(doc)
	}
	return nil
}

// find returns the source that name means, its folder on this machine, and what pins it,
// "" for a folder.
func find(ctx context.Context, v *stack.View, r *pin.Resolver, name string) (src spec.Source, dir, at string, err error) {
	if strings.Contains(name, "/") {
		dir = spec.LocalPath(name, v.Cwd, v.Places.Physical(v.Places.Home))
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return src, "", "", err
		}
		return spec.Source{Name: name, URL: dir}, dir, "", nil
	}
	known := sources(v.Spec)
	i := slices.IndexFunc(known, func(s spec.Source) bool { return s.Name == name })
	if i < 0 {
		var names []string
		for _, s := range known {
			names = append(names, s.Name)
		}
		return src, "", "", advice.New(nearest.Unknown("source", name, names), "a folder has a slash: ./"+name)
	}
	src = known[i]
	if !bundle.Remote(src.URL) {
		return src, spec.LocalPath(src.URL, src.Dir, v.Places.Physical(v.Places.Home)), "", nil
	}
	if dir, at, err = r.Source(ctx, src); err != nil {
		return src, "", "", pin.Advise(fmt.Errorf("source %s: %w", name, err))
	}
	return src, dir, at, nil
}

// sources returns the bundle sources of the host and of the project.
func sources(s *spec.Spec) []spec.Source {
	var out []spec.Source
	if h := s.Host; h != nil {
		for _, b := range h.Bundles {
			out = append(out, bundle.OfHost(b, h.Dir))
		}
	}
	if s.Project != nil {
		out = append(out, s.Project.Sources...)
	}
	return out
}
