package stack

import (
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/trust"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// NotTrusted returns what the programs of this machine do not load of p's project,
// as far as their own records tell.
func (v *View) NotTrusted(p *reconcile.Plan) []trust.Row {
	project := v.Spec.Project
	if project == nil || v.Places.Project == "" || !v.Has(reconcile.ProjectOwner(v.Places.Project)) {
		return nil
	}
	var used []spec.Runtime
	for _, rt := range v.Catalog.Runtimes() {
		if project.Uses(rt.ID) && v.uses(rt) {
			used = append(used, rt)
		}
	}
	return trust.Check(v.ReadEnv(), p, trust.Project{Dir: v.Places.Project, Owner: reconcile.ProjectOwner(v.Places.Project), Runtimes: used})
}

// uses reports whether a runtime is one of this machine's: its host wants it,
// or its program is there.
func (v *View) uses(rt spec.Runtime) bool {
	if h := v.Spec.Host; h != nil && slices.ContainsFunc(h.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == rt.ID }) {
		return true
	}
	f, err := v.Facts()
	return err == nil && f.Programs[rt.Command] != ""
}

// TrustText returns what r does not load, in words.
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
