package start

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// InitCommand builds the command init.
func InitCommand(a *cli.App) *cobra.Command {
	var from, source string
	var here bool
	var runtimes []string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "write a starter spec for this machine, or --here for a project",
		Long: `Without flags, writes a spec of this machine, HOSTNAME.cue, into the folder of
the host specs ($XDG_CONFIG_HOME/aisync): its facts and the agent programs found,
or those of --runtime. Where a model for coding fits memory and disk, the spec
also has what works without a network: that model, a larger one or one for quick
edits, their servers and the runtime that uses them. Nothing is fetched before
you apply it. Otherwise a comment names a model that fits.

--from SRC copies host specs instead: the name of an example (` + strings.Join(hosts.Examples(), ", ") + `),
a folder, git::URL?ref=… or the URL of an archive. It copies *.cue and
aisync.lock.

--here writes only aisync.cue, for the project in this folder, with the agent
programs on this machine or those of --runtime. With --source it adds that
source of bundles, and its languages and teams that an older installer has put
into the project, which it recognizes by the names of their rules.

init never overwrites a file; it names the file and what to do. The only
exception is the schema in cue.mod/pkg/aisync.dev beside the host specs, for cue
vet and editors: it belongs to aisync, and init updates it.`,
		Example:     "  $ aisync init && aisync plan\n  $ aisync init --from git::https://example.org/me/machines.git\n  $ cd ~/code/app && aisync init --here",
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
			p, err := a.HostPlaces()
			if err != nil {
				return err
			}
			if err := a.MakeRoot(p, "aisync init"); err != nil && !here {
				return err
			}
			s := &initializer{App: a, places: p}
			switch {
			case here:
				err = s.project(cmd.Context(), runtimes, source)
			case from != "":
				err = s.copyHosts(cmd.Context(), from)
			default:
				err = s.host(cmd.Context(), runtimes)
			}
			if err != nil {
				return err
			}
			return s.report()
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "copy host specs from `SRC`: an example, a folder, git::URL or an archive's URL")
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

// copyHosts copies the host specs of an example or of src.
func (s *initializer) copyHosts(ctx context.Context, src string) error {
	files := map[string][]byte{}
	if text, ok := hosts.Example(src); ok {
		files[src+".cue"] = text
		s.next = "this is an example: change match, or use it with --host " + src + "; then: aisync plan"
	} else {
		dir, cleanup, err := s.fetch(ctx, src)
		if err != nil {
			return err
		}
		defer cleanup()
		if files, err = specFiles(dir); err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("--from %s: no *.cue files", src)
		}
		s.next = "relative sources in them now start at " + s.places.Config + "; check them, then: aisync validate"
	}
	if err := s.writeNew(s.places.Config, files); err != nil {
		return err
	}
	return s.vendorSchema()
}

// fetch returns src as a local folder; cleanup removes a download.
func (s *initializer) fetch(ctx context.Context, src string) (dir string, cleanup func(), err error) {
	none := func() {}
	if !strings.HasPrefix(src, "git::") && !strings.Contains(src, "://") && !spec.LocalArchive(src) {
		cwd, err := s.Cwd()
		if err != nil {
			return "", none, err
		}
		if dir, err = place.ExistingFolder(cwd, src); err != nil {
			return "", none, fmt.Errorf("--from: %w; examples are %s", err, strings.Join(hosts.Examples(), ", "))
		}
		return dir, none, nil
	}
	cwd, err := s.Cwd()
	if err != nil {
		return "", none, err
	}
	src = bundle.Fetched(spec.Source{URL: src, Dir: cwd}, s.places.Physical(s.places.Home))
	temp, err := os.MkdirTemp("", "aisync-init-")
	if err != nil {
		return "", none, err
	}
	cleanup = func() { os.RemoveAll(temp) }
	dir = filepath.Join(temp, "src")
	anonymous := pin.Network{Getenv: environ.Env{}.Get, Home: place.Nowhere, UserAgent: "aisync/" + cli.VersionText(), Offline: s.Flags.Offline}
	if err := anonymous.Tree(ctx, src, dir); err != nil {
		cleanup()
		return "", none, fmt.Errorf("--from %s: %w", src, err)
	}
	return dir, cleanup, nil
}

// specFiles reads the host specs in dir, *.cue, and their lock file.
func specFiles(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if e.Type().IsRegular() && (strings.HasSuffix(e.Name(), ".cue") && e.Name() != place.SpecFile || e.Name() == stack.LockName) {
			if files[e.Name()], err = regular.Read(filepath.Join(dir, e.Name()), regular.MaxSpec); err != nil {
				return nil, err
			}
		}
	}
	if len(files) == 1 && files[stack.LockName] != nil {
		delete(files, stack.LockName)
	}
	return files, nil
}
