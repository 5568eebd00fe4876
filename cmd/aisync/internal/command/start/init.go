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

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/advice"
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
		Short: "write a starter spec for this machine, or with --here for the project in this folder",
		Long: `Without flags: describes this machine, from its facts, in HOSTNAME.cue in the
folder of the host specs ($XDG_CONFIG_HOME/aisync), with the agent programs that
it finds and a model that fits as a comment.

--from SRC takes host specs over instead: the name of an example (` + strings.Join(hosts.Examples(), ", ") + `),
a folder, git::URL?ref=… or the URL of an archive. Its *.cue and aisync.lock are copied.

--here writes aisync.cue for the project in this folder, and nothing else, with
the agent programs that are on this machine or those of --runtime. With --source
it names that source of bundles too, and those of its languages and teams that an
older installer has put into the project: they are known by their rules' names.

What exists is never overwritten; init says so and what to do. The one exception
is the schema in cue.mod/pkg/aisync.dev beside the host specs, with which cue vet
and editors work offline: it belongs to aisync and is brought up to date.`,
		Example:     "  $ aisync init && aisync plan\n  $ aisync init --from git::https://example.org/me/machines.git\n  $ cd ~/code/app && aisync init --here",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if here && from != "" {
				return cli.Usagef("init: --here and --from exclude each other; --from is about hosts")
			}
			if len(runtimes) > 0 && !here {
				return cli.Usagef("init: --runtime is about a project; add --here")
			}
			if source != "" && !here {
				return cli.Usagef("init: --source is about a project; add --here")
			}
			p, err := a.HostPlaces()
			if err != nil {
				return err
			}
			if err := a.MakeRoot(p, "aisync init"); err != nil && !here {
				return err
			}
			s := &starter{App: a, places: p}
			switch {
			case here:
				err = s.project(cmd.Context(), runtimes, source)
			case from != "":
				err = s.copyHosts(cmd.Context(), from)
			default:
				err = s.host(cmd.Context())
			}
			if err != nil {
				return err
			}
			return s.tell()
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "take host specs over from `SRC`: an example, a folder, git::URL or an archive's URL")
	cmd.Flags().StringVar(&source, "source", "", "with --here: where bundles come from: a folder, git::`URL`?ref=… or the URL of an archive")
	cmd.Flags().BoolVar(&here, "here", false, "write aisync.cue for the project in this folder")
	cmd.Flags().StringSliceVar(&runtimes, "runtime", nil, "with --here: the project's runtimes, by their `IDS`, instead of those found")
	return cmd
}

// host describes this machine unless a spec does already.
func (s *starter) host(ctx context.Context) error {
	found, err := s.Machine(s.places).LoadSpec(ctx, schema.Options{})
	if err != nil && slices.ContainsFunc(advice.Split(err), func(e error) bool { return !errors.Is(e, schema.ErrNoHost) }) {
		return advice.Command(fmt.Errorf("the specs that are there are not right, so nothing is written beside them: %w", err), "aisync validate")
	}
	if err == nil && found.Host != nil && !found.Host.Builtin {
		s.kept = append(s.kept, filepath.Join(s.places.Config, filepath.Base(found.Host.Pos.File)))
		s.next = "this machine is described already, as host " + found.Host.Name + "; edit that file, then: aisync plan"
		return s.vendorSchema()
	}
	f, err := s.Machine(s.places).Facts()
	if err != nil {
		return err
	}
	name := cli.NameOf(f.Hostname, "host")
	s.next = "read and edit it, then: aisync plan"
	if err := s.writeNew(s.places.Config, map[string][]byte{name + ".cue": hostSpec(name, f, catalog.Runtimes(), catalog.Models())}); err != nil {
		return err
	}
	return s.vendorSchema()
}

// project writes aisync.cue into the folder the person stands in.
func (s *starter) project(ctx context.Context, runtimes []string, source string) error {
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
		return advice.Command(fmt.Errorf("%s is your home, not a project; what every project shall have goes into the host's spec", dir), "aisync init")
	}
	f, err := s.Machine(s.places).Facts()
	if err != nil {
		return err
	}
	s.next = "read and edit it, then: aisync plan"
	why := "found on this machine; name those that people use here"
	switch found := installed(f, catalog.Runtimes()); {
	case len(runtimes) > 0:
		why = "that people use here"
		for _, id := range runtimes {
			if _, ok := catalog.With(spec.Catalog{}).Runtime(id); !ok {
				return nearest.Unknown("runtime", id, catalog.RuntimeIDs(catalog.Runtimes()))
			}
		}
	case len(found) > 0:
		runtimes = catalog.RuntimeIDs(found)
	default:
		runtimes, why = []string{catalog.Preferred().ID}, "name the agent programs that people use here"
	}
	var sources *fromSource
	if source != "" {
		if sources, err = s.recognize(ctx, dir, source); err != nil {
			return err
		}
	}
	return s.writeNew(dir, map[string][]byte{place.SpecFile: projectSpec(cli.NameOf(filepath.Base(dir), "project"), runtimes, why, sources)})
}

// copyHosts takes over an example or what lies at src.
func (s *starter) copyHosts(ctx context.Context, src string) error {
	files := map[string][]byte{}
	if text, ok := hosts.Example(src); ok {
		files[src+".cue"] = text
		s.next = "it is an example: change match, or use it with --host " + src + "; then: aisync plan"
	} else {
		dir, cleanup, err := s.bring(ctx, src)
		if err != nil {
			return err
		}
		defer cleanup()
		if files, err = specFiles(dir); err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("--from %s: no *.cue file lies there", src)
		}
		s.next = "relative sources in them now start at " + s.places.Config + "; look at them, then: aisync validate"
	}
	if err := s.writeNew(s.places.Config, files); err != nil {
		return err
	}
	return s.vendorSchema()
}

// bring makes src a folder of this machine; cleanup removes what it made.
func (s *starter) bring(ctx context.Context, src string) (dir string, cleanup func(), err error) {
	none := func() {}
	if !strings.HasPrefix(src, "git::") && !strings.Contains(src, "://") {
		cwd, err := s.Cwd()
		if err != nil {
			return "", none, err
		}
		if dir, err = place.ExistingFolder(cwd, src); err != nil {
			return "", none, fmt.Errorf("--from: %w; examples are %s", err, strings.Join(hosts.Examples(), ", "))
		}
		return dir, none, nil
	}
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

// specFiles reads what makes up host specs in dir: *.cue and their lock.
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
