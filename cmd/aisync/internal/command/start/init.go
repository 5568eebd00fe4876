package start

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	applycmd "aisync.dev/aisync/cmd/aisync/internal/command/apply"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// InitCommand builds the command init.
func InitCommand(a *cli.App) *cobra.Command {
	var from, source string
	var here, applies, yes, dry bool
	var runtimes []string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "write a starter spec for this machine or a project, or clone one",
		Long: `Without flags, writes a spec of this machine, HOSTNAME.cue, into the folder of
the host specs ($XDG_CONFIG_HOME/aisync): its facts and the agent programs found,
or those of --runtime. Where a model for coding fits memory and disk, the spec
also has what works without a network: that model, a larger one or one for quick
edits, their servers and the runtime that uses them. Nothing is fetched before
you apply it. Otherwise a comment names a model that fits.

--from SRC takes a repository of host specs instead: owner/repo, git@HOST:PATH,
https://HOST/PATH.git or git::URL?ref=…. The folder of the host specs becomes a git
clone of it, with all that lies beside the specs, and aisync update follows it. git
logs in as it always does. A folder, an archive's URL, a folder within a repository
(URL//FOLDER) and an example (` + strings.Join(hosts.Examples(), ", ") + `) are copied once: *.cue and
aisync.lock.

With --apply, it then applies the spec: it shows the plan and asks, as aisync apply
does. --yes answers as there.

--here writes only aisync.cue, for the project in this folder, with the agent
programs on this machine or those of --runtime. With --source it adds that
source of bundles, and its languages and teams that an older installer has put
into the project, which it recognizes by the names of their rules.

init never overwrites a file; it names the file and what to do. The only
exception is the schema in cue.mod/pkg/aisync.dev beside the host specs, for cue
vet and editors: it belongs to aisync, and init updates it.`,
		Example:     "  $ aisync init && aisync plan\n  $ aisync init --from me/machines --apply\n  $ aisync init --from git::https://example.org/me/machines.git\n  $ cd ~/code/app && aisync init --here",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if here && from != "" {
				return cli.Usagef("init: --here and --from exclude each other; --from copies host specs")
			}
			if len(runtimes) > 0 && from != "" {
				return cli.Usagef("init: --runtime and --from exclude each other; --from copies host specs")
			}
			if source != "" && !here {
				return cli.Usagef("init: --source needs --here")
			}
			if applies && from == "" {
				return cli.Usagef("init: --apply needs --from; a starter spec is to be read first, then: aisync apply")
			}
			if applies && a.Flags.JSON {
				return cli.Usagef("init: --apply and --json exclude each other; run: aisync init --from %s --json, then aisync apply --json", shellquote.Terminal(from))
			}
			if yes && !applies {
				return cli.Usagef("init: --yes needs --apply")
			}
			if applies && dry {
				return cli.Usagef("init: --apply and --dry-run exclude each other; a spec that is not written cannot be applied")
			}
			p, err := a.HostPlaces()
			if err != nil {
				return err
			}
			if !dry {
				if err := a.MakeRoot(p, "aisync init"); err != nil && !here {
					return err
				}
			}
			s := &initializer{App: a, places: p, applies: applies, dry: dry}
			switch {
			case here:
				err = s.project(cmd.Context(), runtimes, source)
			case from != "":
				err = s.hostsFrom(cmd.Context(), from)
			default:
				err = s.host(cmd.Context(), runtimes)
			}
			if err != nil {
				return err
			}
			if applies {
				s.next = ""
			}
			if err := s.report(); err != nil || !applies {
				return err
			}
			a.Printf("\n")
			return applycmd.Apply(cmd.Context(), a, stack.Request{Scope: stack.ScopeHost}, cli.ApplyFlags{Yes: yes, Diff: string(cli.DiffShort)}, "")
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "take host specs from `SRC`: a git repository, or a folder, an archive's URL, an example")
	cmd.Flags().BoolVar(&applies, "apply", false, "with --from: apply the spec, after asking")
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "print the spec that would be written, and write nothing")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "with --apply: do not ask; as in aisync apply")
	cmd.Flags().StringVar(&source, "source", "", "with --here: the source of bundles: a folder, git::`URL`?ref=… or the URL of an archive")
	cmd.Flags().BoolVar(&here, "here", false, "write aisync.cue for the project in this folder")
	cmd.Flags().StringSliceVar(&runtimes, "runtime", nil, "use the runtimes `IDS` instead of those found")
	return cmd
}

