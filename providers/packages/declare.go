package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Host is what the packages of a host depend on.
type Host struct {
	Spec     *spec.Host
	Runtimes []spec.Runtime // the whole catalog
	Programs []Program      // other programs that the spec needs
	Facts    *facts.Facts
	Rooted   bool // aisync works below another root
	// Recorded reports whether a package is on record.
	Recorded func(reconcile.Address) bool
	// Installed asks a manager for the version of a package, "" if it is not
	// installed.
	Installed func(ctx context.Context, via, name string) string
	// Pin returns the version that a package is pinned to: its newest, or the
	// newest that begins with within. It is "" if nothing is pinned and pinning
	// is not allowed; left means that it cannot be had now.
	Pin func(ctx context.Context, via, name, within string, pos spec.Position) (version string, left, err error)
	// PinArchive returns a with its pins: without SHA256 and Size if nothing is
	// pinned and pinning is not allowed; left and err are those of Pin.
	PinArchive func(ctx context.Context, name, version string, a Archive, pos spec.Position) (_ Archive, left, err error)
	// PinIntegrity returns the digest to which one version of a package is
	// pinned: "" if nothing is and pinning is not allowed; left and err are those
	// of Pin.
	PinIntegrity func(ctx context.Context, via, name, version string, pos spec.Position) (integrity string, left, err error)
	// Node returns the machine's Node, without npm's prefix; nil: it is not looked
	// at.
	Node func(ctx context.Context) Node
	// Engines returns the range of Node that a version of an npm package needs, as
	// the lock or the installed package has it: of the pinned version if version is
	// "". nil: none is known.
	Engines func(name, version string) (of, needs string)
	// ServicePackage returns the package of a service's program with an installer.
	ServicePackage func(s spec.Service, via string) (string, error)
	// Outside reports whether a program is on the machine that runs aisync, with
	// Rooted.
	Outside func(program string) bool
	// Why are the reasons of Choose.
	Why map[spec.Position]string
}

// Program is a program that the spec needs.
type Program struct {
	Command, Via, Name, Version string
	Archive                     Archive // of a release
	Pos                         spec.Position
}

// Declared is what the packages of a host's spec declare.
type Declared struct {
	Declarations []reconcile.Declaration
	Unsupported  []reconcile.Unsupported
	Notes        []reconcile.Note

	users []nodeUser
}

// Declare returns the packages that the host wants, and the links to their
// programs. The error joins all problems.
func (h Host) Declare(ctx context.Context) (Declared, error) {
	var d Declared
	var errs []error
	blame := func(pos spec.Position, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", pos, err))
		}
	}
	for _, use := range h.Spec.Runtimes {
		if use.Install == nil {
			continue
		}
		if i := slices.IndexFunc(h.Runtimes, func(r spec.Runtime) bool { return r.ID == use.ID }); i >= 0 {
			blame(use.Install.Pos, h.runtime(ctx, &d, use, h.Runtimes[i]))
		}
	}
	for _, m := range h.Spec.MCP {
		if m.Install != nil && !m.Disabled {
			blame(m.Install.Pos, h.server(ctx, &d, m))
		}
	}
	for _, p := range h.Programs {
		blame(p.Pos, h.further(ctx, &d, p))
	}
	for _, p := range h.Spec.Packages {
		blame(p.Pos, h.system(ctx, &d, p))
	}
	h.explainChoice(&d)
	h.ordered(&d)
	h.noteMissing(&d)
	h.noteNode(ctx, &d)
	return d, errors.Join(errs...)
}

// runtime declares one agent program, and the Node that it needs.
func (h Host) runtime(ctx context.Context, d *Declared, use spec.RuntimeUse, rt spec.Runtime) error {
	in := use.Install
	name := rt.Packages[in.Via]
	m := managerOf(in.Via)
	switch {
	case m == nil:
		d.cannot("runtime:"+reconcile.Address(use.ID), in.Pos, "this version installs with %s, not with %s: install it by hand", strings.Join(names(), ", "), in.Via)
		return nil
	case name == "":
		return fmt.Errorf("runtime %q: the catalog has no %s package for it", use.ID, in.Via)
	}
	if h.elsewhere(ctx, d, use.ID, Program{Command: rt.Command, Via: in.Via, Name: name, Version: in.Version, Pos: in.Pos}) {
		return nil
	}
	if err := h.one(ctx, d, m, name, in.Version, rt.Command, in.Pos); err != nil {
		return err
	}
	if m == &npm {
		h.runsOnNode(d, use.ID, name, in.Version, rt.Node, in.Pos)
	}
	if in.Node == "" {
		return nil
	}
	if m != &npm {
		return fmt.Errorf("runtime %q: node: applies to npm packages only, and this one is installed with %s", use.ID, in.Via)
	}
	return h.node(ctx, d, fmt.Sprintf("runtime %q", use.ID), in)
}

