package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Cleared returns the checks that bundles want run around the program, once
// all that the project would make the program obey has been agreed to.
func Cleared(ctx context.Context, a *cli.App, l *Launcher) ([]launch.Check, error) {
	own, err := readChecks(l.places.Physical(l.places.Home.Join(launch.ChecksFile)), l)
	if err != nil {
		return nil, err
	}
	project, err := readChecks(filepath.Join(l.root, launch.ChecksFile), l)
	if err != nil {
		return nil, err
	}
	return slices.Concat(own, project), decideLaunch(ctx, a, l, len(project) > 0)
}

// readChecks reads the checks of a file that are for l's program.
func readChecks(name string, l *Launcher) ([]launch.Check, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read checks: %w", err)
	}
	checks, err := launch.ParseChecks(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return slices.DeleteFunc(checks, func(c launch.Check) bool { return !slices.Contains(c.Runtimes, l.Choice.Runtime.ID) }), nil
}

// decideLaunch asks about what waits for an answer of the effects that the
// project has on l's program, as it lies. checked: its checks are among them.
func decideLaunch(ctx context.Context, a *cli.App, l *Launcher, checked bool) error {
	p := l.places
	p.Project = l.root
	in := effects.Project{Dir: l.root, Carried: effects.Carried(a.Env.List(), l.root), Checks: checked}
	if l.project != nil {
		in.Runtimes = []spec.Runtime{l.Choice.Runtime}
		if l.Program.Runtime.ID != l.Choice.Runtime.ID {
			in.Runtimes = append(in.Runtimes, l.Program.Runtime)
		}
		in.Launches = stack.Launches(l.project, l.catalog.Runtimes(), l.Choice.Runtime.ID)
		in.Launches = slices.DeleteFunc(in.Launches, func(o effects.Launch) bool { return o.Runtime != l.Choice.Runtime.ID })
	}
	reader, err := p.Reader("none")
	if err != nil {
		return err
	}
	store, err := reconcile.OpenStore(reader, p.State)
	if err != nil {
		return err
	}
	all := effects.Of(in, reconcile.ReadEnv{}, nil)
	list := effects.Undecided(all, reconcile.ProjectOwner(l.root), store, stack.TrustedSources(l.host))
	if len(list) == 0 {
		return nil
	}
	t := view.PlanText{Paint: a.Paint(), Command: "aisync plan"}
	t.Effects(a.Err, list)
	if !a.Terminal() {
		return advice.Command(fmt.Errorf("%s is not started: %w", l.Choice.Runtime.ID, stack.EffectsError(effects.Waiting(len(list))+" for your yes (listed above)")), "cd "+shellquote.Terminal(l.root)+" && aisync apply --trust, when you have read them")
	}
	yes, err := a.Ask("Start " + l.Choice.Runtime.ID + " with these?")
	if err == nil && !yes {
		err = stack.EffectsError("you said no")
	}
	if err == nil && effects.Digest(effects.Of(in, reconcile.ReadEnv{}, nil)) != effects.Digest(all) {
		err = advice.Command(fmt.Errorf("%s is not started: what it obeys here changed since you were asked", l.Choice.Runtime.ID), "aisync plan")
	}
	if err != nil {
		return err
	}
	return a.Machine(p).Agree(ctx, "aisync launch", reconcile.ProjectOwner(l.root), list)
}
