package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Apply implements reconcile.Provider. The manager does the work; Apply checks
// its result afterwards. A kill leaves what the manager leaves, and the next
// call goes on from there.
func (p Provider) Apply(ctx context.Context, c reconcile.Change, w reconcile.WriteEnv) (reconcile.Outcome, error) {
	m, name := split(c.Target.Resource.Address)
	if m == nil {
		return reconcile.Outcome{}, fmt.Errorf("this version of aisync does not know the installer of %s", c.Target.Resource.Address.Name())
	}
	p.turns[m.name].Lock()
	defer p.turns[m.name].Unlock()
	at, err := p.at(w.ReadEnv)
	if err != nil {
		return reconcile.Outcome{}, err
	}
	at.by = m
	want, wanted := target(c)
	done := func(is installed) bool {
		return is.blocked == "" && wanted == (is.version != "") && (!wanted || m.satisfies(is.version, want))
	}
	is, err := at.one(ctx, m, name)
	switch {
	case err != nil:
		return reconcile.Outcome{}, err
	case done(is):
		return reconcile.Outcome{Token: is.token()}, nil
	case is.token() != c.Before.Token || is.blocked != "":
		return reconcile.Outcome{}, fmt.Errorf("%s %w; run the command again", name, reconcile.ErrStale)
	}
	out := reconcile.Outcome{}
	if folder := (Provider{}).Folder(c.Target, at.Home); wanted && folder != "" {
		if out.Dirs, err = w.FS.MkdirAll(folder, 0o755); err != nil {
			return out, err
		}
	}
	switch {
	case m.own != nil:
		err = m.own(ctx, at, c, w)
	case wanted:
		err = at.perform(ctx, w.FS, name, m.add(at, name, want), true)
	default:
		err = at.perform(ctx, w.FS, name, m.remove(at, name), false)
	}
	if err != nil {
		return out, err
	}
	if is, err = at.one(ctx, m, name); err != nil {
		return out, err
	}
	if !done(is) {
		return out, m.notDone(name, want, wanted, is)
	}
	if program := requestOf(c).program; wanted && program != "" {
		if _, err := w.FS.Lstat(at.Home.Join(m.folder, "bin", program)); err != nil {
			return out, fmt.Errorf("%s installed %s %s, which has no program %s: correct command in the catalog, or the version", m.name, name, is.version, program)
		}
	}
	if !wanted {
		p.Tidy(ctx, w, c.Target.Resource.Address)
	}
	out.Token = is.token()
	return out, nil
}

// Tidy implements reconcile.Tidier.
func (p Provider) Tidy(ctx context.Context, w reconcile.WriteEnv, gone reconcile.Address) {
	m, name := split(gone)
	if m == nil || m.tidy == nil {
		return
	}
	if at, err := p.at(w.ReadEnv); err == nil {
		at.by = m
		m.tidy(ctx, at, w.FS, name)
	}
}

// perform runs commands. An installation leaves a mark while it runs, for a
// manager that cannot tell half a package from a whole one.
func (at place) perform(ctx context.Context, w fsys.FS, name string, commands [][]string, installs bool) error {
	var mark fsys.LogicalPath
	whole := true // as far as is known before this
	if installs && at.by.unfinished != nil {
		mark = at.by.unfinished(at.Home, name)
		_, err := w.Lstat(mark)
		whole = errors.Is(err, fs.ErrNotExist)
		if err := w.Append(mark, nil, 0o644); err != nil {
			return err
		}
	}
	for _, argv := range commands {
		_, err := at.run(ctx, argv...)
		if err == nil {
			continue
		}
		if mark != "" && whole && exitedWithError(err) && ctx.Err() == nil {
			err = errors.Join(err, takeAway(w, mark)) // the former state is back
		}
		return at.by.failed(name, argv, err)
	}
	if mark == "" {
		return nil
	}
	return takeAway(w, mark)
}

// takeAway removes a file that aisync made.
func takeAway(w fsys.FS, p fsys.LogicalPath) error {
	info, err := w.Lstat(p)
	if err != nil {
		return notThere(err)
	}
	return w.Discard(p, info)
}

// one is the state of one package.
func (at place) one(ctx context.Context, m *manager, name string) (installed, error) {
	found, err := m.look(ctx, at, []string{name})
	if err != nil {
		return installed{}, fmt.Errorf("the packages of %s cannot be listed: %s", m.name, complaintLine(err))
	}
	return found[name], nil
}

func (is installed) token() reconcile.Fingerprint {
	if is.version == "" {
		return ""
	}
	return reconcile.Fingerprint(exactly(is.version))
}

// failed describes the failure of a manager.
func (m *manager) failed(name string, argv []string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if argv[0] == "env" { // and its assignments
		argv = argv[1+slices.IndexFunc(argv[1:], func(a string) bool { return !strings.Contains(a, "=") }):]
	}
	return fmt.Errorf("%s failed for %s: %s; it counts as not installed; %s", shellquote.Join(argv[:min(2, len(argv))]), name, complaintLine(err), advice.ApplyRetries)
}

