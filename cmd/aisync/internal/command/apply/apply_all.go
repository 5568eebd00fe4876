package apply

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/internal/quantity"
)

// applyAllFlags are the flags of apply --all.
type applyAllFlags struct {
	cli.ApplyFlags
	commit everyproject.CommitFlags
}

// applying is one apply --all, or destroy --all.
type applying struct {
	run     *everyproject.Run
	flags   applyAllFlags
	verb    string // of the question, such as Apply
	past    string
	commits everyproject.Commits
	dir     string // of the plan files
	trust   bool   // the person said yes to the effects that were shown
	accept  []string
	width   int // of the names of projects
	codes   []int
	applied int // projects
	done    int // resources
	failed  int // projects
	left    int // projects that wait for a person

	look  []string                                                         // the command that plans in one project
	words func(n int, p *everyproject.Planned) (words []string, err error) // the n-th command that carries a plan out
}

// applyAll shows the plans of all projects, asks once, and carries out each.
func applyAll(ctx context.Context, r *everyproject.Run, f applyAllFlags) error {
	if len(r.Args) > 0 {
		return &cli.UsageError{Text: "apply --all makes the plans itself: leave out the plan file", Advice: "a message of the commits: --message TEXT"}
	}
	commits, err := r.Commits(f.commit)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "aisync-plans-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := &applying{run: r, flags: f, commits: commits, dir: dir, look: planWords(r), verb: "Apply", past: "Applied"}
	p.words = p.fromPlanFile
	return p.do(ctx, "What changes", f.DryRun)
}

// do shows the plans of all projects below title, asks once, and carries out each,
// unless dryRun.
func (p *applying) do(ctx context.Context, title string, dryRun bool) error {
	mode, err := cli.ParseDiffMode(p.flags.Diff)
	if err != nil {
		return err
	}
	plans, err := p.plan(ctx, p.run.List)
	if err != nil {
		return err
	}
	if dryRun && p.run.App.Flags.JSON {
		return printPlans(p.run, plans)
	}
	if !p.run.App.Flags.JSON {
		p.run.PrintPlans(plans, title, mode)
		p.run.PrintWithoutSpec()
	}
	if dryRun {
		p.run.Gap()
		p.run.App.Printf("%s\n", summarizeAll(plans))
		return nil
	}
	todo, err := p.decide(plans)
	if err != nil {
		return err
	}
	return p.all(ctx, plans, todo)
}

// plan returns the plans of list.
func (p *applying) plan(ctx context.Context, list []projects.Project) ([]*everyproject.Planned, error) {
	answers := p.run.Each(ctx, list, everyproject.Parallel(), func(projects.Project) []string { return p.look }, nil)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	plans := p.run.Plans(answers)
	return plans, wrongForAll(plans)
}

// planWords is the command that plans what apply was asked for.
func planWords(r *everyproject.Run) []string {
	words := r.Command([]string{"dry-run", "keep-going", "trust", "accept", "parallel", "lock-timeout", "limit-rate", "connections"}, nil, "--json", "--scope=project")
	words[0] = "plan"
	return words
}

// decide asks what has to be asked, once for all projects, and returns the plans that
// are carried out. A project with something undecided is left out, unless
// --keep-going does the rest there.
func (p *applying) decide(plans []*everyproject.Planned) ([]*everyproject.Planned, error) {
	var todo []*everyproject.Planned
	var asked []*everyproject.Planned
	for _, x := range plans {
		if x.Failed == "" && (x.Summary.Conflict == 0 || p.flags.KeepGoing) {
			asked = append(asked, x)
		}
	}
	shown := everyproject.Show(asked)
	if err := p.askEffects(len(shown.Effects.Sorted())); err != nil {
		return nil, err
	}
	if err := p.askFlagged(asked); err != nil {
		return nil, err
	}
	n := 0
	for _, x := range plans {
		if x.Failed == "" && p.leftOut(x) == "" && x.Changing()+len(x.Undecided) > 0 {
			todo = append(todo, x)
			n += x.Changing()
		}
	}
	if n == 0 {
		return todo, nil
	}
	return todo, p.run.Confirm(p.flags.Yes, p.verb+" "+p.what(n)+" in "+quantity.Count(len(todo), "project")+"?")
}

