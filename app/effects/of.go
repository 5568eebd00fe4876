package effects

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Project is the examined folder.
type Project struct {
	Dir      string                 // absolute
	Runtimes []spec.Runtime         // programs whose files all count
	Others   []spec.Runtime         // programs of which only the files that the plan writes count
	Trusts   []Trust                // entries by which programs trust the folder
	Hooked   bool                   // git runs its hooks even if the plan does not say so
	Carried  func(name string) bool // whether git's HEAD has a file; nil: it has all
	Checks   bool                   // the checks that "aisync launch" runs count
	Launches []Launch               // what "aisync launch" starts because of the project's sources
}

// Launch is a program that a source of the project describes.
type Launch struct {
	Runtime, Command, Digest string // Digest: of the whole description
	Origin                   []reconcile.Position
}

// Of returns what programs and git will obey in p after plan; a nil plan leaves
// the folder as it is.
func Of(p Project, r reconcile.ReadEnv, plan *reconcile.Plan) []Effect {
	t := newTree(p.Dir, r, plan)
	t.carried = p.Carried
	var out []Effect
	all := func(string) bool { return true }
	more := func(rt spec.Runtime, counts func(string) bool) {
		for _, e := range t.of(rt.ID, obeys(rt), counts) {
			if !covered(e, out) {
				out = append(out, e)
			}
		}
	}
	trusted := t.trusts(p.Trusts, plan)
	for _, rt := range p.Runtimes {
		if rt.Local { // its driver counts
			continue
		}
		list := obeys(rt)
		if i := slices.IndexFunc(trusted, func(e Effect) bool { return e.Program == rt.ID && e.Class == Trusts }); i >= 0 {
			whole := true // an entry for a folder counts in those below it
			if list, whole = t.nested(list); !whole {
				trusted[i].Text += "; it has too many folders to examine all of them"
			}
		}
		out = append(out, t.of(rt.ID, list, all)...)
	}
	for _, rt := range p.Runtimes {
		if rt.Local {
			more(rt, all)
		}
	}
	for _, rt := range p.Others {
		more(rt, t.writes)
	}
	if p.Checks {
		out = append(out, t.of(launcher, launcherObeys, all)...)
	}
	out = append(out, t.programs(p.Runtimes, out)...)
	out = append(out, t.gitHooks(plan, p.Hooked)...)
	out = append(out, trusted...)
	for _, l := range p.Launches {
		e := Effect{Program: launcher, Class: Runs, Text: "starts " + l.Command + " as " + l.Runtime, File: "runtime:" + l.Runtime, Origin: l.Origin}
		e.seal(nil, l.Command, l.Digest)
		out = append(out, e)
	}
	return sorted(out)
}

// launcher is the program that obeys a project's checks, and what its sources
// say of runtimes.
const launcher = "aisync launch"

var launcherObeys = []spec.Obeyed{{
	Files: []string{adapter.ChecksFile}, Format: "json", Safe: []string{"/format_version"},
	Effects: []spec.EffectRule{{Key: "/checks/*", Class: "runs", Says: "runs {value} around a program"}},
}}

// obeys is what rt reads in a project. Of a file of settings, servers or hooks that
// its entry does not describe, everything counts: so it is where an entry extends one
// whose files lie elsewhere.
func obeys(rt spec.Runtime) []spec.Obeyed {
	s := rt.Project
	out := slices.Clone(s.Obeys)
	add := func(name, format string) {
		described := func(o spec.Obeyed) bool {
			return slices.ContainsFunc(o.Files, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, name) })
		}
		if name == "" || slices.ContainsFunc(s.Obeys, described) {
			return
		}
		if format != "json" && format != "toml" && format != "yaml" {
			format = "text"
		}
		out = append(out, spec.Obeyed{Files: []string{name}, Format: format})
	}
	if s.Settings != nil {
		add(s.Settings.Path, s.Settings.Format)
	}
	if s.MCP != nil {
		add(s.MCP.Path, s.MCP.Format)
	}
	if s.Events != nil {
		add(s.Events.Path, s.Events.Format)
	}
	if s.Permissions != nil {
		add(s.Permissions.Path, s.Permissions.Format)
	}
	return out
}

