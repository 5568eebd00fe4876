package meaning

import (
	"path"
	"strings"

	"aisync.dev/aisync/reconcile"
)

// Skills returns the skills of p: a function that tells of a file to which of them it
// belongs, as the pattern that means all files of that skill, "" for none. A skill is
// a folder whose SKILL.md is a resource of p.
func Skills(p *reconcile.Plan) func(reconcile.Address) reconcile.Address {
	folders := map[string]bool{}
	for _, c := range p.Changes {
		if dir, is := strings.CutSuffix(string(c.Target.Resource.Address), "/SKILL.md"); is {
			folders[dir] = true
		}
	}
	return func(a reconcile.Address) reconcile.Address {
		if a.Kind() != "file" || len(folders) == 0 {
			return ""
		}
		for dir := path.Dir(string(a)); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if folders[dir] {
				return reconcile.Address(dir + "/*")
			}
		}
		return ""
	}
}