// what names n resources of all projects, in the question about them.
func (p *applying) what(n int) string {
	if p.verb == "Apply" {
		return theseChanges(n)
	}
	return quantity.Count(n, "resource")
}

// askEffects asks about n effects, each of which may be in several projects.
func (p *applying) askEffects(n int) error {
	a := p.run.App
	if p.trust = p.flags.Trust; n == 0 || p.trust || p.flags.KeepGoing || a.Flags.JSON || !a.Terminal() {
		return nil
	}
	answer, err := a.Choose(effects.Waiting(n)+" for your yes (see above).", "yes", "without them", "no")
	p.trust, p.flags.KeepGoing = answer == "yes", answer == "without them"
	return err
}

// askFlagged asks about the flagged texts of plans.
func (p *applying) askFlagged(plans []*everyproject.Planned) error {
	a := p.run.App
	p.accept = p.flags.Accept
	if p.flags.KeepGoing || a.Flags.JSON || !a.Terminal() {
		return nil
	}
	var open []string
	for _, x := range plans {
		for _, t := range x.Flagged {
			if !slices.Contains(p.accept, t.ID) && !slices.Contains(open, t.ID) {
				open = append(open, t.ID)
			}
		}
	}
	if len(open) == 0 {
		return nil
	}
	answer, err := a.Choose(flagged.Waiting(len(open))+" for your yes (see above). Read them first: aisync plan in a project shows each.", "yes", "without them", "no")
	if answer == "yes" {
		p.accept = append(slices.Clone(p.accept), open...)
	}
	p.flags.KeepGoing = p.flags.KeepGoing || answer == "without them"
	return err
}

// leftOut says why nothing is done in a project that has something to do; "" if it
// is done.
func (p *applying) leftOut(x *everyproject.Planned) string {
	if p.flags.KeepGoing {
		return ""
	}
	open := slices.ContainsFunc(x.Flagged, func(t flagged.Text) bool { return !slices.Contains(p.accept, t.ID) })
	switch {
	case x.Summary.Conflict > 0:
		return countAre(x.Summary.Conflict, "resource") + " undecided; nothing was changed; aisync plan there shows the choices"
	case len(x.Undecided) > 0 && !p.trust:
		return effects.Waiting(len(x.Undecided)) + " for your yes; nothing was changed; --trust is a yes"
	case open:
		return flagged.Waiting(len(x.Flagged)) + " for your yes; nothing was changed; --accept ID is a yes"
	}
	return ""
}