// known reports the first of ids that is no runtime.
func known(ids []string) error {
	for _, id := range ids {
		if _, ok := catalog.With(spec.Catalog{}).Runtime(id); !ok {
			return nearest.Unknown("runtime", id, catalog.RuntimeIDs(catalog.Runtimes()))
		}
	}
	return nil
}

// host writes a spec of this machine unless one exists. runtimes are its agent
// programs; none: those found.
func (s *initializer) host(ctx context.Context, runtimes []string) error {
	if err := known(runtimes); err != nil {
		return err
	}
	found, err := s.Machine(s.places).LoadSpec(ctx, schema.Options{})
	if err != nil && slices.ContainsFunc(advice.Split(err), func(e error) bool { return !errors.Is(e, schema.ErrNoHost) }) {
		return advice.Command(fmt.Errorf("the existing specs are invalid, so nothing was written: %w", err), "aisync validate")
	}
	if err == nil && found.Host != nil && !found.Host.Builtin {
		s.kept = append(s.kept, filepath.Join(s.places.Config, filepath.Base(found.Host.Pos.File)))
		s.next = "host " + found.Host.Name + " describes this machine already; edit that file, then: aisync plan"
		return s.vendorSchema()
	}
	f, err := s.Machine(s.places).Facts()
	if err != nil {
		return err
	}
	name := cli.NameOf(f.Hostname, "host")
	s.next = "read and edit it, then: aisync plan"
	programs := chosen(runtimes, f)
	var stocks []hosts.Stock
	if local := catalog.ForModels().ID; len(runtimes) == 0 || slices.Contains(runtimes, local) {
		stocks = hosts.Stocks(catalog.Models(), f)
		if len(stocks) > 0 {
			programs = slices.DeleteFunc(programs, func(r spec.Runtime) bool { return r.ID == local })
		}
	}
	if err := s.writeNew(s.places.Config, map[string][]byte{name + ".cue": hostSpec(name, f, programs, stocks)}); err != nil {
		return err
	}
	return s.vendorSchema()
}

// project writes aisync.cue into --project, or else the working folder.
func (s *initializer) project(ctx context.Context, runtimes []string, source string) error {
	cwd, err := s.Cwd()
	if err != nil {
		return err
	}
	dir := cwd
	if s.Flags.Project != "" {
		dir = s.Flags.Project
	}
	if dir, err = place.ExistingFolder(cwd, dir); err != nil {
		return err
	}
	if home, err := filepath.EvalSymlinks(s.places.Physical(s.places.Home)); err == nil && home == dir {
		return advice.Command(fmt.Errorf("%s is your home, not a project; put what all projects share into the host's spec", dir), "aisync init")
	}
	f, err := s.Machine(s.places).Facts()
	if err != nil {
		return err
	}
	s.next = "read and edit it, then: aisync plan"
	why := "found on this machine; list those in use here"
	switch found := installed(f, catalog.Runtimes()); {
	case len(runtimes) > 0:
		why = "in use here"
		if err := known(runtimes); err != nil {
			return err
		}
	case len(found) > 0:
		runtimes = catalog.RuntimeIDs(found)
	default:
		runtimes, why = []string{catalog.Preferred().ID}, "list the agent programs in use here"
	}
	var sources *fromSource
	if source != "" {
		if sources, err = s.recognize(ctx, dir, source); err != nil {
			return err
		}
	} else if there, err := gather.Present(dir); err != nil {
		return err
	} else if len(there) > 0 {
		s.next = "this folder has files of " + joinOrigins(there, ", ") + ": to take them over: aisync import; to see them first: aisync import --dry-run"
	}
	return s.writeNew(dir, map[string][]byte{place.SpecFile: projectSpec(cli.NameOf(filepath.Base(dir), "project"), runtimes, why, sources)})
}
