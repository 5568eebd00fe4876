package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/limit"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/costly"
	"aisync.dev/aisync/schema/extends"
	"aisync.dev/aisync/schema/layers"
	"aisync.dev/aisync/schema/policy"
	"aisync.dev/aisync/schema/position"
	"aisync.dev/aisync/schema/problem"
	"aisync.dev/aisync/schema/spec"
)

// Problem, Errors and ErrNoHost are those of package problem.
type (
	Problem = problem.Problem
	Errors  = problem.Errors
)

// ErrNoHost is a Problem where specs exist, but none of their hosts is this
// machine.
var ErrNoHost = problem.ErrNoHost

// Scope narrows what Load reads.
type Scope int

// The host's specs and the project's, or one of them.
const (
	Both Scope = iota
	HostOnly
	ProjectOnly
)

// Options locates the specs. Folders are physical.
type Options struct {
	HostDir    string // its *.cue, not those below it; without any: the embedded default host
	HostName   string // selects the host; "": by match
	ProjectDir string // holds aisync.cue; "" outside a project
	From       string // folder of the nested spec that the caller works in, "" outside; the project must list it
	Cwd        string // positions are relative to it where that is shorter; "": absolute
	Scope      Scope

	// Facts is called at most once, and only where a match or the default host
	// needs it. Without it only HostName can select a host.
	Facts func() (facts.Facts, error)

	// Texts replaces, by absolute path, the content of files: a spec before it
	// is written. A host's spec must exist already.
	Texts map[string][]byte

	// Owned returns an error if a file below the project must not be read because
	// it is another user's. nil: every file may be read.
	Owned func(project, file string) error

	// Lent returns the runtimes from the sources of a host's bundles, or of a
	// project; one of both is nil. more reports that a source is not on this
	// machine: an unknown runtime may then be in it, and is no error here. The
	// problems in err are reported with the rest.
	Lent func(h *spec.Host, p *spec.Project) (runtimes []spec.Runtime, more bool, err error)

	// Base returns the folder of what a host's spec extends, and its commit or digest.
	Base func(ctx context.Context, src spec.Source) (dir, pinned string, err error)

	// Bases are the folders that Base returned, by address, in the Options that
	// Rehearse gets. They stand in for a nil Base.
	Bases map[string]string

	// NoHost continues without a host: it gets the reason why none of the specs,
	// or more than one, is this machine. Without NoHost that is an error.
	NoHost func(Problem)

	// Rehearse loads o in another process first, which may run out of memory
	// instead of this one. It is called for specs that can allocate any amount
	// at once, and where memory is short; its error reports a failure there, and
	// is not an error of the specs. nil: evaluate here in any case.
	Rehearse func(ctx context.Context, o Options) error

	// Abort ends the program when the specs take half as much again as what made
	// Load return a *CostlyError. nil: they continue.
	Abort func(error)
}

// DefaultFile is the file name in positions of the embedded default host.
const DefaultFile = position.Embedded + "hosts/default.cue"

// loader is one Load.
type loader struct {
	Options
	eval    *evaluator
	facts   func() (facts.Facts, error)
	problem Errors
}

// Load reads, checks and selects. It returns all problems of the specs together,
// as Errors, and excessive cost as *CostlyError; other errors concern files,
// facts or ctx. After an error of ctx or a *CostlyError, evaluation continues in
// the background until the program ends.
func Load(ctx context.Context, o Options) (*spec.Spec, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var s *spec.Spec
	result := make(chan *spec.Spec, 1)
	err := o.withLimits(ctx, func() error {
		s, err := load(ctx, o)
		result <- s
		return err
	})
	if err == nil {
		s = <-result
	}
	return s, err
}

