package everyproject

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// Change is one thing that changes, or differs, in a project.
type Change struct {
	Word   string           // what it is: an action's sign, drift, pending
	What   string           // the file, address or finding
	Why    string           // in words
	Detail string           // what makes it another one, and is not shown
	Lines  []reconcile.Line // the difference
	Whole  bool             // Lines are the text of a file that comes or goes
}

// Group is the same change in several projects.
type Group struct {
	Change
	Added, Removed int // lines
	Projects       []string
}

// GroupDoc is a Group as JSON.
type GroupDoc struct {
	Action   string           `json:"action"`
	What     string           `json:"what"`
	Meaning  string           `json:"meaning"`
	Added    int              `json:"added"`   // lines
	Removed  int              `json:"removed"` // lines
	Lines    []reconcile.Line `json:"lines,omitempty"`
	Projects []string         `json:"projects"`
}

// Groups collects changes that are equal: their lines are, wherever in the file they
// stand.
type Groups struct {
	Every bool     // print all of them: a harmful one could hide among those left out
	Order []string // words in the order in which their groups are shown; others come first

	list []*Group
	by   map[string]*Group
}

// Add adds the change of a project.
func (g *Groups) Add(project string, c Change) {
	var key strings.Builder
	fmt.Fprintf(&key, "%s\x00%s\x00%s\x00%s", c.Word, c.What, c.Why, c.Detail)
	added, removed := 0, 0
	for _, l := range c.Lines {
		switch l.Op {
		case '+':
			added++
		case '-':
			removed++
		case '~':
		default:
			continue // where the change stands
		}
		fmt.Fprintf(&key, "\x00%c%s", l.Op, l.Text)
	}
	if g.by == nil {
		g.by = map[string]*Group{}
	}
	known := g.by[key.String()]
	if known == nil {
		known = &Group{Change: c, Added: added, Removed: removed}
		g.by[key.String()] = known
		g.list = append(g.list, known)
	} else if !slices.Equal(known.Lines, c.Lines) {
		known.Lines = slices.DeleteFunc(slices.Clone(known.Lines), func(l reconcile.Line) bool { return !strings.ContainsRune("+-~", rune(l.Op)) })
	}
	if !slices.Contains(known.Projects, project) {
		known.Projects = append(known.Projects, project)
	}
}

// Sorted returns the groups in their order, of one word those of the most projects
// first.
func (g *Groups) Sorted() []*Group {
	slices.SortStableFunc(g.list, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(slices.Index(g.Order, a.Word), slices.Index(g.Order, b.Word)), cmp.Compare(len(b.Projects), len(a.Projects)), strings.Compare(a.What, b.What))
	})
	return g.list
}

// Docs returns the groups as JSON.
func (g *Groups) Docs() []GroupDoc {
	out := []GroupDoc{}
	for _, x := range g.Sorted() {
		out = append(out, GroupDoc{x.Word, x.What, x.Why, x.Added, x.Removed, x.Lines, x.Projects})
	}
	return out
}

// few is how many projects are named, and most how many groups are shown without
// --verbose.
const (
	few  = 3
	most = 40
)

// Print prints the groups below title, with the first lines of each difference. Of
// more than forty it prints the first, unless --verbose or Every is set.
// of is how many projects there are.
func (g *Groups) Print(r *Run, title string, of int, mode cli.DiffMode, paint func(cli.Painter, string) string) {
	list := g.Sorted()
	if len(list) == 0 {
		return
	}
	a := r.App
	p := a.Paint()
	r.Gap()
	a.Printf("%s\n", p.Bold(title))
	left := 0
	if len(list) > most && !a.Flags.Verbose && !g.Every {
		list, left = list[:most], len(list)-most
	}
	for _, x := range list {
		line := fmt.Sprintf("  %s %s", paint(p, x.Word), p.Bold(termtext.Safe(x.What)))
		if x.Why != "" {
			line += "  " + termtext.Safe(x.Why)
		}
		if count := x.count(); count != "" {
			line += "  " + count
		}
		a.Printf("%s%s\n", line, p.Dim("  "+termtext.Safe(x.where(of))))
		if !x.Whole || mode == cli.DiffFull {
			view.RenderDiff(a.Out, p, x.Lines, mode, "      ", r.words())
		}
	}
	if left > 0 {
		a.Printf("  … %s (--verbose)\n", quantity.Count(left, "more change"))
	}
}

// count says how many lines come and go.
func (x *Group) count() string {
	var words []string
	if x.Added > 0 {
		words = append(words, fmt.Sprintf("+%d", x.Added))
	}
	if x.Removed > 0 {
		words = append(words, fmt.Sprintf("−%d", x.Removed))
	}
	return strings.Join(words, " ")
}

// where says in which of so many projects the change is.
func (x *Group) where(of int) string {
	switch n := len(x.Projects); {
	case n == of && n > few:
		return fmt.Sprintf("in all %d projects", n)
	case n <= few:
		return "in " + strings.Join(x.Projects, ", ")
	default:
		return "in " + quantity.Count(n, "project")
	}
}

// Sign paints the sign of an action.
func Sign(p cli.Painter, word string) string {
	return view.PlanText{Paint: p}.Symbol(reconcile.Action(word))
}
