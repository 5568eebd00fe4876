// Package everyproject runs a command in every project below the host's roots: it
// finds them, has workers run the command there, and groups what is equal. A command
// calls Register, and gets a Run.
package everyproject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// Run is one command in every project.
type Run struct {
	App   *cli.App
	Found *projects.Found
	List  []projects.Project // that the filters choose
	Args  []string           // of the command

	cmd    *cobra.Command
	places place.Places
	cwd    string

	printed bool // something, to stdout
}

// flags are --all and the flags that go with it.
type flags struct {
	all           bool
	below, filter []string
}

// own are the flags that a project's own command does not get. Each project gives
// JSON, and is chosen by the folder in which a worker stands.
var own = []string{"all", "below", "filter", "json", "color", "quiet", "verbose", "project", "scope", "yes", "commit", "message"}

// paths are the flags that name a file or folder as seen from the working folder.
var paths = []string{"config", "facts", "root"}

// needAll are the flags that say something about all projects alone.
var needAll = []string{"below", "filter", "commit", "message"}

// Register adds --all to cmd, with the flags that choose projects. With --all, cmd
// calls every instead of what it does in one project.
func Register(cmd *cobra.Command, a *cli.App, every func(context.Context, *Run) error) {
	var f flags
	fs := cmd.Flags()
	fs.BoolVar(&f.all, "all", false, "work in every project below the host's roots")
	fs.StringArrayVar(&f.below, "below", nil, "with --all: look below `DIR`, not below the roots; may be repeated")
	fs.StringArrayVar(&f.filter, "filter", nil, "with --all: only projects in folders that match `GLOB`, or with ! those that do not; may be repeated")
	one := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !f.all {
			for _, name := range needAll {
				if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
					return cli.Usagef("--%s needs --all", name)
				}
			}
			return one(cmd, args)
		}
		r, err := find(cmd.Context(), a, cmd, f, args)
		if err != nil {
			return err
		}
		return every(cmd.Context(), r)
	}
}

// mostUnread is how many folders that could not be searched are named without
// --verbose.
const mostUnread = 4

// find returns the run of cmd in the projects that f chooses.
func find(ctx context.Context, a *cli.App, cmd *cobra.Command, f flags, args []string) (*Run, error) {
	if s := cmd.Flags().Lookup("scope"); a.Flags.Project != "" || s != nil && s.Changed && s.Value.String() != "project" {
		return nil, cli.Usagef("--all is for all projects, and for them alone: leave out --scope and --project")
	}
	r := &Run{App: a, Args: args, cmd: cmd}
	var err error
	if r.cwd, err = a.Cwd(); err != nil {
		return nil, err
	}
	if r.places, err = a.HostPlaces(); err != nil {
		return nil, err
	}
	if r.Found, err = projects.Find(ctx, a.Machine(r.places), f.below); err != nil {
		return nil, err
	}
	for i, why := range r.Found.Unread {
		if left := len(r.Found.Unread) - i; i == mostUnread && left > 1 && !a.Flags.Verbose {
			a.Say("aisync: not searched: %d more folders (--verbose)", left)
			break
		}
		a.Say("aisync: not searched: %s", termtext.Safe(why))
	}
	if len(r.Found.Projects) == 0 {
		a.Say("aisync: no %s below %s", place.SpecFile, termtext.Safe(r.names(r.Found.Roots)))
	}
	r.List, err = projects.Filter(r.Found.Projects, f.filter)
	var bad *projects.PatternError
	switch {
	case errors.As(err, &bad):
		return nil, cli.Usagef("--filter %v", err)
	case err != nil:
		return nil, err
	case len(r.List) == 0 && len(f.filter) > 0 && len(r.Found.Projects) > 0:
		return nil, &cli.UsageError{Text: fmt.Sprintf("--filter %s: none of the %s matches", strings.Join(f.filter, " --filter "), quantity.Count(len(r.Found.Projects), "project")), Advice: "aisync drift --all --verbose lists them"}
	}
	return r, nil
}

// Name returns dir as the person would type it.
func (r *Run) Name(dir string) string { return r.places.Short(r.cwd, dir) }

func (r *Run) names(dirs []string) string {
	var out []string
	for _, d := range dirs {
		out = append(out, r.Name(d))
	}
	return strings.Join(out, ", ")
}

// words is how the command is typed for all projects.
func (r *Run) words() string { return r.cmd.CommandPath() + " --all" }

// Cwd returns the working folder of the person.
func (r *Run) Cwd() string { return r.cwd }

// Flag returns the value of a flag of the command, as it would be typed.
func (r *Run) Flag(name string) string { return r.cmd.Flags().Lookup(name).Value.String() }

// Command returns the arguments by which the command is run in one project: its
// words, the flags that were typed and are not own or in without, more, and args.
func (r *Run) Command(without []string, args []string, more ...string) []string {
	words := strings.Fields(r.cmd.CommandPath())[1:]
	r.cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(own, f.Name) || slices.Contains(without, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if slices.Contains(paths, f.Name) {
				v = place.Absolute(r.cwd, v)
			}
			words = append(words, "--"+f.Name+"="+v)
		}
	})
	words = append(words, more...)
	if len(args) > 0 {
		words = append(append(words, "--"), args...)
	}
	return words
}
