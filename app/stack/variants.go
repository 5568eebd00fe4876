package stack

import (
	"path/filepath"

	"aisync.dev/aisync/catalog/variant"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/schema/spec"
)

// chooseVariants sets the entries of the catalog to the versions of their programs here.
func (v *View) chooseVariants() {
	v.Catalog = v.Catalog.Changed(func(rt spec.Runtime) spec.Runtime { return variant.At(rt, v.versionHere(rt)) })
}

// versionHere returns the version of a program that this machine has or gets: the one
// that is pinned or asked for, else the installed one; "" if that is unknown.
func (v *View) versionHere(rt spec.Runtime) string {
	if h := v.Spec.Host; h != nil {
		for _, use := range h.Runtimes {
			if use.ID != rt.ID || use.Install == nil {
				continue
			}
			if pin, ok := v.HostLock.Lock.Pin("package", use.Install.Via+"/"+rt.Packages[use.Install.Via], h.Name); ok {
				return pin.Values["version"]
			}
			if exact := use.Install.Version; exact != "" && exact[0] >= '0' && exact[0] <= '9' {
				return exact
			}
		}
	}
	if v.Places.Root != "" || v.FactsFile != "" {
		return ""
	}
	return hosts.ProgramVersion(hosts.FindProgram("", filepath.SplitList(v.Env.Get("PATH")), rt.Command))
}
