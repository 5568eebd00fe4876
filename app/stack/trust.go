package stack

import (
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/trust"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// NotTrusted is what of p's project the programs of this machine do not load,
// as far as their own records say. It looks and writes nothing.
func (w *View) NotTrusted(p *reconcile.Plan) []trust.Row {
	project := w.Spec.Project
	if project == nil || w.Places.Project == "" || !w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		return nil
	}
	var used []spec.Runtime
	for _, rt := range w.Catalog.Runtimes() {
		named := slices.ContainsFunc(project.Runtimes, func(n spec.Named) bool { return n.Value == rt.ID })
		if named && w.uses(rt) {
			used = append(used, rt)
		}
	}
	return trust.Check(w.ReadEnv(), p, trust.Project{Dir: w.Places.Project, Owner: reconcile.ProjectOwner(w.Places.Project), Runtimes: used})
}

// uses reports whether a runtime is one of this machine's: its host wants it,
// or its program is there.
func (w *View) uses(rt spec.Runtime) bool {
	if h := w.Spec.Host; h != nil && slices.ContainsFunc(h.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == rt.ID }) {
		return true
	}
	f, err := w.Facts()
	return err == nil && f.Programs[rt.Command] != ""
}

// TrustText says of r what is not loaded, in words.
func TrustText(r trust.Row) string {
	var parts []string
	for _, p := range r.Parts {
		switch p {
		case "mcp":
			parts = append(parts, "MCP "+strings.Join(r.Names, ", "))
		case "subagents":
			parts = append(parts, "subagents "+strings.Join(r.Names, ", "))
		case "everything":
			parts = append(parts, "everything in the project")
		default:
			parts = append(parts, p)
		}
	}
	text := "written, " + r.State + ": "
	if r.State == trust.Unknown {
		text = "written, trust unknown: "
	}
	text += strings.Join(parts, "; ")
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	return text
}
