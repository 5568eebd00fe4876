// Package trust reports which hooks, MCP servers and other parts of a project an
// agent program refuses until its user approves them. Each program keeps a record
// of the approvals, and the catalog says where. It only reads. Call Check.
package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Row is a part of a project, present or planned, that a program does not load
// according to its own record.
type Row struct {
	Runtime string               `json:"runtime"`
	Parts   []string             `json:"parts"`            // see spec.Trust
	Names   []string             `json:"names,omitempty"`  // the MCP servers and subagents concerned
	State   string               `json:"state"`            // see States
	Reason  string               `json:"reason,omitempty"` // why the state is Unknown
	Do      string               `json:"do"`               // the command that allows it
	Origin  []reconcile.Position `json:"origin"`           // the spec lines that ask for it
}

// States of a Row. An allowed part has no row.
const (
	NotTrusted = "not trusted" // the program's record does not allow it
	Unknown    = "unknown"     // the program keeps no readable record, and the part is changing; or its record is broken
)

// Project is the examined project, and the programs.
type Project struct {
	Dir      string // absolute
	Owner    reconcile.Owner
	Runtimes []spec.Runtime // those that this machine uses
}

// Check compares what p holds for the project with the programs' records. A
// record that p itself will write counts as written.
func Check(r reconcile.ReadEnv, p *reconcile.Plan, project Project) []Row {
	var rows []Row
	for _, rt := range project.Runtimes {
		w := written(p, project.Owner, rt)
		for _, t := range rt.Trust {
			rows = append(rows, w.rows(r, p, project, rt, t)...)
		}
	}
	return rows
}

// parts are a project's parts for one program, by the names of spec.Trust.
type parts map[string]*part

type part struct {
	origin  []reconcile.Position
	digests map[string]string // of MCP servers and subagents by name; "" for a server
	changes bool              // an apply of the plan would write some of it
}

// Folder reports whether the record of program rt says that its user trusts the
// folder dir, or rt keeps no such record. If not, do is what the user runs.
func Folder(r reconcile.ReadEnv, rt spec.Runtime, dir string) (do string, trusted bool) {
	w := words{"{dir}": dir}
	for _, ref := range rt.User.Trust {
		if yes, err := allowed(r, &reconcile.Plan{}, ref, w, false); yes && err == nil {
			return "", true
		}
	}
	if len(rt.User.Trust) == 0 || len(rt.Trust) == 0 {
		return "", true
	}
	return w.in(rt.Trust[0].Do, shellquote.Word), false
}

// written sorts the leaves of owner by their part for the program rt.
func written(p *reconcile.Plan, owner reconcile.Owner, rt spec.Runtime) parts {
	out, s := parts{}, rt.Project
	asks := slices.ContainsFunc(rt.Trust, func(t spec.Trust) bool { return slices.Contains(t.Parts, "subagents") })
	for _, c := range p.Changes {
		for _, l := range c.Leaves {
			if l.Want == nil || !slices.Contains(l.Want.Owners, owner) {
				continue
			}
			for _, kind := range kinds(c.Target.Resource.Address, l, s) {
				out.add(kind, l)
				switch kind {
				case "mcp":
					if names, err := merge.Names(string(l.Key)); err == nil {
						out[kind].digests[names[len(names)-1]] = ""
					}
				case "subagents":
					if !asks {
						continue // their texts need not be read
					}
					out[kind].digests[subagent(c.Target.Resource.Address.Name(), l.Want.Body)] = digest(l.Want.Body.Fingerprint())
				}
			}
		}
	}
	return out
}

// subagent is the name of the subagent in a file: that of its text, or the file's.
func subagent(name string, body reconcile.Body) string {
	if text, ok := file.Text(body); ok {
		_, fields, _, err := frontmatter.SplitRule(text)
		if said := fields.Text("name"); err == nil && said != "" {
			return said
		}
	}
	return strings.TrimSuffix(path.Base(name), path.Ext(name))
}

// digest is the hex digest in a whole file's fingerprint.
func digest(f reconcile.Fingerprint) string {
	_, hex, _ := strings.Cut(string(f), ":")
	hex, _, _ = strings.Cut(hex, "+")
	return hex
}

func (ps parts) add(name string, l reconcile.LeafChange) {
	if ps[name] == nil {
		ps[name] = &part{digests: map[string]string{}}
	}
	for _, o := range l.Want.Origin {
		if !slices.Contains(ps[name].origin, o) {
			ps[name].origin = append(ps[name].origin, o)
		}
	}
	ps[name].changes = ps[name].changes || l.Writes()
}

// kinds names the parts that a leaf belongs to; none if it is not for a program
// with scope s.
func kinds(a reconcile.Address, l reconcile.LeafChange, s spec.Scope) []string {
	if a.Kind() != "file" && a.Kind() != "link" || !a.InProject() {
		return nil
	}
	name, key := a.Name(), string(l.Key)
	in := func(folders ...string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return f != "" && strings.HasPrefix(name, f+"/") })
	}
	under := func(pointer string) bool { return pointer == "" || strings.HasPrefix(key, pointer+"/") }
	switch {
	case s.MCP != nil && name == s.MCP.Path && under(s.MCP.Pointer):
		return []string{"mcp", "everything"}
	case s.Events != nil && name == s.Events.Path && under(s.Events.Pointer):
		return []string{"hooks", "everything"}
	case s.Settings != nil && name == s.Settings.Path && s.Settings.Hooks != "" && under(s.Settings.Hooks):
		return []string{"hooks", "everything"}
	case s.Settings != nil && name == s.Settings.Path, s.Permissions != nil && name == s.Permissions.Path:
		return []string{"settings", "everything"}
	case in(s.Skills), in(s.SkillsAlso...):
		return []string{"skills", "everything"}
	case s.Agents != nil && in(s.Agents.Path):
		return []string{"subagents", "everything"}
	case s.Commands != nil && in(s.Commands.Path):
		return []string{"commands", "everything"}
	case in(s.Rules, s.Dir), slices.Contains(s.Instructions, name), s.RulesBlock == name:
		return []string{"everything"}
	}
	return nil
}