// load is Load without limits.
func load(ctx context.Context, o Options) (*spec.Spec, error) {
	l := &loader{Options: o, facts: func() (facts.Facts, error) { return facts.Facts{}, errNoFacts }}
	if o.Facts != nil {
		l.facts = sync.OnceValues(o.Facts)
	}
	if o.Base == nil {
		o.Base = func(_ context.Context, src spec.Source) (string, string, error) {
			if dir := o.Bases[src.URL]; dir != "" {
				return dir, "", nil
			}
			return "", "", errors.New("it is not read here")
		}
	}
	var hostFiles, projectFiles, localFiles []source
	var list []layers.Layer
	var err error
	if o.Scope != ProjectOnly {
		if hostFiles, err = layers.HostFiles(o.HostDir); err != nil {
			return nil, err
		}
		for i, f := range hostFiles {
			if text, ok := o.Texts[f.Path]; ok {
				hostFiles[i].Text = text
			}
		}
	}
	if list, err = (layers.Reader{Cwd: o.Cwd, Base: o.Base}).Of(ctx, o.HostDir, hostFiles); err != nil {
		return nil, err
	}
	hostFiles, l.Bases = filesOf(list), map[string]string{}
	for _, b := range list[1:] {
		l.Bases[b.URL] = b.Folder
	}
	if o.Scope != HostOnly && o.ProjectDir != "" {
		f := source{Path: filepath.Join(o.ProjectDir, ProjectFile), Name: "project/" + ProjectFile}
		text, ok := o.Texts[f.Path]
		if f.Text = text; !ok {
			if f, err = layers.Read(f.Path, f.Name); err != nil {
				return nil, err
			}
		}
		projectFiles = append(projectFiles, f)
		if localFiles, err = localSources(o); err != nil {
			return nil, err
		}
	}
	if o.Rehearse != nil && (limit.Tight() || slices.ContainsFunc(slices.Concat(hostFiles, projectFiles, localFiles), func(f source) bool { return costly.AllocatesAtOnce(f.Text, schemaPackage, catalogPackage) })) {
		if err := o.Rehearse(ctx, l.Options); err != nil {
			return nil, o.costlyError(err.Error())
		}
	}
	if l.eval, err = takeEvaluator(); err != nil {
		return nil, err
	}
	s := &spec.Spec{}
	if o.Scope != ProjectOnly {
		if err := l.host(s, list); err != nil {
			return nil, err
		}
	}
	if err := l.project(s, projectFiles); err != nil {
		return nil, err
	}
	l.local(s, localFiles)
	nestedFiles, err := l.nested(ctx, s.Host, s.Project)
	if err != nil {
		return nil, err
	}
	l.problem = append(l.problem, policy.Check(s.Limits, s.Host, s.Project)...)
	if err := l.problem.Sorted(); err != nil {
		return nil, err
	}
	l.eval.done() // a load that panics keeps it
	s.Files, s.Digest = fingerprint(slices.Concat(hostFiles, projectFiles, nestedFiles, localFiles))
	return s, nil
}

// HostNames returns the names of the hosts in the specs of dir, even if the rest
// of them is wrong; none where they are unreadable.
func HostNames(dir string) []string {
	files, err := layers.HostFiles(dir)
	if err != nil || len(files) == 0 {
		return nil
	}
	e, err := newEvaluator()
	if err != nil {
		return nil
	}
	d := e.read(files, "")
	if !d.root.Exists() {
		return nil
	}
	var names []string
	for _, n := range d.node().get("hosts").fields() {
		names = append(names, n.name())
	}
	return names
}

var errNoFacts = errors.New("no facts of this machine")

// host sets s.Catalog and s.Host from list, or to the default host.
func (l *loader) host(s *spec.Spec, list []layers.Layer) error {
	if len(list[0].Files) == 0 {
		return l.defaultHost(s)
	}
	d := l.readLayers(list)
	defer func() { l.problem = append(l.problem, d.problems...) }()
	if !d.root.Exists() {
		return nil
	}
	d.root = extends.WriteOut(l.eval.ctx, d.root, func(id, message, hint string) {
		d.node().get("catalog").get("runtimes").get(id).get("extends").problem(message, hint)
	})
	d.check(l.eval.schema.LookupPath(cue.ParsePath("#HostSpec")))
	s.Limits = l.limits(d, list)
	root := d.node()
	s.Catalog = root.get("catalog").catalog()
	checkCatalog(root.get("catalog"), s.Catalog)
	var all []*spec.Host
	lent := map[*spec.Host][]spec.Runtime{}
	for _, n := range root.get("hosts").fields() {
		h := n.host(l.HostDir)
		for _, b := range list[1:] {
			h.Bases = append(h.Bases, b.Source)
		}
		var x inventory
		lent[h], x = l.sourceRuntimes(d, s.Catalog, h, nil)
		checkHost(n, h, x)
		all = append(all, h)
	}
	var err error
	if s.Host, err = l.choose(d, all); s.Host != nil {
		s.Catalog.Runtimes = append(s.Catalog.Runtimes, lent[s.Host]...)
	}
	return err
}

// project sets s.Project, if there is one.
func (l *loader) project(s *spec.Spec, files []source) error {
	if len(files) == 0 {
		return nil
	}
	d := l.eval.read(files, l.Cwd)
	if d.root.Exists() {
		d.check(l.eval.schema.LookupPath(cue.ParsePath("#ProjectSpec")))
		n := d.node().get("project")
		s.Project = n.project(l.ProjectDir, files[0].Path)
		lent, x := l.sourceRuntimes(d, s.Catalog, nil, s.Project)
		s.Catalog.Runtimes = append(s.Catalog.Runtimes, lent...)
		checkProject(n, s.Project, s.Host, x)
		if n.get("policy").exists() {
			s.Limits = append(s.Limits, n.get("policy").allows(policy.Project))
		}
	}
	l.problem = append(l.problem, d.problems...)
	return nil
}

