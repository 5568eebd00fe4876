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
	Programs []Program      // further ones
	Facts    *facts.Facts
	Rooted   bool // a system below another root is meant
	// Recorded reports whether something is on record of a package.
	Recorded func(reconcile.Address) bool
	// Installed asks a manager for the version of a package, "" where it has none.
	Installed func(ctx context.Context, via, name string) string
	// Pin returns the version that a package is pinned to: its newest, or the
	// newest that begins with within. "" where nothing is pinned and nobody may
	// ask; left, where it cannot be had now.
	Pin func(ctx context.Context, via, name, within string, pos spec.Position) (version string, left, err error)
	// PinArchive returns a as it is pinned: without SHA256 and Size where nothing
	// is pinned and nobody may ask; left and err as those of Pin.
	PinArchive func(ctx context.Context, name, version string, a Archive, pos spec.Position) (_ Archive, left, err error)
}

// Program is a program that something of the spec needs.
type Program struct {
	Command, Via, Name, Version string
	Archive                     Archive // of a release
	Pos                         spec.Position
}

// Declared is what packages a host's spec comes to.
type Declared struct {
	Declarations []reconcile.Declaration
	Unsupported  []reconcile.Unsupported
	Notes        []reconcile.Note
}

// Declare returns the packages that the host wants, and the links under which
// the programs among them are found. The error joins all that is wrong.
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
	for _, p := range h.Programs {
		blame(p.Pos, h.further(ctx, &d, p))
	}
	for _, p := range h.Spec.Packages {
		blame(p.Pos, h.system(ctx, &d, p))
	}
	return d, errors.Join(errs...)
}

// runtime declares one agent program, and the Node that it asks for.
func (h Host) runtime(ctx context.Context, d *Declared, use spec.RuntimeUse, rt spec.Runtime) error {
	in := use.Install
	name := rt.Packages[in.Via]
	m := managerOf(in.Via)
	switch {
	case m == nil:
		d.cannot("runtime:"+reconcile.Address(use.ID), in.Pos, "this version installs with %s, and not with %s: install it by hand", strings.Join(names(), ", "), in.Via)
		return nil
	case name == "":
		return fmt.Errorf("runtime %q: the catalog knows no %s package of it", use.ID, in.Via)
	}
	if h.elsewhere(ctx, d, use.ID, Program{Command: rt.Command, Via: in.Via, Name: name, Version: in.Version, Pos: in.Pos}) {
		return nil
	}
	if err := h.one(ctx, d, m, name, in.Version, rt.Command, in.Pos); err != nil || in.Node == "" {
		return err
	}
	node := nodePackages[h.platform()]
	switch {
	case m != &npm:
		return fmt.Errorf("runtime %q: node: is for what npm installs, and this is installed with %s", use.ID, in.Via)
	case node == "":
		return fmt.Errorf("runtime %q: npm has no package of node for %s", use.ID, h.platform())
	}
	return h.one(ctx, d, m, node, in.Node, "node", in.Pos)
}

// elsewhere reports, and says, that a program is there that no package of ours
// brought, and that any version of it will do. what is how a person calls it.
func (h Host) elsewhere(ctx context.Context, d *Declared, what string, p Program) bool {
	at := h.program(p.Command)
	if p.Version != "" || at == "" || h.Recorded(Address(p.Via, p.Name)) || h.Installed(ctx, p.Via, p.Name) != "" {
		return false
	}
	d.Notes = append(d.Notes, reconcile.Note{Origin: origin(p.Pos), Text: fmt.Sprintf("%s is there already (%s), so it is not installed with %s; name a version: to have that one installed", what, at, p.Via)})
	return true
}

// further declares a program that something of the spec needs.
func (h Host) further(ctx context.Context, d *Declared, p Program) error {
	m := managerOf(p.Via)
	if m == nil {
		d.cannot(reconcile.Address("package:"+p.Name), p.Pos, "this version installs with %s, and not with %s: install it by hand", strings.Join(names(), ", "), p.Via)
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
		return fmt.Errorf("%s: a release has one version, such as %q, and the spec says %q", p.Name, "b6123", p.Version)
	}
	a, left, err := h.PinArchive(ctx, p.Name, p.Version, p.Archive, p.Pos)
	if err != nil {
		return err
	}
	w := wish{want: exactly(releaseVersion(p.Version, a)), archive: a}
	reason := "pinned in aisync.lock"
	switch {
	case left != nil:
		w.unknown = left.Error()
	case p.Archive.SHA256 != "":
		reason = "the sha256 of the spec"
	case a.SHA256 == "":
		reason = "no sha256 is known: " + advice.ApplyPinsFetched
	}
	address := Address(release.name, p.Name)
	d.declare(address, w, reason, p.Pos)
	d.linked(p.Command, string(ReleaseProgram("", p.Name)), address, p.Pos)
	return nil
}