// rows returns the parts of w that the records of t do not allow.
func (w parts) rows(r reconcile.ReadEnv, p *reconcile.Plan, project Project, rt spec.Runtime, t spec.Trust) []Row {
	row := Row{Runtime: rt.ID, State: NotTrusted}
	digests := map[string]string{}
	changes := false
	for _, name := range t.Parts {
		if found := w[name]; found != nil {
			row.Parts = append(row.Parts, name)
			row.Origin = append(row.Origin, found.origin...)
			changes = changes || found.changes
			maps.Copy(digests, found.digests)
		}
	}
	row.Names = slices.Sorted(maps.Keys(digests))
	if len(row.Parts) == 0 {
		return nil
	}
	sort.Slice(row.Origin, func(i, j int) bool { return row.Origin[i].String() < row.Origin[j].String() })
	row.Origin = slices.Compact(row.Origin)
	if events := rt.Project.Events; t.Form == CodexHooks && events != nil {
		row.Do = words{"{dir}": project.Dir}.in(t.Do, shellquote.Word)
		return Hooks(r, p, t, reconcile.Address("file:"+events.Path), path.Join(project.Dir, events.Path), row)
	}
	if len(t.Records) == 0 {
		if !changes {
			return nil // the user has answered about it, or will be asked
		}
		row.State, row.Reason = Unknown, "it asks about new and changed parts, and keeps no readable record"
		row.Do = words{"{dir}": project.Dir}.in(t.Do, shellquote.Word)
		return []Row{row}
	}
	if !byName(t) {
		return row.unless(r, p, t, words{"{dir}": project.Dir})
	}
	var rows []Row
	for _, name := range row.Names {
		one := row
		one.Names = []string{name}
		rows = append(rows, one.unless(r, p, t, words{"{dir}": project.Dir, "{name}": name, "{sha256}": digests[name]})...)
	}
	return rows
}

// words replace {dir}, {name} and {sha256}.
type words map[string]string

// in puts w into text, each value after form.
func (w words) in(text string, form func(string) string) string {
	for _, name := range slices.Sorted(maps.Keys(w)) {
		text = strings.ReplaceAll(text, name, form(w[name]))
	}
	return text
}

// unless returns row if no record of t allows it.
func (row Row) unless(r reconcile.ReadEnv, p *reconcile.Plan, t spec.Trust, w words) []Row {
	row.Do = w.in(t.Do, shellquote.Word)
	for _, ref := range t.Records {
		yes, err := allowed(r, p, ref, w, t.Parents)
		if yes {
			return nil
		}
		if err != nil && row.Reason == "" {
			row.State, row.Reason = Unknown, err.Error()
		}
	}
	return []Row{row}
}

// byName reports whether t is about each MCP server or subagent.
func byName(t spec.Trust) bool {
	return slices.ContainsFunc(t.Records, func(ref spec.Reference) bool {
		return strings.Contains(ref.Pointer, "{name}") || strings.Contains(string(ref.JSON), "{name}")
	})
}

// allowed reports whether the record that ref names says yes. With parents, the
// nearest folder with an entry decides.
func allowed(r reconcile.ReadEnv, p *reconcile.Plan, ref spec.Reference, w words, parents bool) (bool, error) {
	w = maps.Clone(w)
	for {
		key, want, err := resolve(ref, w)
		if err != nil {
			return false, err
		}
		if pending(p, ref.Path, key, want) {
			return true, nil
		}
		live, there, err := read(r, ref, key)
		if there || err != nil {
			return merge.Equal(live, want), err
		}
		up := path.Dir(w["{dir}"])
		if !parents || up == w["{dir}"] || !strings.Contains(ref.Pointer, "{dir}") {
			return false, nil
		}
		w["{dir}"] = up
	}
}

// resolve puts w into ref.
func resolve(ref spec.Reference, w words) (key string, want merge.Value, err error) {
	key = w.in(ref.Pointer, func(s string) string { return strings.TrimPrefix(merge.Pointer(s), "/") })
	want = merge.Value(w.in(string(ref.JSON), func(s string) string {
		text := string(merge.TextValue(s))
		return text[1 : len(text)-1]
	}))
	if set, ok := strings.CutSuffix(key, "/-"); ok {
		key, err = merge.SetKey(set, want)
	}
	return key, want, err
}

// pending reports whether an apply of p makes the record say so.
func pending(p *reconcile.Plan, path, key string, want merge.Value) bool {
	for _, c := range p.Changes {
		if a := c.Target.Resource.Address; a.Kind() != "file" || a.Name() != path {
			continue
		}
		for _, l := range c.Leaves {
			if string(l.Key) == key && l.Want != nil && l.Writes() {
				return l.Want.Body.Fingerprint() == file.Value(want).Fingerprint()
			}
		}
	}
	return false
}

// read reads a record. A missing file says nothing.
func read(r reconcile.ReadEnv, ref spec.Reference, key string) (merge.Value, bool, error) {
	a := reconcile.Address("file:" + ref.Path)
	doc, err := r.FS.ReadFile(a.Path(r.Home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", ref.Path, err)
	}
	leaves, err := merge.Read(merge.Format(ref.Format), doc, []string{key})
	if err != nil {
		return nil, false, fmt.Errorf("%s:%w", ref.Path, err)
	}
	l, ok := leaves[key]
	return l.Value, ok, nil
}