// node declares the Node that in names for a package of npm. what names its
// program to a person.
func (h Host) node(ctx context.Context, d *Declared, what string, in *spec.Install) error {
	name := nodePackages[h.platform()]
	if name == "" {
		return fmt.Errorf("%s: npm has no node package for %s", what, h.platform())
	}
	return h.one(ctx, d, &npm, name, in.Node, "node", in.Pos)
}

// elsewhere reports, with a note, that a program from another source is in PATH
// and that any version will do. what names the program to a person.
func (h Host) elsewhere(ctx context.Context, d *Declared, what string, p Program) bool {
	at := h.program(p.Command)
	if p.Version != "" || at == "" || h.Recorded(Address(p.Via, p.Name)) || h.Installed(ctx, p.Via, p.Name) != "" {
		return false
	}
	d.Notes = append(d.Notes, reconcile.Note{Origin: origin(p.Pos), Text: fmt.Sprintf("%s is already installed (%s), so aisync does not install it with %s; name a version: to install that one", what, at, p.Via)})
	return true
}

// further declares a program that the spec needs.
func (h Host) further(ctx context.Context, d *Declared, p Program) error {
	m := managerOf(p.Via)
	if m == nil {
		d.cannot(reconcile.Address("package:"+p.Name), p.Pos, "this version installs with %s, not with %s: install it by hand", strings.Join(names(), ", "), p.Via)
		return nil
	}
	if h.elsewhere(ctx, d, p.Command, p) {
		return nil
	}
	if m == &release {
		return h.release(ctx, d, p)
	}
	return h.one(ctx, d, m, p.Name, p.Version, p.Command, p.Pos)
}

// release declares the archive of a release, and a link to its program.
func (h Host) release(ctx context.Context, d *Declared, p Program) error {
	if c, err := parseConstraint(p.Version); err != nil || c.exact() == "" {
		return fmt.Errorf("%s: a release needs one exact version, such as %q, but the spec says %q", p.Name, "b6123", p.Version)
	}
	a, left, err := h.PinArchive(ctx, p.Name, p.Version, p.Archive, p.Pos)
	if err != nil {
		return err
	}
	w := request{want: exactly(releaseVersion(p.Version, a)), archive: a}
	reason := "pinned in aisync.lock"
	switch {
	case left != nil:
		w.unknown = left.Error()
	case p.Archive.SHA256 != "":
		reason = "the sha256 in the spec"
	case a.SHA256 == "":
		reason = "no sha256 is known: " + advice.ApplyPinsFetched
	}
	address := Address(release.name, p.Name)
	d.declare(address, w, reason, p.Pos)
	d.linked(p.Command, string(ReleaseProgram("", p.Name)), address, p.Pos)
	return nil
}

// system declares a package of the machine's package manager.
func (h Host) system(ctx context.Context, d *Declared, p spec.Named) error {
	m := h.own()
	if m == nil {
		d.cannot(reconcile.Address("package:"+p.Value), p.Pos, "this version installs with pacman, apt and brew, but this machine has none of them: install it by hand%s", h.byHand(p.Value))
		return nil
	}
	return h.one(ctx, d, m, p.Value, "", "", p.Pos)
}

// one declares a package, and a link to its program if it has a name and lies
// in a folder that only aisync uses.
func (h Host) one(ctx context.Context, d *Declared, m *manager, name, version, program string, pos spec.Position) error {
	a := Address(m.name, name)
	switch {
	case !nameForm.MatchString(name):
		return fmt.Errorf("%q is not a package name", name)
	case m.manual != "" && h.Installed(ctx, m.name, name) == "":
		d.cannot(a, pos, "%s: %s", m.manual, shellquote.Join(m.add(place{}, name, anyVersion)[0]))
		return nil
	case h.Rooted && !m.rooted:
		d.cannot(a, pos, "%s cannot work below another root; %s", m.name, advice.ApplyRunsThere)
		return nil
	}
	w, reason, err := h.wanted(ctx, m, name, version, pos)
	if err != nil {
		return err
	}
	if m == &npm {
		w.program = program
	}
	d.declare(a, w, reason, pos)
	if m == &npm && program != "" {
		d.linked(program, NpmPrefix+"/bin/"+program, a, pos)
	}
	return nil
}

func (d *Declared) declare(a reconcile.Address, w request, reason string, pos spec.Position) {
	d.Declarations = append(d.Declarations, reconcile.Declaration{
		Target: a, Owner: reconcile.HostOwner, Leaves: []reconcile.Leaf{{Body: w, Origin: origin(pos), Reason: reason}},
	})
}

