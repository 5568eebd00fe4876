package stack

import (
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/trust"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// NotTrusted returns what the programs of this machine do not load of p's project,
// and which hooks of the host they do not run, as far as their own records tell.
func (v *View) NotTrusted(p *reconcile.Plan) []trust.Row {
	project := v.Spec.Project
	if project == nil || v.Places.Project == "" || !v.Has(reconcile.ProjectOwner(v.Places.Project)) {
		return v.hostHooks(p)
	}
	var used []spec.Runtime
	for _, rt := range v.Catalog.Runtimes() {
		if project.Uses(rt.ID) && v.uses(rt) {
			used = append(used, rt)
		}
	}
	return append(v.hostHooks(p), trust.Check(v.ReadEnv(), p, trust.Project{Dir: v.Places.Project, Owner: reconcile.ProjectOwner(v.Places.Project), Runtimes: used})...)
}

// hostHooks returns the hooks of the host that programs have not been allowed to run.
func (v *View) hostHooks(p *reconcile.Plan) (out []trust.Row) {
	if v.Spec.Host == nil || !v.Has(reconcile.HostOwner) || v.Places.Root != "" {
		return nil
	}
	for _, c := range p.Changes {
		a := c.Target.Resource.Address
		row := trust.Row{State: trust.NotTrusted, Parts: []string{"hooks"}}
		for _, l := range c.Leaves {
			if l.Want != nil && slices.Contains(l.Want.Owners, reconcile.HostOwner) {
				row.Origin = append(row.Origin, l.Want.Origin...)
			}
		}
		for _, rt := range v.Catalog.Runtimes() {
			i := slices.IndexFunc(rt.Trust, func(t spec.Trust) bool { return t.Form == trust.CodexHooks })
			if events := rt.User.Events; i < 0 || events == nil || a != reconcile.Address("file:"+events.Path) || len(row.Origin) == 0 || !v.uses(rt) {
				continue
			}
			row.Runtime, row.Do = rt.ID, rt.Command+", then /hooks"
			out = append(out, trust.Hooks(v.ReadEnv(), p, rt.Trust[i], a, string(a.Path(v.Places.Home)), row)...)
		}
	}
	return out
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
		case "hooks":
			text := "hooks"
			if len(r.Parts) == 1 && len(r.Names) > 0 {
				text += " " + strings.Join(r.Names, ", ")
			}
			parts = append(parts, text)
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