// all carries out todo, prints what becomes of each project, and returns the exit code
// as an error. One apply runs at a time, and commits are made beside the next.
func (p *applying) all(ctx context.Context, plans, todo []*everyproject.Planned) error {
	if !p.run.App.Flags.JSON && slices.ContainsFunc(plans, func(x *everyproject.Planned) bool { return x.Failed == "" && !x.InOrder() }) {
		p.run.Gap()
	}
	for _, x := range plans {
		if x.Failed == "" && !x.InOrder() {
			p.width = max(p.width, min(len(x.Name), 50))
		}
	}
	for _, x := range plans {
		why := p.leftOut(x)
		switch {
		case x.Failed != "":
			p.result(x, outcome{code: cli.ExitError, failed: x.Failed, printed: true})
		case why != "" && !x.InOrder():
			code := cli.ExitConflict
			if x.Changing() == 0 && x.Summary.Drift == x.Summary.Conflict && x.Summary.Pending == 0 && len(x.Undecided)+len(x.Flagged) == 0 {
				code = cli.ExitDiff // nothing to do but edits
			}
			p.result(x, outcome{code: code, failed: why})
		case x.Summary.Unknown > 0 && !slices.Contains(todo, x):
			p.result(x, outcome{code: cli.ExitError, failed: countAre(x.Summary.Unknown, "resource") + " unknown; aisync plan there shows why"})
		}
	}
	stale, err := p.carryOut(ctx, todo, true)
	if err == nil && len(stale) > 0 && ctx.Err() == nil {
		err = p.again(ctx, stale)
	}
	if err == nil {
		err = p.conclude(len(plans))
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return everyproject.ExitFor(p.codes)
}

// again plans anew where a plan was stale, and carries out what is as it was shown.
// An answer that counts in several projects, and the first apply on a machine, make the
// plans of the others stale.
func (p *applying) again(ctx context.Context, stale []*everyproject.Planned) error {
	was := map[string]*everyproject.Planned{}
	var list []projects.Project
	for _, x := range stale {
		was[x.Dir] = x
		list = append(list, x.Project)
	}
	plans, err := p.plan(ctx, list)
	if err != nil {
		return err
	}
	var todo []*everyproject.Planned
	for _, x := range plans {
		if x.Failed == "" && x.IsPartOf(was[x.Dir]) {
			todo = append(todo, x)
			continue
		}
		p.result(x, outcome{code: cli.ExitError, failed: strings.TrimPrefix(x.Failed+"; changed since the plan was made; nothing was changed there", "; ")})
	}
	_, err = p.carryOut(ctx, todo, false)
	return err
}

// carryOut applies todo. It returns those whose plan was stale, if retry is true;
// otherwise these have failed.
func (p *applying) carryOut(ctx context.Context, todo []*everyproject.Planned, retry bool) (stale []*everyproject.Planned, err error) {
	words := map[string][]string{}
	byDir := map[string]*everyproject.Planned{}
	files := map[string][]string{}
	var list []projects.Project
	for i, x := range todo {
		if words[x.Dir], err = p.words(i, x); err != nil {
			return nil, err
		}
		byDir[x.Dir], files[x.Dir] = x, x.Files()
		list = append(list, x.Project)
	}
	commits := p.commits.Before(ctx, files)
	ended := make(chan everyproject.Answer, len(todo))
	var printed sync.WaitGroup
	printed.Go(func() {
		for answer := range ended {
			x := byDir[answer.Dir]
			o := outcomeOf(p.run, x, answer)
			if retry && o.code == cli.ExitStale {
				stale = append(stale, x)
				continue
			}
			if o.commit = commits[answer.Dir]; o.done > 0 {
				p.commits.After(context.WithoutCancel(ctx), o.commit)
			}
			p.result(x, o)
		}
	})
	p.run.Each(ctx, list, 1, func(one projects.Project) []string { return words[one.Dir] }, func(a everyproject.Answer) { ended <- a })
	close(ended)
	printed.Wait()
	return stale, nil
}

// fromPlanFile writes the plan of a project and returns the command that carries it out.
func (p *applying) fromPlanFile(n int, x *everyproject.Planned) ([]string, error) {
	file := filepath.Join(p.dir, fmt.Sprintf("%d.plan", n))
	if err := os.WriteFile(file, []byte(x.Out), 0o600); err != nil {
		return nil, err
	}
	more := []string{"--json", "--yes", "--diff=none"} // it was shown
	if p.flags.KeepGoing {
		more = append(more, "--keep-going")
	}
	if p.trust {
		more = append(more, "--trust")
	}
	for _, id := range p.accept {
		if slices.ContainsFunc(x.Flagged, func(t flagged.Text) bool { return t.ID == id }) {
			more = append(more, "--accept="+id)
		}
	}
	without := []string{"target", "exclude", "force", "restore", "adopt", "merge", "take-over", "trust", "accept", "keep-going", "diff"}
	return p.run.Command(without, []string{file}, more...), nil
}