// linked adds a link in ~/.local/bin to a program of the package a, which lies
// below ~/.local too.
func (d *Declared) linked(program, lies string, a reconcile.Address, pos spec.Position) {
	d.Declarations = append(d.Declarations, reconcile.Declaration{
		Target: reconcile.Address("link:~/.local/bin/" + program), Owner: reconcile.HostOwner, DependsOn: []reconcile.Address{a},
		Leaves: []reconcile.Leaf{{Body: link.To("../" + strings.TrimPrefix(lies, ".local/")), Origin: origin(pos)}},
	})
}

// request is the version that the spec, or otherwise the lock, wants of a package.
func (h Host) wanted(ctx context.Context, m *manager, name, version string, pos spec.Position) (request, string, error) {
	series := m.series && partial.MatchString(version)
	if version != "" && !series || m.latest == nil && version == "" {
		if version == "" {
			return request{want: anyVersion}, "", nil
		}
		c, err := parseConstraint(version)
		return request{want: c}, "", err
	}
	pinned, left, err := h.Pin(ctx, m.name, name, version, pos)
	switch {
	case err != nil:
		return request{}, "", err
	case pinned != "":
		return request{want: exactly(pinned)}, "pinned in aisync.lock", nil
	}
	w := request{want: anyVersion}
	if series {
		w.want = constraint(">=" + version)
	}
	if left != nil {
		w.unknown = left.Error()
	}
	return w, "the newest; " + advice.ApplyPins, nil
}

// own is the machine's package manager: its distribution's, or the first one found.
func (h Host) own() *manager {
	if h.Facts == nil {
		return nil
	}
	has := func(m *manager) bool { return slices.Contains(h.Facts.Managers, m.program) }
	for _, m := range []*manager{&pacman, &apt} {
		if slices.Contains(distributions[m.name], h.Facts.Distro) && has(m) {
			return m
		}
	}
	for _, m := range []*manager{&apt, &pacman, &brew} {
		if has(m) {
			return m
		}
	}
	return nil
}

// distributions by their manager, as os-release names them: another
// distribution's manager may be installed too.
var distributions = map[string][]string{
	"pacman": {"arch", "archarm", "artix", "cachyos", "endeavouros", "garuda", "manjaro"},
	"apt":    {"debian", "devuan", "elementary", "kali", "linuxmint", "pop", "raspbian", "ubuntu", "zorin"},
}

// byHand is the command that installs name with a manager that aisync does not
// drive.
func (h Host) byHand(name string) string {
	for _, m := range [][2]string{{"dnf", "sudo dnf install "}, {"zypper", "sudo zypper install "}, {"flatpak", "flatpak install "}} {
		if h.Facts != nil && slices.Contains(h.Facts.Managers, m[0]) {
			return ": " + m[1] + name
		}
	}
	return ""
}

func (h Host) program(command string) string {
	if h.Facts == nil {
		return ""
	}
	return h.Facts.Programs[command]
}

func (h Host) platform() string {
	if h.Facts == nil {
		return ""
	}
	return h.Facts.OS + "/" + h.Facts.Arch
}

func (d *Declared) cannot(a reconcile.Address, pos spec.Position, format string, args ...any) {
	d.Unsupported = append(d.Unsupported, reconcile.Unsupported{Address: a, Reason: fmt.Sprintf(format, args...), Origin: origin(pos)})
}

func origin(pos spec.Position) []reconcile.Position {
	if pos == (spec.Position{}) {
		return nil
	}
	return []reconcile.Position{reconcile.Position(pos)}
}

// Installed asks a manager for the version of one package; "" if it is not
// installed.
func (p Provider) Installed(ctx context.Context, r reconcile.ReadEnv, via, name string) string {
	m := managerOf(via)
	at, err := p.at(r)
	if m == nil || err != nil {
		return ""
	}
	is, err := at.one(ctx, m, name)
	if err != nil {
		return "" // Observe reports the error
	}
	return is.version
}

// Latest asks a manager's source for the newest version of a package, or the
// newest that begins with within.
func (p Provider) Latest(ctx context.Context, r reconcile.ReadEnv, via, name, within string) (Release, error) {
	m := managerOf(via)
	at, err := p.at(r)
	switch {
	case err != nil:
		return Release{}, err
	case m == nil || m.latest == nil:
		return Release{}, fmt.Errorf("%s chooses versions itself", via)
	case !at.has(ctx, m.program):
		return Release{}, fmt.Errorf("%s, which knows the versions of %s, is not in PATH", m.program, name)
	}
	at.by = m
	got, err := m.latest(ctx, at, name, within)
	if err == nil && !versionForm.MatchString(got.Version) {
		err = fmt.Errorf("%s reports %[3]q as the newest %[2]s, which is not a version", via, name, got.Version)
	}
	return got, err
}
