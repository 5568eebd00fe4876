package start

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	editcmd "aisync.dev/aisync/cmd/aisync/internal/command/edit"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// ownSource is the name in the spec of the source that import writes.
const ownSource = "own"

// ImportCommand builds the command import.
func ImportCommand(a *cli.App) *cobra.Command {
	im := &importing{}
	var from []string
	cmd := &cobra.Command{
		Use:   "import [DIR]",
		Short: "turn existing agent files into a bundle and a spec",
		Long: `Reads existing rules, skills, commands, agents, hooks, settings, ignore lists,
instruction files and MCP servers in DIR (default: the project, or this folder),
and writes a bundle in .aisync and a spec, aisync.cue. With --scope host it
reads your home, writes the bundle beside the host's spec, and adds to that
spec.

Without --from it reads the sources of rulesync or ruler if there are any, else
the files of each program. It changes and removes no existing file, except that
an existing spec gets the missing entries. It shows, by program, what becomes
what, what programs then share and what stays as it is; --verbose lists each
thing. On a terminal it asks once before it writes; without one it writes. It
copies no values that look like secrets: the spec names a variable instead.

Afterwards aisync plan shows what matches already ("=") and what it would write
for the other runtimes.`,
		Example:     "  $ aisync import --dry-run\n  $ aisync import --from claude,cursor ~/code/app\n  $ aisync import --scope host",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MaxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range from {
				if !slices.Contains(gather.Origins, gather.Origin(name)) {
					return cli.Usagef("--from %q: want one or more of %s", termtext.Safe(name), joinOrigins(gather.Origins, ", "))
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
	flags.StringSliceVar(&from, "from", nil, "read only the files of `PROGRAMS`: "+joinOrigins(gather.Origins, ", "))
	flags.StringVar(&im.scope, "scope", string(stack.ScopeProject), "write `WHICH` spec: project, or host for your home")
	editcmd.OneScope(cmd)
	flags.BoolVar(&im.options.Share, "share", false, "make what one program has common to all, translated where it must be")
	flags.StringSliceVar(&im.options.Runtimes, "runtime", nil, "add the runtimes `IDS` to those whose files are found")
	flags.StringVar(&im.bundle, "bundle", "", "write the bundle into `FOLDER` (default: .aisync in the project, bundle beside the host's spec)")
	flags.BoolVarP(&im.dryRun, "dry-run", "n", false, "show what would be written, without writing it")
	flags.BoolVarP(&im.yes, "yes", "y", false, "do not ask")
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
	yes     bool

	places  place.Places
	dir     string // to read
	found   *gather.Result
	edit    *editcmd.Editing // of an existing spec, or nil
	had     []string         // servers of that spec
	written []string

	changes     []contextreport.LoadChange // after an apply; nil: not known
	superfluous []string                   // imported files to remove after an apply
}

func (im *importing) run(ctx context.Context, args []string) (err error) {
	if im.places, err = im.app.Places(); err != nil {
		return err
	}
	if err := im.locate(args); err != nil {
		return err
	}
	if err := im.gather(ctx); err != nil {
		return err
	}
	if len(im.found.Files) == 0 && len(im.found.Servers) == 0 && (im.options.Home || len(im.found.Runtimes) == 0 && (len(im.runtimes()) == 0 || len(im.options.From) > 0)) {
		if im.app.Flags.JSON {
			err = im.app.WriteJSON(im.document())
		} else {
			im.review(nil)
		}
		return errors.Join(err, im.nothing())
	}
	texts, err := im.settle(ctx)
	if err != nil {
		return err
	}
	kept := len(im.found.Kept)
	if !im.isNew() {
		im.review(nil)
		return im.outcome(kept, false)
	}
	im.review(texts)
	if !im.dryRun {
		if err := im.confirm(texts); err != nil {
			return err
		}
		if err := im.write(texts); err != nil {
			return err
		}
	}
	return im.outcome(kept, true)
}

// confirm asks on a terminal before the first byte is written. Without one import
// writes unasked: it takes no file away and writes over none.
func (im *importing) confirm(texts map[string][]byte) error {
	if im.yes || im.app.Flags.JSON || !im.app.Terminal() {
		return nil
	}
	files, specs := im.pending(texts)
	if files+specs == 0 {
		return nil
	}
	var parts []string
	if files > 0 {
		parts = append(parts, quantity.Count(files, "file")+" below "+im.short(im.bundle))
	}
	if specs > 0 {
		parts = append(parts, "the spec")
	}
	return im.app.Confirm(false, "Write "+termtext.Safe(strings.Join(parts, " and "))+"?")
}

// nothing is the error where there is nothing to import.
func (im *importing) nothing() error {
	err := fmt.Errorf("nothing to import in %s", im.dir)
	if len(im.found.Kept) > 0 {
		err = fmt.Errorf("nothing to import in %s: all that is there is kept as is, see above", im.dir)
	}
	specs, _ := filepath.Glob(filepath.Join(im.places.Config, "*.cue")) // the pattern is valid
	hint := "it reads the files of " + joinOrigins(gather.Origins, ", ")
	switch {
	case !im.options.Home:
		hint += "; to start with an empty spec: aisync init --here"
	case len(specs) > 0:
		hint += "; to see what the host's spec asks for: aisync plan --scope host"
	default:
		hint += "; to start with a host's spec: aisync init"
	}
	return advice.New(err, hint)
}

// locate sets the folder to read and the folder of the bundle.
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
		im.options.Paths = []string{string(im.places.Home)}
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
		if home != "" {
			im.options.ClaudeState = filepath.Join(home, ".claude.json")
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
