package stack

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// errNoLinks says that this build of the program cannot read links.
var errNoLinks = errors.New("this build cannot read links")

// Files returns the files of this machine, as programs find them.
func Files() (loads.Tree, error) {
	tree, ok := os.DirFS("/").(loads.Tree)
	if !ok {
		return nil, errNoLinks
	}
	return tree, nil
}

// FilesAfter returns the files of this machine as they will be after p. A target
// that p leaves alone, or whose content cannot be computed, stays as it is.
func (v *View) FilesAfter(p *reconcile.Plan) (loads.Tree, error) {
	return v.filesAfter(p, folders{}, func(reconcile.Change) bool { return false })
}

// filesAfter is FilesAfter without the changes that skip says are of no account.
func (v *View) filesAfter(p *reconcile.Plan, known folders, skip func(reconcile.Change) bool) (*loads.Planned, error) {
	base, err := Files()
	if err != nil {
		return nil, err
	}
	tree := &loads.Planned{Base: base, Files: map[string][]byte{}, Links: map[string]string{}}
	if p == nil {
		return tree, nil
	}
	env := v.ReadEnv()
	for _, c := range p.Changes {
		a := c.Target.Resource.Address
		if !a.IsPath() || !c.Writes() || skip(c) {
			continue
		}
		at := known.of(v.Places, a)
		switch a.Kind() {
		case "file":
			switch doc, _, gone, err := file.After(env, c); {
			case err != nil:
			case gone:
				tree.Removed = append(tree.Removed, at)
			default:
				tree.Files[at] = doc
			}
		case "link":
			tree.Removed = append(tree.Removed, at)
			for _, l := range c.Leaves {
				if l.Want == nil {
					continue
				}
				if to, ok := link.TargetOf(l.Want.Body); ok {
					tree.Links[at] = to
				}
			}
		}
	}
	tree.Removed = slices.DeleteFunc(tree.Removed, func(at string) bool { return tree.Files[at] != nil || tree.Links[at] != "" })
	return tree, nil
}

// folders resolves the links in the folders of paths, each once.
type folders map[string]string

// real is p with the links in its folder resolved, as far as it exists: a Planned
// keeps files by the folder that they really lie in.
func (f folders) real(p string) string {
	dir, base := path.Split(p)
	dir = path.Clean(dir)
	if _, known := f[dir]; !known {
		f[dir] = dir
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			f[dir] = real
		} else if dir != "/" {
			f[dir] = f.real(dir)
		}
	}
	return path.Join(f[dir], base)
}

// of is where an address lies.
func (f folders) of(p place.Places, a reconcile.Address) string {
	return f.real(p.Physical(a.Path(p.Home)))
}

// ContextQuestion asks what programs load in tree, started in the project, or
// where there is none in a folder of the home without texts.
func (v *View) ContextQuestion(tree loads.Tree) contextreport.Question {
	q := contextreport.Question{
		Catalog: v.Catalog.Runtimes(), Start: v.Places.Project, Origin: v.origins(),
		Machine: loads.Machine{Tree: tree, Home: v.Places.Physical(v.Places.Home), Environment: v.Env},
	}
	if q.Start == "" {
		q.Start = path.Join(q.Machine.Home, "any project")
	}
	return q
}

// origins returns what names the source file and the lines of specs that a file
// is made from; "" for a file that no spec asks for. It needs v.Declare.
func (v *View) origins() func(string) string {
	from, known := map[string][]string{}, folders{}
	add := func(at, what string) {
		if what != "" && !slices.Contains(from[at], what) {
			from[at] = append(from[at], what)
		}
	}
	for _, d := range v.Declared.Declarations {
		if !d.Target.IsPath() {
			continue
		}
		at := known.of(v.Places, d.Target)
		if real, err := filepath.EvalSymlinks(at); err == nil && d.Format != "" { // a shared file may be a link
			at = real
		}
		for _, l := range d.Leaves {
			if source, _, ok := file.SourceOf(l.Body); ok && source != "" {
				add(at, v.Places.Short(v.Cwd, source))
			}
			for _, o := range l.Origin {
				add(at, o.String())
			}
		}
	}
	return func(at string) string { return strings.Join(from[at], ", ") }
}

