package packages

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// manager is one way of installing programs.
type manager struct {
	name    string // its name in a spec
	program string // needed in PATH to change anything; "" if aisync does the work itself
	system  bool   // works for the whole machine, as root
	rooted  bool   // can work below another root
	folder  string // below the home, for a folder that only aisync uses; "" if others use it too

	// database exists once anything was installed; without it list is not
	// called. "": always call list.
	database func(at place) fsys.LogicalPath
	// list returns which of names are installed.
	list func(ctx context.Context, at place, names []string) (map[string]installed, error)
	// add and remove are the commands, run in order.
	add    func(at place, name string, want constraint) [][]string
	remove func(at place, name string) [][]string
	// latest asks for the newest version of those that begin with within. nil:
	// the manager chooses the version itself, so nothing is pinned.
	latest func(ctx context.Context, at place, name, within string) (Release, error)
	series bool // a part of a version, such as "24", is allowed; otherwise within is ""
	// check reports, before any change, what would go wrong where wanted is
	// installed and gone is removed; may be nil.
	check func(ctx context.Context, at place, wanted map[string]request, gone []string) map[string]error
	// unfinished is a file that exists while a package is being installed, for
	// a manager that cannot tell half a package from a whole one; otherwise
	// nil.
	unfinished func(home fsys.LogicalPath, name string) fsys.LogicalPath
	// tidy removes what nothing needs after a removal; may be nil.
	tidy func(ctx context.Context, at place, w fsys.FS, name string)
	// manual says why aisync does not install here; "" if it does.
	manual string
	// own makes a change without a program, in place of add and remove;
	// preflight reports what would go wrong. Otherwise nil.
	own       func(ctx context.Context, at place, c reconcile.Change, w reconcile.WriteEnv) error
	preflight func(ctx context.Context, at place, batch []reconcile.Change) []reconcile.Problem
}

// managers in the order in which a machine's default is chosen.
var managers = []*manager{&apt, &pacman, &brew, &npm, &uv, &pipx, &golang, &cargo, &release, &aur}

func managerOf(name string) *manager {
	for _, m := range managers {
		if m.name == name {
			return m
		}
	}
	return nil
}

// names are the values of via that a runtime's spec accepts.
func names() []string {
	var out []string
	for _, m := range managers {
		if m.own == nil { // a release needs an address
			out = append(out, m.name)
		}
	}
	slices.Sort(out)
	return out
}

// installed is the state of one package.
type installed struct {
	version string // "": not installed
	blocked string // something else is in its place: what, and what to do
}

// versionForm rejects what a manager could take for a flag or a pattern.
var (
	versionForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+:~_-]*$`)
	partial     = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	nameForm    = regexp.MustCompile(`^(@[0-9A-Za-z][0-9A-Za-z._-]*/)?[0-9A-Za-z][0-9A-Za-z.+_-]*(/[0-9A-Za-z][0-9A-Za-z.+_-]*)*$`)
)

// look calls list if the manager has a database.
func (m *manager) look(ctx context.Context, at place, names []string) (map[string]installed, error) {
	at.by = m
	if m.database != nil {
		if p := m.database(at); p != "" {
			if _, err := at.FS.Lstat(p); err != nil {
				return nil, notThere(err)
			}
		}
	}
	found, err := m.list(ctx, at, names)
	if missingProgram(err) {
		return nil, nil // an absent manager has installed nothing
	}
	return found, err
}

// satisfies reports whether c allows an installed version. A spec may leave out
// a distribution's epoch and revision.
func (m *manager) satisfies(version string, c constraint) bool {
	return c.allows(version) || m.system && c.allows(upstream(version))
}

// place is a machine, or a root below which one is being installed.
type place struct {
	Options
	reconcile.ReadEnv
	root string   // physical; "" is /
	by   *manager // the manager
}

func (p Provider) at(r reconcile.ReadEnv) (place, error) {
	root, err := r.FS.Physical("/")
	if err != nil {
		return place{}, err
	}
	if root == "/" {
		root = ""
	}
	return place{Options: p.options, ReadEnv: r, root: root}, nil
}

// physical is where a host path lies.
func (at place) physical(p fsys.LogicalPath) string { return filepath.Join("/", at.root, string(p)) }

// home is a path below the person's home.
func (at place) home(below string) string { return at.physical(at.Home.Join(below)) }

// run runs a command that only reads, with untranslated output.
func (at place) run(ctx context.Context, argv ...string) ([]byte, error) {
	if at.Run == nil {
		return nil, errors.New("programs cannot be run here")
	}
	return at.Run.Run(ctx, "/", at.command(argv)...)
}

// command is argv as it is executed: as the home's owner or as root, never with
// a prompt.
func (at place) command(argv []string) []string {
	out := []string{"env", "LC_ALL=C"}
	switch {
	case at.by.system:
		if at.EUID != 0 && at.root == "" && !looks(argv) {
			out = []string{"sudo", "-n", "env", "LC_ALL=C"}
		}
	case at.Chown:
		out = []string{"setpriv", "--reuid=" + strconv.Itoa(at.UID), "--regid=" + strconv.Itoa(at.GID), "--clear-groups", "env", "LC_ALL=C", "HOME=" + at.home("")}
	}
	return append(out, argv...)
}

// looks reports whether a command of the system's manager changes nothing.
func looks(argv []string) bool {
	return slices.Contains([]string{"dpkg-query", "apt-cache"}, argv[0]) || slices.Contains(argv, "-Q")
}

// has reports whether a program is in PATH.
func (at place) has(ctx context.Context, program string) bool {
	if at.Run == nil {
		return false
	}
	_, err := at.Run.Run(ctx, "/", "sh", "-c", `command -v "$0"`, program)
	return err == nil
}

// missingProgram reports whether err means that a program does not exist: env
// exits with 127 then.
func missingProgram(err error) bool {
	var exit *exec.ExitError
	return errors.Is(err, exec.ErrNotFound) || errors.As(err, &exit) && exit.ExitCode() == 127
}

// exitedWith reports whether a program exited with code.
func exitedWith(err error, code int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == code
}

// exitedWithError reports whether a program exited with an error and was not
// killed.
func exitedWithError(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Exited()
}

// complaint is the known part of a program's stderr.
func complaint(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return string(exit.Stderr)
	}
	return err.Error()
}

// complaintLine is a program's complaint in one line.
func complaintLine(err error) string {
	var out []string
	for line := range strings.Lines(complaint(err)) {
		line = strings.TrimSpace(line)
		for _, noise := range []string{"npm error", "npm ERR!", "error:", "E:"} {
			line = strings.TrimSpace(strings.TrimPrefix(line, noise))
		}
		if line != "" && !strings.Contains(line, "complete log of this run") && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	if len(out) > 6 {
		out = append(out[:6], fmt.Sprintf("and %d lines more", len(out)-6))
	}
	return strings.Join(out, "; ")
}
