package edit

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/marketplace"
	"aisync.dev/aisync/app/nativeplugin"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

func addSkillCommand(a *cli.App) *cobra.Command {
	var f EditFlags
	var runtimes []string
	var name string
	cmd := &cobra.Command{
		Use:   "skill SOURCE [NAME...]",
		Short: "add Agent Skills that others publish to a host or a project",
		Long: `Adds skills of a repository, an archive, an artifact or a folder: those that NAME names, by
name, by folder or by a glob such as 'pdf*', or all of them. It fetches the source,
shows what it brings, writes it into the spec and pins it in aisync.lock. Every
runtime that can have skills gets them, or those of --for alone.

SOURCE is owner/repo of GitHub, gh:owner/repo@REF//FOLDER, the same with gitlab:,
bitbucket: or codeberg:, the URL of a repository or an archive, oci://HOST/REPO:TAG,
or the path of an archive or a folder.`,
		Example:     "  $ aisync add skill anthropics/skills pdf docx\n  $ aisync add skill gh:vercel-labs/agent-skills//skills --for claude\n  $ aisync add skill ../my-skills --dry-run",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the source"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return addSource(cmd.Context(), a, f, runtimes, func(_ context.Context, e *Editing, _ *stack.Session) (wanted, error) {
				names := args[1:]
				source := args[0]
				if dir, last := path.Split(source); strings.ContainsAny(last, "*?[") && !strings.Contains(last, "?ref=") && len(names) == 0 {
					source, names = strings.TrimRight(dir, "/"), []string{last} // gh:owner/repo//skills/*
				}
				if len(names) == 0 {
					names = []string{"*"}
				}
				w, err := e.addressIn(source)
				w.name, w.pick = name, &spec.Pick{Skills: names}
				return w, err
			})
		},
	}
	f.register(cmd)
	cmd.Flags().StringSliceVar(&runtimes, "for", nil, "only for these `RUNTIMES`")
	cmd.Flags().StringVar(&name, "name", "", "the `NAME` of the source in the spec (default: by its address)")
	registerAll(cmd, a)
	return cmd
}

func addPluginCommand(a *cli.App) *cobra.Command {
	var f EditFlags
	var runtimes []string
	var native bool
	cmd := &cobra.Command{
		Use:   "plugin NAME@MARKETPLACE",
		Short: "add a plugin of a marketplace to a host or a project",
		Long: `Adds a plugin: its skills, commands, subagents, hooks and MCP servers, for every
runtime that can have them, or for those of --for alone. It looks the plugin up in
the marketplace, fetches it, shows what it brings, writes its place into the spec and
pins it in aisync.lock. Hooks and servers wait for a yes, as aisync apply asks.

MARKETPLACE is a source of the spec, the name of a known one, or an address as
aisync add skill takes it. A marketplace that pins a plugin to a commit is followed.
It may also be the address of the plugin itself.`,
		Example:     "  $ aisync add plugin superpowers@claude-plugins-official\n  $ aisync add plugin python-development@wshobson/agents --for claude",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, market, ok := marketplace.Split(args[0])
			if !ok {
				return cli.Usagef("add plugin %q: want NAME@MARKETPLACE, such as superpowers@claude-plugins-official", termtext.Safe(args[0]))
			}
			return addSource(cmd.Context(), a, f, runtimes, func(ctx context.Context, e *Editing, s *stack.Session) (wanted, error) {
				w, err := e.plugin(ctx, s, name, market)
				if err == nil && native {
					if w.pick == nil {
						w.pick = &spec.Pick{}
					}
					w.pick.Native = []string{nativeplugin.Program}
				}
				return w, err
			})
		},
	}
	f.register(cmd)
	cmd.Flags().StringSliceVar(&runtimes, "for", nil, "only for these `RUNTIMES`")
	cmd.Flags().BoolVar(&native, "native", false, "claude loads the plugin itself, whole; the others get it translated")
	registerAll(cmd, a)
	return cmd
}

// plugin looks a plugin up in a marketplace.
func (e *Editing) plugin(ctx context.Context, s *stack.Session, name, market string) (w wanted, err error) {
	named := market
	var itself wanted // the plugin, if it is what lies at market
	url, err := marketplace.Address(market, e.known(), func(text string) (string, error) {
		m, err := e.addressIn(text)
		if text == market { // a name stays, a folder is written as the spec finds it
			named, itself = m.text, m
		}
		return m.url, err
	})
	if err != nil {
		return w, err
	}
	tree, done, err := e.lookInto(ctx, s, url)
	if err != nil {
		return w, fmt.Errorf("marketplace %s: %w", market, err)
	}
	p, err := marketplace.Find(tree, market, url, name, e.dir())
	if err != nil {
		done()
		return w, err
	}
	if p.URL == itself.url {
		itself.name, itself.done = cli.NameOf(name, "plugin"), done
		return itself, nil
	}
	w = wanted{done: done, name: cli.NameOf(name, "plugin"), url: p.URL, text: bundle.ShortAddress(p.URL), from: name + "@" + named}
	if len(p.Skills) > 0 {
		w.pick = &spec.Pick{Skills: p.Skills}
	}
	w.market, w.others = named, marketplace.Others(ctx, tree, name)
	return w, nil
}

// lookInto opens the source at url without pinning it. The caller calls done.
func (e *Editing) lookInto(ctx context.Context, s *stack.Session, url string) (t *bundle.Tree, done func(), err error) {
	done = func() {}
	if src := (spec.Source{URL: url, Dir: e.dir()}); bundle.Remote(url) {
		if url, done, err = s.WritingResolver(pin.Lock).LookInto(ctx, src); err != nil {
			return nil, done, err
		}
	}
	sources := &bundle.Sources{Home: e.Places.Physical(e.Places.Home)}
	t, err = sources.Open(ctx, spec.Source{Name: "marketplace", URL: url, Dir: e.dir()})
	if err != nil {
		done()
	}
	return t, done, err
}
