package start

import (
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/reconcile"
)

// replaced returns the imported files that may go once p is applied: aisync writes
// their text elsewhere, and no program of the catalog, in the spec or not, would
// miss them.
func (im *importing) replaced(v *stack.View, p *reconcile.Plan) ([]string, error) {
	var targets []string
	for _, d := range v.Declared.Declarations {
		targets = append(targets, v.Places.Physical(d.Target.Path(v.Places.Home)))
	}
	var gone []string
	for _, t := range im.found.Taken {
		at := filepath.Join(im.dir, t.From)
		kept := slices.ContainsFunc(targets, func(p string) bool { return p == at || strings.HasPrefix(p, at+"/") })
		if !kept && !im.throughLink(t.From) && slices.Contains([]string{"rule", "skill", "command", "agent"}, t.What) && !strings.HasPrefix(t.From, ".rule") {
			gone = append(gone, at)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	before, err := stack.Files()
	if err != nil {
		return nil, err
	}
	after, err := v.FilesAfter(p)
	if err != nil {
		return nil, err
	}
	needed, read := map[string]bool{}, map[string]bool{}
	under := func(f loads.File, at string) bool {
		return f.Path == at || f.Real == at || strings.HasPrefix(f.Path, at+"/") || strings.HasPrefix(f.Real, at+"/")
	}
	m := loads.Machine{Tree: before, Home: v.Places.Physical(v.Places.Home), Trust: loads.Granted}
	start := im.dir
	if im.options.Home {
		start = filepath.Join(im.dir, ".aisync-import") // no project
	}
	for _, rt := range catalog.Runtimes() {
		if rt.Loads == nil {
			continue
		}
		m.Tree = before
		had, err := loads.Loads(rt, m, start)
		if err != nil {
			return nil, err
		}
		m.Tree = &loads.Planned{Base: after, Removed: gone}
		has, err := loads.Loads(rt, m, start)
		if err != nil {
			return nil, err
		}
		missed, _ := loads.Compare(had, has)
		for _, at := range gone {
			in := func(i loads.Item) bool {
				return slices.ContainsFunc(i.From, func(f loads.File) bool { return under(f, at) })
			}
			needed[at] = needed[at] || slices.ContainsFunc(missed, in)
			read[at] = read[at] || slices.ContainsFunc(had.Items, in)
		}
	}
	var out []string
	for _, at := range gone {
		if read[at] && !needed[at] {
			out = append(out, im.short(at))
		}
	}
	return out, nil
}

// throughLink reports whether a folder above rel is a link: what is removed there
// is gone from another place too.
func (im *importing) throughLink(rel string) bool {
	top, err := filepath.EvalSymlinks(im.dir)
	if err != nil {
		return true
	}
	in, err := filepath.EvalSymlinks(filepath.Join(im.dir, filepath.Dir(rel)))
	return err != nil || in != filepath.Join(top, filepath.Dir(rel))
}

// loadChanges returns what programs of the catalog, in the spec or not, load more
// and less once p is applied.
func (im *importing) loadChanges(v *stack.View, p *reconcile.Plan) ([]contextreport.LoadChange, error) {
	now, err := stack.Files()
	if err != nil {
		return nil, err
	}
	then, err := v.FilesAfter(p)
	if err != nil {
		return nil, err
	}
	q := v.ContextQuestion(now)
	start := q.Start
	if real, err := filepath.EvalSymlinks(start); err == nil {
		start = real
	}
	q.Machine.Trust = loads.Granted
	after := q.Machine
	after.Tree = then
	return contextreport.LoadChanges(q.Catalog, q.Machine, after, start, v.ShortPath)
}