// of returns the effects of those files of a program that count.
func (t *tree) of(program string, obeys []spec.Obeyed, counts func(name string) bool) []Effect {
	var out []Effect
	for _, o := range obeys {
		for _, pattern := range o.Files {
			names, all := t.glob(pattern)
			for _, name := range names {
				if counts(name) {
					out = append(out, t.marked(o, name, t.obeyed(program, o, name))...)
				}
			}
			if !all {
				e := Effect{Program: program, Class: Runs, Text: "reads " + pattern + ", which has too many files to examine all of them", File: pattern, whole: true}
				out = append(out, t.finished(e, nil))
			}
		}
	}
	return out
}

// marked marks the effects of a file of o that holds its user's answers.
func (t *tree) marked(o spec.Obeyed, name string, list []Effect) []Effect {
	if o.Local && len(list) > 0 && t.carried != nil && !t.writes(name) && !t.carried(name) {
		for i := range list {
			list[i].local = true
		}
	}
	return list
}

// covered reports whether list already has the same setting of the same file,
// from a program whose files all count.
func covered(e Effect, list []Effect) bool {
	return slices.ContainsFunc(list, func(o Effect) bool {
		return o.File == e.File && o.Class <= e.Class && (o.whole || e.Key == o.Key || strings.HasPrefix(e.Key, o.Key+"/"))
	})
}

// writes reports whether the plan changes name.
func (t *tree) writes(name string) bool {
	a, ok := t.planned(name)
	return ok && a.change.Writes()
}

// obeyed returns the effects of one file on the program that reads it.
func (t *tree) obeyed(program string, o spec.Obeyed, name string) []Effect {
	doc, exec, err := t.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return t.loosened(program, o, name, nil)
	}
	whole := Effect{Program: program, Class: Runs, File: name, whole: true}
	if err == nil && (o.Format == "code" || o.Format == "text") {
		rule := spec.EffectRule{Class: "runs", Says: "loads {file}"}
		if len(o.Effects) > 0 {
			rule = o.Effects[0]
		}
		whole.Class, whole.Text = classOf(rule.Class), fill(rule.Says, name, name, nil)
		whole.named = []string{name}
		if o.Format == "code" && len(doc) < maxCode {
			whole.named = append(whole.named, t.named(path.Dir(name), []string{string(doc)})...)
		}
		return []Effect{t.finished(whole, nil, fmt.Sprint(exec))}
	}
	var list []setting
	if err == nil {
		list, err = settings(o.Format, doc)
	}
	if err != nil {
		whole.Text = fmt.Sprintf("reads %s, which aisync cannot judge: %v", name, err)
		whole.named = []string{name}
		return []Effect{t.finished(whole, nil, string(doc))}
	}
	out := append(t.judge(program, o, name, list), t.loosened(program, o, name, list)...)
	if o.Format == "frontmatter" || len(o.Prompts) > 0 {
		out = append(out, t.inline(program, o, name, doc, list)...)
	}
	return out
}

// finished adds to e its origin and the digests of the files that it names.
func (t *tree) finished(e Effect, in []setting, parts ...string) Effect {
	var texts []string
	for _, s := range in {
		if v, ok := s.value.(string); ok && !(e.Class == Loosens && worksOn(v)) {
			texts = append(texts, v)
		}
	}
	for _, s := range in {
		texts = append(texts, s.path[len(s.path)-1])
	}
	e.named = slices.Concat(e.named, t.named(path.Dir(e.File), texts))
	t.linked(&e)
	var files []string
	for _, f := range e.named {
		if line, ok := t.digest(f); ok {
			files = append(files, line)
		}
	}
	e.in = in
	e.Origin, e.source = t.cause(e, in)
	e.seal(files, parts...)
	return e
}

// worksOn reports whether a permission such as Edit(src/main.go) is about files
// that a tool reads or writes, not about a command.
func worksOn(permission string) bool {
	tool, _, ok := strings.Cut(strings.ToLower(permission), "(")
	return ok && !strings.ContainsAny(tool, " /.") && !slices.ContainsFunc([]string{"bash", "shell", "command", "exec", "run"}, func(s string) bool { return strings.Contains(tool, s) })
}

// maxCode bounds the code that is searched for file names, in bytes.
const maxCode = 256 << 10

func classOf(word string) Class { return Class(max(0, slices.Index(classes, word))) }