// Budgets returns the budgets of the specs that v looks at.
func (v *View) Budgets() []spec.ContextBudget {
	var out []spec.ContextBudget
	if v.Spec.Host != nil && v.Has(reconcile.HostOwner) {
		out = append(out, v.Spec.Host.Context...)
	}
	if v.Spec.Project != nil && v.Has(reconcile.ProjectOwner(v.Places.Project)) {
		out = append(out, v.Spec.Project.Context...)
	}
	return out
}

// BudgetNotes returns a warning for each budget that does not hold once p is
// applied, and a note for each that cannot be checked.
func (v *View) BudgetNotes(p *reconcile.Plan) ([]reconcile.Note, error) {
	budgets := v.Budgets()
	if len(budgets) == 0 {
		return nil, nil
	}
	tree, err := v.FilesAfter(p)
	if err != nil {
		return nil, err
	}
	q := v.ContextQuestion(tree)
	exceeded, err := q.Exceeded(budgets)
	if err != nil {
		return nil, fmt.Errorf("compute what programs load: %w", err)
	}
	var out []reconcile.Note
	for _, e := range exceeded {
		out = append(out, reconcile.Note{Warning: true, Text: v.ExcessText(e) + "; " + v.ExcessFix(e), Origin: []reconcile.Position{reconcile.Position(e.Budget.Pos)}})
	}
	unchecked, why := q.Unchecked(budgets)
	for i, b := range unchecked {
		out = append(out, reconcile.Note{Text: fmt.Sprintf("the budget of %s is not checked: %s", b.Runtime, why[i]), Origin: []reconcile.Position{reconcile.Position(b.Pos)}})
	}
	return out, nil
}

// ExcessText says which program loads how much at its start, its budget, and
// from which files most of it comes.
func (v *View) ExcessText(e contextreport.Excess) string {
	where := "outside of projects"
	if v.Places.Project != "" {
		where = "here"
	}
	var files []string
	for _, f := range e.Largest {
		text := fmt.Sprintf("%s (%s", termtext.Safe(v.Places.Short(v.Cwd, f.Path)), quantity.Bytes(int64(f.Bytes)))
		if f.Copies > 1 {
			text += fmt.Sprintf(" in %d copies", f.Copies)
		}
		if f.Origin != "" {
			text += ", from " + termtext.Safe(f.Origin)
		}
		files = append(files, text+")")
	}
	return fmt.Sprintf("%s loads about %d tokens at its start %s, and its budget is %s: the largest files are %s", e.Budget.Runtime, e.Tokens, where, e.Budget.Text, strings.Join(files, ", "))
}

// ExcessFix says what to do about e.
func (v *View) ExcessFix(e contextreport.Excess) string {
	return fmt.Sprintf("aisync context %s lists all; shorten a file, give a rule paths, drop its bundle, or raise max in context: %s", e.Budget.Runtime, e.Budget.Runtime)
}

// ProgramsHere returns the ids of the programs that the specs name, else of
// those that are installed, in the order of the catalog.
func (v *View) ProgramsHere() ([]string, error) {
	named := map[string]bool{}
	if h := v.Spec.Host; h != nil && !h.Builtin {
		for _, u := range h.Runtimes {
			named[u.ID] = true
		}
	}
	if p := v.Spec.Project; p != nil {
		for _, n := range p.RuntimesHere() {
			named[n.Value] = true
		}
	}
	if len(named) == 0 {
		f, err := v.Facts()
		if err != nil {
			return nil, err
		}
		for _, r := range v.Catalog.Runtimes() {
			named[r.ID] = r.Command != "" && f.Programs[r.Command] != ""
		}
	}
	return slices.DeleteFunc(catalog.RuntimeIDs(v.Catalog.Runtimes()), func(id string) bool { return !named[id] }), nil
}
