package start

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	editcmd "aisync.dev/aisync/cmd/aisync/internal/command/edit"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
)

// ownSource is what the spec calls the source that import writes.
const ownSource = "own"

// ImportCommand builds the command import.
func ImportCommand(a *cli.App) *cobra.Command {
	im := &importing{}
	var from []string
	cmd := &cobra.Command{
		Use:   "import [DIR]",
		Short: "turn what agents already have in a project, or in your home, into a bundle and a spec",
		Long: `Reads rules, skills, commands, agents, hooks, settings, ignore lists, instruction
files and MCP servers that are in DIR (the project, or this folder) already, and
writes them as a bundle below .aisync and as aisync.cue. With --scope host it
reads your home, writes the bundle beside the host's spec, and adds to that spec.

Without --from it reads the sources of rulesync or ruler where there are any, and
else what each program has. Nothing that is there is written to or taken away: a
file of the bundle that is there already stays, and a spec that is there already
gets what it lacks. The table says where each thing went; "kept as is" is what
has no place in a bundle and stays where it is. What looks like a secret is not
copied: the spec names a variable instead.

Then aisync plan shows what is equal already ("=") and what would be written
for the other runtimes.`,
		Example:     "  $ aisync import --dry-run\n  $ aisync import --from claude,cursor ~/code/app\n  $ aisync import --scope host",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MaxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range from {
				if !slices.Contains(gather.Origins, gather.Origin(name)) {
					return cli.Usagef("--from %q: want some of %s", termtext.Safe(name), joinOrigins(gather.Origins, ", "))
				}
				im.options.From = append(im.options.From, gather.Origin(name))
			}
			im.app = a
			return im.run(cmd.Context(), args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&from, "from", nil, "read only what `WHOSE` it is: "+joinOrigins(gather.Origins, ", "))
	flags.StringVar(&im.scope, "scope", string(stack.ScopeProject), "`WHICH` spec: project, or host for your home")
	editcmd.OneScope(cmd)
	flags.StringVar(&im.bundle, "bundle", "", "write the bundle into `FOLDER` (default: .aisync in the project, bundle beside the host's spec)")
	flags.BoolVar(&im.dryRun, "dry-run", false, "show what would be written, and write nothing")
	return cmd
}

func joinOrigins(all []gather.Origin, sep string) string {
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = string(o)
	}
	return strings.Join(names, sep)
}

// importing is one import.
type importing struct {
	app     *cli.App
	options gather.Options
	scope   string
	bundle  string
	dryRun  bool

	places  place.Places
	dir     string // that is read
	found   *gather.Result
	edit    *editcmd.Editing // of a spec that is there already
	written []string

	superfluous []string // that was taken over, once it is applied
}

func (im *importing) run(ctx context.Context, args []string) (err error) {
	if im.places, err = im.app.Places(); err != nil {
		return err
	}
	if err := im.locate(args); err != nil {
		return err
	}
	if im.found, err = gather.From(im.dir, im.options); err != nil {
		return err
	}
	if len(im.found.Files) == 0 && len(im.found.Servers) == 0 {
		im.show(nil)
		return advice.New(fmt.Errorf("nothing to take over in %s", im.dir), "it looks for what "+joinOrigins(gather.Origins, ", ")+" have there; to start anew: aisync init --here")
	}
	texts, err := im.specTexts(ctx)
	if err != nil {
		return err
	}
	if !im.dryRun {
		if err := im.write(texts); err != nil {
			return err
		}
		im.superfluous = im.over(ctx)
	}
	return im.show(texts)
}

// locate finds the folder that is read and the one that is written.
func (im *importing) locate(args []string) error {
	cwd, err := im.app.Cwd()
	if err != nil {
		return err
	}
	home, err := filepath.EvalSymlinks(im.places.Physical(im.places.Home))
	if err != nil && im.scope == string(stack.ScopeHost) {
		return err
	}
	switch im.scope {
	case string(stack.ScopeHost):
		im.dir, im.options.Home = home, true
		im.bundle = cmp.Or(im.bundle, filepath.Join(im.places.Config, "bundle"))
	case string(stack.ScopeProject):
		im.dir = cmp.Or(im.places.Project, cwd)
		if len(args) > 0 {
			if im.dir, err = place.ExistingFolder(cwd, args[0]); err != nil {
				return err
			}
		}
		if im.dir == home {
			return advice.Command(fmt.Errorf("%s is your home, not a project", im.dir), "aisync import --scope host")
		}
		im.places.Project = im.dir
		im.bundle = cmp.Or(im.bundle, filepath.Join(im.dir, ".aisync"))
		im.options.Name = cli.NameOf(filepath.Base(im.dir), "project")
	default:
		return cli.Usagef("--scope %q: want project or host", im.scope)
	}
	if len(args) > 0 && im.options.Home {
		return cli.Usagef("import --scope host reads your home, %s, and no other folder", im.dir)
	}
	im.bundle = place.Absolute(cwd, im.bundle)
	return nil
}

func (im *importing) short(path string) string {
	cwd, err := im.app.Cwd()
	if err != nil {
		return path
	}
	return im.places.Short(cwd, path)
}