// system declares a package of the machine's own manager.
func (h Host) system(ctx context.Context, d *Declared, p spec.Named) error {
	m := h.own()
	if m == nil {
		d.cannot(reconcile.Address("package:"+p.Value), p.Pos, "this version installs with pacman, apt and brew, and this machine has none of them: install it by hand%s", h.byHand(p.Value))
		return nil
	}
	return h.one(ctx, d, m, p.Value, "", "", p.Pos)
}

// one declares a package, and a link to its program where it has a name and
// lies in a folder of aisync's own.
func (h Host) one(ctx context.Context, d *Declared, m *manager, name, version, program string, pos spec.Position) error {
	a := Address(m.name, name)
	switch {
	case !nameForm.MatchString(name):
		return fmt.Errorf("%q is no name of a package", name)
	case m.manual != "" && h.Installed(ctx, m.name, name) == "":
		d.cannot(a, pos, "%s: %s", m.manual, shellquote.Join(m.add(place{}, name, anyVersion)[0]))
		return nil
	case h.Rooted && !m.rooted:
		d.cannot(a, pos, "%s cannot work below another root; this waits until %s", m.name, advice.ApplyRunsThere)
		return nil
	}
	w, reason, err := h.wish(ctx, m, name, version, pos)
	if err != nil {
		return err
	}
	d.declare(a, w, reason, pos)
	if m == &npm && program != "" {
		d.linked(program, NpmPrefix+"/bin/"+program, a, pos)
	}
	return nil
}

func (d *Declared) declare(a reconcile.Address, w wish, reason string, pos spec.Position) {
	d.Declarations = append(d.Declarations, reconcile.Declaration{
		Target: a, Owner: reconcile.HostOwner, Leaves: []reconcile.Leaf{{Body: w, Origin: origin(pos), Reason: reason}},
	})
}

// linked has ~/.local/bin lead to a program of the package a, which lies below
// ~/.local too.
func (d *Declared) linked(program, lies string, a reconcile.Address, pos spec.Position) {
	d.Declarations = append(d.Declarations, reconcile.Declaration{
		Target: reconcile.Address("link:~/.local/bin/" + program), Owner: reconcile.HostOwner, DependsOn: []reconcile.Address{a},
		Leaves: []reconcile.Leaf{{Body: link.To("../" + strings.TrimPrefix(lies, ".local/")), Origin: origin(pos)}},
	})
}

// wish is what a spec, or the lock where it says nothing, wants of a package.
func (h Host) wish(ctx context.Context, m *manager, name, version string, pos spec.Position) (wish, string, error) {
	series := m.series && partial.MatchString(version)
	if version != "" && !series || m.latest == nil && version == "" {
		if version == "" {
			return wish{want: anyVersion}, "", nil
		}
		c, err := parseConstraint(version)
		return wish{want: c}, "", err
	}
	pinned, left, err := h.Pin(ctx, m.name, name, version, pos)
	switch {
	case err != nil:
		return wish{}, "", err
	case pinned != "":
		return wish{want: exactly(pinned)}, "pinned in aisync.lock", nil
	}
	w := wish{want: anyVersion}
	if series {
		w.want = constraint(">=" + version)
	}
	if left != nil {
		w.unknown = left.Error()
	}
	return w, "the newest, which " + advice.ApplyPins, nil
}

// own is the machine's own package manager: that of its distribution, else the
// first that is there.
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

// distributions by their manager, as os-release names them: programs of
// another's may be there too.
var distributions = map[string][]string{
	"pacman": {"arch", "archarm", "artix", "cachyos", "endeavouros", "garuda", "manjaro"},
	"apt":    {"debian", "devuan", "elementary", "kali", "linuxmint", "pop", "raspbian", "ubuntu", "zorin"},
}

// byHand is how a person installs name, where another manager is there.
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

// Installed asks a manager what it has of one package; "" for nothing.
func (p Provider) Installed(ctx context.Context, r reconcile.ReadEnv, via, name string) string {
	m := managerOf(via)
	at, err := p.at(r)
	if m == nil || err != nil {
		return ""
	}
	is, err := at.one(ctx, m, name)
	if err != nil {
		return "" // Observe says what is wrong
	}
	return is.version
}

// Latest asks where a manager gets its packages for the newest version of one,
// or the newest that begins with within.
func (p Provider) Latest(ctx context.Context, r reconcile.ReadEnv, via, name, within string) (string, error) {
	m := managerOf(via)
	at, err := p.at(r)
	switch {
	case err != nil:
		return "", err
	case m == nil || m.latest == nil:
		return "", fmt.Errorf("%s chooses versions itself", via)
	case !at.has(ctx, m.program):
		return "", fmt.Errorf("%s is not in PATH, and it is what knows the versions of %s", m.program, name)
	}
	at.by = m
	v, err := m.latest(ctx, at, name, within)
	if err == nil && !versionForm.MatchString(v) {
		err = fmt.Errorf("%s says that the newest %s is %q, which is no version", via, name, v)
	}
	return v, err
}
