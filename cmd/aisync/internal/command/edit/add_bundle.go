package edit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/edit"
	"aisync.dev/aisync/schema/spec"
)

func addBundleCommand(a *cli.App) *cobra.Command {
	var f EditFlags
	var source string
	var partNames []string
	var team bool
	cmd := &cobra.Command{
		Use:   "bundle NAME",
		Short: "add the rules, skills and hooks of a bundle to a host or a project",
		Long: `In a project, NAME is SOURCE//LANGUAGE, SOURCE//. for the source alone, or
a bare LANGUAGE that one source has; --source adds the source too. With --team
it names a team's bundle. The command checks that a source in a folder has the
bundle; it fetches no other source.

For a host, NAME is a name of your choice, and --source is the bundle's
location.`,
		Example:     "  $ aisync add bundle rulesets//python\n  $ aisync add bundle python --source git::https://example.org/me/rulesets.git?ref=v1\n  $ aisync add bundle core --scope host --source '~/rulesets' --parts rules,skills",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeSpec(cmd.Context(), a, KindOf("bundle"), f, func(e *Editing) error {
				if e.Scope == stack.ScopeProject {
					if len(partNames) > 0 {
						return cli.Usagef("--parts applies to a host's bundle; add --scope host")
					}
					return e.addBundle(cmd.Context(), args[0], source, team)
				}
				switch {
				case team:
					return cli.Usagef("--team applies to a project; leave out --scope host")
				case strings.Contains(args[0], "//"):
					return cli.Usagef("a host's bundle needs a name and a source: aisync add bundle NAME --scope host --source %s", shellquote.Terminal(args[0]))
				case source == "" && len(e.Files.Find("bundles", args[0])) == 0:
					return cli.Usagef("bundle %q needs a source; add --source FOLDER or --source git::URL", termtext.Safe(args[0]))
				}
				value := edit.Struct(edit.Text("source", source), edit.Texts("parts", partNames))
				return e.Put("bundle "+args[0], source != "", value, "bundles", args[0])
			})
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&source, "source", "", "the bundle's location: owner/repo, a folder, git::`URL`?ref=… or the URL of an archive")
	cmd.Flags().StringSliceVar(&partNames, "parts", nil, "add only these `PARTS` of a host's bundle: rules, skills, hooks")
	cmd.Flags().BoolVar(&team, "team", false, "add a team's bundle instead of a language")
	registerAll(cmd, a)
	return cmd
}

// addBundle adds a bundle to the project, and its source if that is new.
func (e *Editing) addBundle(ctx context.Context, name, url string, team bool) error {
	p := e.spec.Project
	source, part, both := strings.Cut(name, "//")
	if !both {
		source, part = "", name
	}
	sources := slices.Clone(p.Sources)
	if url != "" {
		at, err := bundle.Address(url, p.Dir)
		if err != nil {
			return cli.Usagef("--source %s: %v", termtext.Safe(url), err)
		}
		known := slices.IndexFunc(sources, func(s spec.Source) bool {
			return s.URL == at && (source == "" || s.Name == source)
		})
		if known < 0 {
			if source == "" {
				source = NameOfSource(at)
			}
			if i := slices.IndexFunc(sources, func(s spec.Source) bool { return s.Name == source }); i >= 0 {
				return advice.New(fmt.Errorf("source %s exists with another location: %s", source, sources[i].Pos), "give this one another name: aisync add bundle OTHER//"+part+" --source "+shellquote.Terminal(url))
			}
			if err := e.Files.Add(edit.String(url), "sources", source); err != nil {
				return err
			}
			sources = append(sources, spec.Source{Name: source, URL: at, Dir: p.Dir})
		} else {
			source = sources[known].Name
		}
	}
	what, list, refs, of := "bundle", "bundles", p.Bundles, bundle.Language
	if team {
		what, list, refs, of = "team", "teams", p.Teams, bundle.Team
	}
	for _, r := range refs {
		if r.Name == part && (r.Source == source || source == "") {
			e.there(what+" "+name, r.Pos)
			return nil
		}
	}
	if e.spec.Host != nil {
		for _, b := range e.spec.Host.Bundles {
			sources = append(sources, bundle.OfHost(b, e.spec.Host.Dir))
		}
	}
	if err := e.checkBundle(ctx, of, spec.BundleRef{Source: source, Name: part}, sources); err != nil {
		return err
	}
	if source != "" {
		part = source + "//" + part
	}
	return e.Files.Append(edit.String(part), list)
}

// checkBundle checks that a source among them has the bundle, where that needs no
// network. It only warns about a source that is not on this machine.
func (e *Editing) checkBundle(ctx context.Context, of bundle.Kind, ref spec.BundleRef, among []spec.Source) error {
	for _, s := range among {
		if bundle.Remote(s.URL) && (ref.Source == "" || ref.Source == s.Name) {
			return nil
		}
	}
	all := &bundle.Sources{Home: e.Places.Physical(e.Places.Home)}
	_, err := all.Find(ctx, of, ref, among)
	var missing *bundle.MissingError
	if errors.As(err, &missing) {
		e.App.Say("aisync: warning: %v", err)
		return nil
	}
	return err
}

// NameOfSource returns a name for the source at url: the last part of its path.
func NameOfSource(url string) string {
	url, _, _ = strings.Cut(strings.TrimPrefix(url, "git::"), "?")
	base := path.Base(strings.TrimRight(url, "/"))
	if strings.HasPrefix(url, "oci") {
		base, _, _ = strings.Cut(base, "@")
		base, _, _ = strings.Cut(base, ":")
	}
	for _, ext := range []string{".git", ".zip", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar"} {
		base = strings.TrimSuffix(base, ext)
	}
	return cli.NameOf(base, "rules")
}
