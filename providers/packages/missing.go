package packages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// noteMissing notes the managers that d needs and the machine lacks, with the
// command that installs them.
func (h Host) noteMissing(d *Declared) {
	for _, m := range managers {
		if having[m.program] == nil || h.has(m.program) || h.supplied(m.program) || h.Rooted && m.rooted {
			continue // below another root this machine's does it
		}
		var names []string
		var first reconcile.Declaration
		for _, x := range d.Declarations {
			if by, name := split(x.Target); x.Target.Kind() == "package" && by == m {
				if names = append(names, name); len(names) == 1 {
					first = x
				}
			}
		}
		if len(names) == 0 {
			continue
		}
		programs, verb := []string{m.program}, "is"
		if m == &npm && !h.has("node") && !h.supplied("node") {
			programs, verb = []string{"node", m.program}, "are"
		}
		text := fmt.Sprintf("%s %s not on this machine, and %s installs %s", strings.Join(programs, " and "), verb, m.name, strings.Join(names, ", "))
		if how := h.getting(programs); how != "" {
			text += "; run: " + how
		}
		d.Notes = append(d.Notes, reconcile.Note{Warning: true, Text: text, Origin: first.Leaves[0].Origin})
	}
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// getting is the command with which a person installs programs with the machine's
// package manager, "" if it is not known.
func (h Host) getting(programs []string) string {
	m := h.own()
	if m == nil {
		return ""
	}
	var names []string
	for _, p := range programs {
		if Having(m.name, p) == "" {
			return ""
		}
		names = appendNew(names, Having(m.name, p))
	}
	argv := map[*manager][]string{&pacman: {"sudo", "pacman", "-S", "--needed"}, &apt: {"sudo", "apt-get", "install"}, &brew: {"brew", "install"}}[m]
	return shellquote.Join(append(argv, names...))
}

// has reports whether a program or manager is on the machine.
func (h Host) has(program string) bool {
	return h.Facts != nil && (h.Facts.Programs[program] != "" || slices.Contains(h.Facts.Managers, program))
}

// supplied reports whether a package of the spec contains a program.
func (h Host) supplied(program string) bool { return len(h.suppliers(program)) > 0 }

// suppliers are the packages of the spec that contain a program.
func (h Host) suppliers(program string) []reconcile.Address {
	var out []reconcile.Address
	if m := h.own(); m != nil {
		for _, p := range h.Spec.Packages {
			if slices.Contains(Programs(m.name, p.Value), program) {
				out = append(out, Address(m.name, p.Value))
			}
		}
	}
	return out
}

// ordered makes packages wait for the packages with their manager, and those of npm
// for their Node.
func (h Host) ordered(d *Declared) {
	declared := map[reconcile.Address]bool{}
	var node reconcile.Address
	for _, x := range d.Declarations {
		declared[x.Target] = true
		if m, name := split(x.Target); m == &npm && isNode(name) {
			node = x.Target
		}
	}
	for i, x := range d.Declarations {
		m, _ := split(x.Target)
		if x.Target.Kind() != "package" || m == nil || m.program == "" {
			continue
		}
		on := h.suppliers(m.program)
		if m == &npm {
			on = append(on, h.suppliers("node")...)
			if node != x.Target && node != "" {
				on = append(on, node)
			}
		}
		for _, a := range on {
			if declared[a] && a != x.Target && !slices.Contains(d.Declarations[i].DependsOn, a) {
				d.Declarations[i].DependsOn = append(d.Declarations[i].DependsOn, a)
			}
		}
	}
}

// nodeUser is a program of npm and the range of Node that it needs.
type nodeUser struct {
	what, version, needs string
	pos                  spec.Position
}

// runsOnNode notes what the npm package name needs: the range that its release
// names, or at least the version of Node that the catalog has.
func (h Host) runsOnNode(d *Declared, what, name, version, least string, pos spec.Position) {
	u := nodeUser{what: what, pos: pos}
	if c, err := parseConstraint(version); err == nil && !partial.MatchString(version) {
		u.version = c.exact()
	}
	if h.Engines != nil && (u.version != "" || version == "" || partial.MatchString(version)) {
		u.version, u.needs = h.Engines(name, u.version)
	}
	if u.needs == "" && least != "" {
		u.needs = ">=" + least
	}
	if u.needs != "" {
		d.users = append(d.users, u)
	}
}

// noteNode notes the programs of npm that the Node of this machine does not suit.
// An apply refuses to install them.
func (h Host) noteNode(ctx context.Context, d *Declared) {
	if len(d.users) == 0 || h.Node == nil {
		return
	}
	node, ours := Node{}, false
	for _, x := range d.Declarations {
		if m, name := split(x.Target); m == &npm && isNode(name) {
			w, _ := x.Leaves[0].Body.(request)
			node, ours = Node{w.want.exact(), true}, true
		}
	}
	switch {
	case ours:
	case h.supplied("node"):
		return
	case !h.Rooted && !h.has("npm") && !h.has("node"):
		return // noteMissing says it
	default:
		node = h.Node(ctx)
	}
	for _, u := range d.users {
		if !node.fits(u.needs) {
			wrong := &oldNode{u.what, u.version, u.needs, node}
			d.Notes = append(d.Notes, reconcile.Note{Warning: true, Text: wrong.Error() + ": " + wrong.Hint(), Origin: origin(u.pos)})
		}
	}
}

// OutsidePath warns where PATH lacks the folder of the links to programs.
func (d Declared) OutsidePath(home fsys.LogicalPath, path string) []reconcile.Note {
	dir := home.Join(".local/bin")
	linked := slices.IndexFunc(d.Declarations, func(x reconcile.Declaration) bool {
		return x.Target.Kind() == "link" && x.Target.Path(home).Dir() == dir
	})
	if linked < 0 || slices.Contains(strings.Split(path, ":"), string(dir)) {
		return nil
	}
	return []reconcile.Note{{
		Warning: true, Origin: d.Declarations[linked].Leaves[0].Origin,
		Text: fmt.Sprintf("%s is not in PATH, and programs are installed there: add it to PATH", dir),
	}}
}
