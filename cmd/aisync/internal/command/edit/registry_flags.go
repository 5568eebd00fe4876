package edit

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/mcpserver"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// registryFlags are the flags of a server that a registry describes.
type registryFlags struct {
	registry, kind, as string
	args               []string
	noInstall          bool
}

func (r *registryFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	RegisterRegistry(cmd, &r.registry)
	fl.StringVar(&r.kind, "package", "", "`KIND` of package of a registry's server: npm, pypi, oci, nuget, or http, sse for its remote servers (default: the first that fits)")
	fl.StringVar(&r.as, "as", "", "`NAME` of a registry's server in the spec (default: the last part of its name)")
	fl.StringArrayVar(&r.args, "arg", nil, "`NAME=VALUE` of an argument that a registry's server asks for; may be repeated")
	fl.BoolVar(&r.noInstall, "no-install", false, "leave the package of a registry's server to what starts it, in a host's spec too")
	_ = cmd.Flags().SetAnnotation("package", cli.Choices, packageKinds) // cannot fail: the flag exists
}

var packageKinds = []string{"npm", "pypi", "oci", "nuget", "http", "sse"}

// RegisterRegistry adds the flag that names the registry.
func RegisterRegistry(cmd *cobra.Command, address *string) {
	cmd.Flags().StringVar(address, "registry", "", "`URL` of the MCP registry (default: AISYNC_MCP_REGISTRY, else the official one)")
}

// none refuses the flags for a server that no registry describes.
func (r *registryFlags) none(cmd *cobra.Command) error {
	for _, name := range []string{"registry", "package", "as", "arg", "no-install"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s is for servers of a registry, which are named NAMESPACE/NAME", name)
		}
	}
	return nil
}

// NamedRegistry is the address of the registry that the person names; "" is the
// official one.
func NamedRegistry(a *cli.App, address string) string {
	return strings.TrimRight(cmp.Or(address, a.Env.Get("AISYNC_MCP_REGISTRY")), "/")
}

// RegistryOf returns the registry that src or the flag address names, and src
// with it.
func RegistryOf(a *cli.App, p place.Places, src mcpserver.Source, address string) (mcpserver.Registry, mcpserver.Source) {
	src.Registry = strings.TrimRight(cmp.Or(src.Registry, NamedRegistry(a, address)), "/")
	n := &pin.Network{Getenv: a.Env.Get, Home: p.Physical(p.Home), UserAgent: "aisync/" + cli.VersionText(), Offline: a.Flags.Offline}
	return mcpserver.Registry{Client: n.MCPRegistry(src.Registry), Folder: filepath.Join(p.Physical(p.Cache), "mcp"), Image: n.ImageDigest, NPM: a.Machine(p).NPMRelease}, src
}

// add adds the server that a registry calls name; typed is what the other flags
// say of it.
func (r *registryFlags) add(ctx context.Context, a *cli.App, name string, typed spec.MCPServer, f EditFlags) error {
	if typed.Command != "" || typed.URL != "" || typed.SSE {
		return cli.Usagef("add mcp: a registry says how its server is started or reached; take a name without a slash for a server of your own")
	}
	src, err := mcpserver.ParseSource(name)
	if err != nil {
		return err
	}
	ask := mcpserver.Ask{Package: r.kind, Values: map[string][]string{}, Env: typed.Env, Headers: typed.Headers}
	for _, s := range r.args {
		name, value, err := assignment("arg", s)
		if err != nil {
			return err
		}
		ask.Values[name] = append(ask.Values[name], value)
	}
	return changeSpec(ctx, a, KindOf("mcp"), f, func(e *Editing) error {
		registry, src := RegistryOf(a, e.Places, src, r.registry)
		answer, err := registry.Get(ctx, src)
		if err != nil {
			return err
		}
		ask.Digest = func(image string) (string, error) { return registry.Digest(ctx, image) }
		entry, err := answer.Entry(ask)
		if err != nil {
			return err
		}
		if e.Scope == stack.ScopeHost && !r.noInstall {
			if entry, err = registry.Install(ctx, &answer, entry); err != nil {
				return err
			}
		}
		if err := refuseSecrets(answer.Name, entry.Server.Args, entry.Server.URL); err != nil {
			return err
		}
		server := typed
		server.From, server.Name = answer.Source.String(), cmp.Or(r.as, entry.Server.Name)
		server.Command, server.Args, server.Env = entry.Server.Command, entry.Server.Args, entry.Server.Env
		server.Install = entry.Server.Install
		server.URL, server.Headers, server.SSE = entry.Server.URL, entry.Server.Headers, entry.Server.SSE
		taken := len(e.Files.Find("mcp", server.Name)) > 0
		if err := e.Put("mcp "+server.Name, true, ServerText(server), "mcp", server.Name); err != nil && taken {
			return advice.New(err, "change it there, remove it first: aisync remove mcp "+server.Name+", or give this one another name: --as NAME")
		} else if err != nil {
			return err
		}
		e.Notes = append(e.Notes, entry.Notes...)
		if answer.Kept {
			e.Notes = append(e.Notes, "as "+registry.Client.Address()+" said it before: it was not asked (--offline)")
		}
		e.written = func(disk fsys.FS) {
			if err := registry.Keep(disk, answer); err != nil {
				a.Say("aisync: warning: what the registry said is not kept for the time without a network: %s", termtext.Safe(err.Error()))
			}
		}
		return nil
	})
}
