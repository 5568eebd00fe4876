package apply

import (
	"context"
	"errors"
	"strings"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// CarryOut applies p, shows the progress and reports the result. Its error sets the
// exit code.
func CarryOut(ctx context.Context, a *cli.App, w *stack.Session, p *reconcile.Plan, f cli.ApplyFlags, o reconcile.ApplyOptions) error {
	_, err := carryOut(ctx, a, w, p, f, o)
	return err
}

// carryOut is CarryOut for a caller that needs to know what was done.
func carryOut(ctx context.Context, a *cli.App, w *stack.Session, p *reconcile.Plan, f cli.ApplyFlags, o reconcile.ApplyOptions) (reconcile.Result, error) {
	o.ID, o.KeepGoing, o.Version, o.Ignored = w.ApplyID, f.KeepGoing, cli.VersionText(), w.Ignored
	bar := a.NewProgress(p)
	w.Notify = func(format string, args ...any) { bar.Above(func() { a.Say(format, args...) }) }
	o.Events = func(e reconcile.Event) {
		bar.Event(e)
		logEvent(a, e)
		if a.Flags.Verbose && e.Kind != "progress" {
			w.Notify("%s", eventText(e))
		}
		if a.Flags.JSON {
			bar.Locked(func() { _ = a.WriteJSONLine(cli.EventLine(e)) })
		}
	}
	w.Engine.Parallel = f.Parallel
	w.FolderSources().Record(ctx, p)
	if err := w.IgnoreOwnLayer(false); err != nil {
		return reconcile.Result{}, err
	}
	res, err := w.Engine.Apply(ctx, w.WriteEnv(o.Events), w.Store, p, o)
	if late := w.IgnoreOwnLayer(true); late != nil {
		err = errors.Join(err, late)
	}
	w.ForgetUnits(ctx, p)
	err = errors.Join(err, w.SweepKeys())
	bar.Close()
	if a.Flags.JSON {
		if err := a.WriteJSONLine(cli.ResultLine(res, w.LeftOut, err)); err != nil {
			return res, err
		}
	}
	err = view.Outcome(a, p, w.PullModels, res, err)
	if err == nil && len(w.LeftOut) == 0 {
		if err := reportMarkers(a, p); err != nil {
			return res, err
		}
		if err := reportUnknown(a, p, len(res.Done)); err != nil || f.Waiting == 0 {
			return res, err
		}
		a.Say("aisync: %s for your yes; programs obey the files that are already there", effects.Waiting(f.Waiting))
		return res, cli.Exit(cli.ExitPartial)
	}
	if err != nil {
		return res, err
	}
	if len(w.PullModels) > 0 && len(res.Done) == 0 {
		return res, errors.Join(w.LeftOut...) // models pull asks for nothing else
	}
	for _, e := range w.LeftOut {
		a.Say("aisync: %s", termtext.Safe(e.Error()))
	}
	return res, cli.Exit(cli.ExitPartial)
}

// reportUnknown names the resources that could not be observed and were left alone.
func reportUnknown(a *cli.App, p *reconcile.Plan, done int) error {
	code := 0
	for _, c := range p.Changes {
		if c.Action != reconcile.Unclear {
			continue
		}
		a.Say("aisync: %s: not done: cannot be observed: %s", termtext.Safe(string(c.Target.Resource.Address)), termtext.Safe(c.Before.Reason))
		if code = cli.ExitError; done > 0 {
			code = cli.ExitPartial
		}
	}
	if code == 0 {
		return nil
	}
	return cli.Exit(code)
}

// reportMarkers names the files in which a merge left conflict markers.
func reportMarkers(a *cli.App, p *reconcile.Plan) error {
	var files []string
	for _, c := range p.Changes {
		for _, l := range c.Leaves {
			if l.MergeBoth && !l.Rel.CanMerge {
				files = append(files, string(c.Target.Resource.Address))
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	a.Say("aisync: %s has conflict markers; resolve them, then run: aisync apply", termtext.Safe(strings.Join(files, ", ")))
	return cli.Exit(cli.ExitDiff)
}

// eventText returns an event as --verbose shows it.
func eventText(e reconcile.Event) string {
	text := e.Kind + " " + termtext.Safe(strings.TrimSpace(string(e.Action)+" "+string(e.Address)))
	if e.Err != nil {
		text += ": " + termtext.Safe(e.Err.Error())
	}
	return text
}

// logEvent writes an event to the log.
func logEvent(a *cli.App, e reconcile.Event) {
	if e.Kind == "progress" {
		return
	}
	reason := ""
	if e.Err != nil {
		reason = e.Err.Error()
	}
	a.Log(e.Kind, "address", string(e.Address), "action", strings.TrimSpace(string(e.Action)), "error", reason)
}
