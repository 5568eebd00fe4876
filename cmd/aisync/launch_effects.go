package main

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
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// cleared returns the checks that bundles want run around the program, once
// all that the project would make the program obey has been agreed to.
func (a *app) cleared(ctx context.Context, l *launcher) ([]launch.Check, error) {
	own, err := readChecks(l.places.Physical(l.places.Home.Join(launch.ChecksFile)), l)
	if err != nil {
		return nil, err
	}
	project, err := readChecks(filepath.Join(l.root, launch.ChecksFile), l)
	if err != nil {
		return nil, err
	}
	return slices.Concat(own, project), a.decideLaunch(ctx, l, len(project) > 0)
}

// readChecks reads the checks of a file that are for l's program.
func readChecks(name string, l *launcher) ([]launch.Check, error) {
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
	return slices.DeleteFunc(checks, func(c launch.Check) bool { return !slices.Contains(c.Runtimes, l.choice.Runtime.ID) }), nil
}

// decideLaunch asks about what waits for an answer of the effects that the
// project has on l's program, as it lies. checked: its checks are among them.
func (a *app) decideLaunch(ctx context.Context, l *launcher, checked bool) error {
	p := l.places
	p.Project = l.root
	in := effects.Project{Dir: l.root, Carried: effects.Carried(a.env.List(), l.root), Checks: checked}
	if l.project != nil {
		in.Runtimes = []spec.Runtime{l.choice.Runtime}
		if l.program.Runtime.ID != l.choice.Runtime.ID {
			in.Runtimes = append(in.Runtimes, l.program.Runtime)
		}
		in.Launches = launches(l.project, l.catalog.Runtimes(), l.choice.Runtime.ID)
		in.Launches = slices.DeleteFunc(in.Launches, func(o effects.Launch) bool { return o.Runtime != l.choice.Runtime.ID })
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
	list := effects.Undecided(all, reconcile.ProjectOwner(l.root), store, trustedSources(l.host))
	if len(list) == 0 {
		return nil
	}
	t := planText{paint: a.paint(), command: "aisync plan"}
	t.effects(a.err, list)
	if !a.terminal() {
		return advice.Command(fmt.Errorf("%s is not started: %w", l.choice.Runtime.ID, effectsError(waits(len(list))+" for your yes (listed above)")), "cd "+shellquote.Terminal(l.root)+" && aisync apply --trust, when you have read them")
	}
	yes, err := a.ask("Start " + l.choice.Runtime.ID + " with these?")
	if err == nil && !yes {
		err = effectsError("you said no")
	}
	if err == nil && effects.Digest(effects.Of(in, reconcile.ReadEnv{}, nil)) != effects.Digest(all) {
		err = advice.Command(fmt.Errorf("%s is not started: what it obeys here changed since you were asked", l.choice.Runtime.ID), "aisync plan")
	}
	if err != nil {
		return err
	}
	return a.machine(p).Agree(ctx, "aisync launch", reconcile.ProjectOwner(l.root), list)
}
