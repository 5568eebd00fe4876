package doctor

import (
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// serversNotInstalled reports the MCP servers of the host whose package is absent,
// is another version, or lacks the program.
func (e *Env) serversNotInstalled() (out []Finding) {
	if e.spec.Host == nil {
		return nil
	}
	for _, s := range packages.Servers(e.places.Home, e.spec.Host.MCP) {
		if f := e.notInstalled(s); f != (Finding{}) {
			out = append(out, f)
		}
	}
	return out
}

// notInstalled reports what is wrong with the package of s, whose command is the
// path of the program; the zero Finding if nothing is.
func (e *Env) notInstalled(s spec.MCPServer) Finding {
	if s.Install == nil || s.Disabled {
		return Finding{}
	}
	_, plan, err := e.plan()
	if err != nil {
		return Finding{} // the check of drift says why
	}
	a := packages.Address(s.Install.Via, s.Install.Package)
	if i := slices.IndexFunc(plan.Changes, func(c reconcile.Change) bool { return c.Target.Resource.Address == a }); i >= 0 {
		switch c := plan.Changes[i]; c.Action {
		case reconcile.None, reconcile.Accept:
		case reconcile.Unclear:
			return fail("aisync apply", "%s: MCP server %s: the package %s is unknown: %s", s.Install.Pos, s.Name, s.Install.Package, c.Before.Reason)
		case reconcile.Create:
			return fail(choices(c), "%s: MCP server %s cannot be started: %s %s is not installed", s.Install.Pos, s.Name, s.Install.Package, s.Install.Version)
		default:
			is := strings.TrimPrefix(string(c.Before.Token), "=")
			return fail(choices(c), "%s: MCP server %s: %s is version %s, not %s as the spec asks", s.Install.Pos, s.Name, s.Install.Package, is, s.Install.Version)
		}
	}
	if _, err := e.reader.Lstat(fsys.LogicalPath(s.Command)); err != nil {
		return fail("correct command in the spec", "%s: MCP server %s cannot be started: %s %s has no program %s", s.Pos, s.Name, s.Install.Package, s.Install.Version, path.Base(s.Command))
	}
	return Finding{}
}