// choose returns the host by name, or the one that matches.
func (l *loader) choose(d *document, all []*spec.Host) (*spec.Host, error) {
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = h.Name
	}
	if len(all) == 0 && len(d.problems) > 0 {
		return nil, nil // the errors may be why there is none
	}
	if l.HostName != "" {
		if i := slices.Index(names, l.HostName); i >= 0 {
			return all[i], nil
		}
		d.add(Problem{Path: "hosts", Message: fmt.Sprintf("no host %q in %s", l.HostName, d.at.File(l.HostDir)), Hint: nearest.Hint(l.HostName, names)})
		return nil, nil
	}
	if len(all) == 0 {
		l.noHost(d, Problem{Path: "hosts", Message: "no host in " + d.at.File(l.HostDir), Hint: "describe this machine as hosts: NAME: {…}, or run: aisync init", NoHost: true})
		return nil, nil
	}
	if len(all) == 1 && all[0].Match == (spec.Match{}) {
		return all[0], nil
	}
	f, err := l.facts()
	if err != nil {
		return nil, fmt.Errorf("choose a host (say which: --host %s): %w", strings.Join(names, "|"), err)
	}
	var fit []*spec.Host
	var lines []string
	for _, h := range all {
		ok, why := hosts.Matches(h.Match, f)
		if ok {
			fit = append(fit, h)
		}
		lines = append(lines, fmt.Sprintf("%s (%s): %s", h.Name, h.Pos, why))
	}
	switch len(fit) {
	case 1:
		return fit[0], nil
	case 0:
		l.noHost(d, Problem{Pos: all[0].Pos, Path: "hosts", Message: "no host matches this machine: " + strings.Join(lines, ", "), Hint: "say which: --host " + strings.Join(names, "|"), NoHost: true})
	default:
		var both []string
		for _, h := range fit {
			both = append(both, fmt.Sprintf("%s (%s)", h.Name, h.Pos))
		}
		l.noHost(d, Problem{Pos: fit[0].Pos, Path: "hosts", Message: "more than one host matches this machine: " + strings.Join(both, " and "), Hint: "narrow a match, or say which: --host NAME"})
	}
	return nil, nil
}

// noHost reports that no host could be selected.
func (l *loader) noHost(d *document, why Problem) {
	if l.NoHost != nil {
		l.NoHost(why)
		return
	}
	d.add(why)
}

// defaultHost returns the embedded host, with the runtimes that this machine
// has: first those that it names, then the others of the catalog.
func (l *loader) defaultHost(s *spec.Spec) error {
	if l.HostName != "" && l.HostName != hosts.DefaultName {
		where := l.HostDir
		if where == "" {
			where = "the folder of host specs"
		}
		l.problem = append(l.problem, Problem{Path: "hosts", Message: fmt.Sprintf("no host %q: there is no spec in %s", l.HostName, where), Hint: "write one with: aisync init"})
		return nil
	}
	text, _ := hosts.Example(hosts.DefaultName)
	d := l.eval.read([]source{{Path: DefaultFile, Text: text}}, l.Cwd)
	if len(d.problems) > 0 {
		return fmt.Errorf("embedded default host: %w", d.problems)
	}
	h := d.node().get("hosts").get(hosts.DefaultName).host("")
	h.Builtin = true
	var f facts.Facts
	if l.Facts != nil {
		var err error
		if f, err = l.facts(); err != nil {
			return err
		}
	}
	index := catalog.With(spec.Catalog{})
	named := slices.Clone(h.Runtimes)
	h.Runtimes = slices.DeleteFunc(h.Runtimes, func(u spec.RuntimeUse) bool {
		rt, ok := index.Runtime(cmp.Or(u.CLI, u.ID))
		return !ok || f.Programs[rt.Command] == ""
	})
	for _, rt := range index.Runtimes() {
		if f.Programs[rt.Command] != "" && !slices.ContainsFunc(named, func(u spec.RuntimeUse) bool { return u.ID == rt.ID }) {
			h.Runtimes = append(h.Runtimes, spec.RuntimeUse{ID: rt.ID, Pos: h.Pos})
		}
	}
	if !slices.ContainsFunc(h.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == h.Default }) {
		h.Default = ""
		if len(h.Runtimes) > 0 {
			h.Default = h.Runtimes[0].ID
		}
	}
	s.Host = h
	return nil
}
