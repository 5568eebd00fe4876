package view

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/adapter/trust"
	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/app/meaning"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
)

// Plan is a plan as plan prints it: the engine's document and what only the command
// line knows. Its JSON is documented in docs/json.md.
type Plan struct {
	reconcile.PlanDoc
	Disk *diskView `json:"disk,omitempty"`

	// Skills lists the rows of skills, each for the changes of its files.
	Skills []Skill `json:"skills"`

	// Effects lists what programs and git will obey in the project and is not approved.
	Effects []effects.Effect `json:"undecided_effects"`

	// Flagged lists texts of sources that attack the agent that reads them, and are not
	// accepted.
	Flagged []flagged.Text `json:"flagged"`

	// NotTrusted lists what programs do not load before their user allows it there.
	NotTrusted []trust.Row `json:"not_trusted"`

	next      map[reconcile.Address]string // how to decide a conflict
	unchanged []reconcile.Address
}

// diskView is the free space on the file system of the store.
type diskView struct {
	Path   string `json:"path"`
	Before int64  `json:"free_bytes_before"`
	After  int64  `json:"free_bytes_after"`
}

// PlanOf returns the document of p, without Disk, Effects, Flagged and NotTrusted.
func PlanOf(p *reconcile.Plan, m reconcile.PlanMeta, explain func(reconcile.Change) []reconcile.Line) *Plan {
	v := &Plan{PlanDoc: p.Doc(m, explain), Effects: []effects.Effect{}, Flagged: []flagged.Text{}, NotTrusted: []trust.Row{}, next: map[reconcile.Address]string{}}
	words := map[reconcile.Address]string{}
	skill := meaning.Skills(p)
	for _, c := range p.Changes {
		a := c.Target.Resource.Address
		words[a] = meaning.Of(c)
		if c.Action == reconcile.None {
			v.unchanged = append(v.unchanged, a)
		}
		if c.Action == reconcile.Clash {
			v.next[a] = nextStep(c)
		}
	}
	for _, rows := range [][]reconcile.ChangeDoc{v.Changes, v.Drift} {
		for i := range rows {
			rows[i].Meaning, rows[i].Skill = words[rows[i].Address], skill(rows[i].Address)
		}
	}
	v.Skills = skillsOf(v.Changes)
	return v
}

// nextStep returns how a person can decide c, one way a line.
func nextStep(c reconcile.Change) string {
	ways := Ways(c)
	switch {
	case len(ways) > 0:
	case c.Older():
		return "pull its source, as the note says, then: aisync apply"
	case c.Before.Reason != "":
		return "" // the reason tells what to do
	default:
		return "move it away, then: aisync apply"
	}
	return strings.Join(ways, "\n")
}

// Ways returns the commands that decide c, each with what it does; none where no
// choice can.
func Ways(c reconcile.Change) []string {
	a := shellquote.Terminal(string(c.Target.Resource.Address))
	var ways []string
	for _, way := range []struct {
		choice reconcile.Choice
		text   string
	}{
		{reconcile.Choice{Merge: true}, "merge both: aisync apply --merge --target " + a},
		{reconcile.Choice{Restore: true}, "undo the edit: aisync apply --restore --target " + a},
		{reconcile.Choice{Adopt: true}, "keep what is there: aisync adopt " + a},
		{reconcile.Choice{Force: true}, "replace it, with a backup: aisync apply --force --target " + a},
	} {
		if c.DecidedBy(way.choice) && !(way.choice.Force && len(ways) > 0 && strings.HasPrefix(ways[0], "undo the edit")) {
			ways = append(ways, way.text)
		}
	}
	return ways
}

// isProject reports whether r belongs under the project's heading.
func isProject(r reconcile.ChangeDoc) bool {
	if r.Address.InProject() {
		return true
	}
	for _, o := range r.Owners {
		if o == "host" {
			return false
		}
	}
	return true
}

// WholeText reports whether the difference of r is the whole text of a file that is
// created or deleted: its length says enough.
func WholeText(r reconcile.ChangeDoc) bool {
	if r.Kind != "file" || len(r.Leaves) != 1 || r.Action != reconcile.Create && r.Action != reconcile.Delete {
		return false
	}
	if k := r.Leaves[0].Key; k != "" && k != reconcile.Seed {
		return false
	}
	for _, l := range r.Lines {
		if l.Op != '+' && l.Op != '-' {
			return false
		}
	}
	return true
}

// NewPlan returns the document of p with everything that plan prints as JSON.
func NewPlan(ctx context.Context, w *stack.View, p *reconcile.Plan, ask stack.Request, mode cli.DiffMode) *Plan {
	return newPlan(ctx, w, p, ask, mode, w.Explain(ctx))
}

// NewPlanAsText returns the document of p with what its text shows: a short one
// needs no lines of the new files of a skill, which it counts.
func NewPlanAsText(ctx context.Context, w *stack.View, p *reconcile.Plan, ask stack.Request, mode cli.DiffMode) *Plan {
	explain := w.Explain(ctx)
	if mode == cli.DiffShort {
		explain = withoutCounted(p, explain)
	}
	return newPlan(ctx, w, p, ask, mode, explain)
}

func newPlan(ctx context.Context, w *stack.View, p *reconcile.Plan, ask stack.Request, mode cli.DiffMode, explain func(reconcile.Change) []reconcile.Line) *Plan {
	if mode == cli.DiffNone {
		explain = nil
	}
	v := PlanOf(p, w.Meta(p, ask), explain)
	_, undecided := w.Effects(p)
	v.Effects = cli.OrEmpty(undecided)
	v.Flagged = cli.OrEmpty(Flagged(ctx, w, p))
	v.NotTrusted = cli.OrEmpty(w.NotTrusted(p))
	if v.Summary.FetchBytes > 0 && w.Spec.Host != nil {
		var takes int64
		for _, c := range p.Changes {
			if c.Writes() {
				takes += c.Before.Space
			}
		}
		v.Disk = disk(w, takes)
	}
	return v
}

// disk returns the free space where the models go, before and after takes bytes more;
// nil where it is unknown.
func disk(w *stack.View, takes int64) *diskView {
	store := w.Spec.Host.Store.Value
	if store == "" {
		store = "~"
	}
	logical := reconcile.Address("dir:" + store).Path(w.Places.Home)
	dir := w.Places.Physical(logical)
	for {
		if _, err := os.Stat(dir); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return nil
	}
	free := int64(s.Bavail) * int64(s.Bsize)
	return &diskView{Path: store, Before: free, After: free - takes}
}

// NewPlanText returns how to print plans of w; command is named in hints.
func NewPlanText(a *cli.App, w *stack.View, command string, mode cli.DiffMode) PlanText {
	t := PlanText{Paint: a.Paint(), Diff: mode, Command: command, Host: "Host", Project: "Project", Unchanged: a.Flags.Verbose}
	if w.Spec == nil {
		return t // a command that uses only the records
	}
	if h := w.Spec.Host; h != nil {
		t.Host = "Host " + h.Name
		if !h.Builtin {
			t.Host += " (" + w.Places.Short(w.Cwd, w.Places.Config) + ")"
		}
		if w.Places.NewRoot {
			t.Host += " (root " + w.Places.Root + ", does not exist yet)"
		}
	}
	if p := w.Spec.Project; p != nil {
		t.Project = "Project " + p.Name + " (" + w.Places.Short(w.Cwd, w.Places.Project) + ")"
	}
	return t
}