// notDone describes a manager's success without the wanted result.
func (m *manager) notDone(name string, want constraint, wanted bool, is installed) error {
	switch {
	case !wanted:
		return fmt.Errorf("%s reported success removing %s, but version %s is still installed", m.name, name, is.version)
	case is.version == "":
		return fmt.Errorf("%s reported success installing %s, but it is not installed", m.name, name)
	}
	return fmt.Errorf("%s installed %s %s, but the spec wants %s; it takes the newest version that its sources and this machine allow: correct the version, or update the sources", m.name, name, is.version, want)
}

// Preflight implements reconcile.Preflighter: it reports what can be known
// before the first package is touched.
func (p Provider) Preflight(ctx context.Context, r reconcile.ReadEnv, batch []reconcile.Change) []reconcile.Problem {
	at, err := p.at(r)
	if err != nil {
		return []reconcile.Problem{{Address: batch[0].Target.Resource.Address, Err: err}}
	}
	by := map[*manager][]reconcile.Change{}
	for _, c := range batch {
		if m, _ := split(c.Target.Resource.Address); m != nil {
			by[m] = append(by[m], c)
		}
	}
	var problems []reconcile.Problem
	for _, m := range managers {
		if len(by[m]) > 0 && !at.comes(ctx, m, batch) {
			problems = append(problems, at.preflight(ctx, m, by[m])...)
		}
	}
	return problems
}

// comes reports whether the program of m is missing and batch installs it: what m
// then does can be checked only after that.
func (at place) comes(ctx context.Context, m *manager, batch []reconcile.Change) bool {
	return m.program != "" && !at.has(ctx, m.program) && slices.ContainsFunc(batch, func(c reconcile.Change) bool {
		by, name := split(c.Target.Resource.Address)
		_, wanted := target(c)
		return wanted && by != nil && slices.Contains(Programs(by.name, name), m.program)
	})
}

func (at place) preflight(ctx context.Context, m *manager, batch []reconcile.Change) []reconcile.Problem {
	at.by = m
	if m.preflight != nil {
		return m.preflight(ctx, at, batch)
	}
	var problems []reconcile.Problem
	all := func(err error, hint string) []reconcile.Problem {
		for _, c := range batch {
			problems = append(problems, reconcile.Problem{Address: c.Target.Resource.Address, Err: err, Hint: hint})
		}
		return problems
	}
	byHand := advice.ByHand(at.byHand(m, batch))
	switch {
	case m.manual != "":
		return all(errors.New(m.manual), byHand)
	case !at.has(ctx, m.program):
		return all(fmt.Errorf("%s, which installs this, is not in PATH", m.program), "install "+m.program+", or choose another installer in the spec")
	case m == &brew && at.EUID == 0:
		return all(errors.New("brew does not run as root"), advice.BrewUser)
	case m.system && at.EUID != 0 && at.root != "":
		return all(fmt.Errorf("%s needs to be root to work below %s", m.program, at.root), "run aisync as root")
	case m.system && at.EUID != 0:
		if _, err := at.Run.Run(ctx, "/", "sudo", "-n", "true"); err != nil {
			return all(fmt.Errorf("%s needs root, and aisync never asks for a password", m.program), byHand)
		}
	}
	wanted, gone := map[string]request{}, []string(nil)
	for _, c := range batch {
		want, ok := target(c)
		_, name := split(c.Target.Resource.Address)
		switch {
		case !ok:
			gone = append(gone, name)
		case at.Offline:
			problems = append(problems, reconcile.Problem{Address: c.Target.Resource.Address, Err: fmt.Errorf("install %s: %w", name, reconcile.ErrOffline)})
		default:
			wanted[name] = request{want: want, integrity: requestOf(c).integrity, program: requestOf(c).program}
		}
	}
	if m.check == nil {
		return problems
	}
	for name, err := range m.check(ctx, at, wanted, gone) {
		problems = append(problems, reconcile.Problem{Address: Address(m.name, name), Err: err})
	}
	sort.Slice(problems, func(i, j int) bool { return problems[i].Address < problems[j].Address })
	return problems
}

// byHand are the commands with which a person does what batch does.
func (at place) byHand(m *manager, batch []reconcile.Change) string {
	var lines []string
	for _, c := range batch {
		_, name := split(c.Target.Resource.Address)
		commands := m.remove(at, name)
		if want, ok := target(c); ok {
			commands = m.add(at, name, want)
		}
		for _, argv := range commands {
			if m.system && m.manual == "" {
				argv = append([]string{"sudo"}, argv...)
			}
			if line := shellquote.Join(argv); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines, " && ")
}

// notThere hides the error that a file does not exist.
func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
