package stack

import (
	"fmt"
	"strings"

	"aisync.dev/aisync/adapter/userpaths"
	"aisync.dev/aisync/reconcile"
)

// noteExtended warns of runtimes that extend another one, have another folder, and
// still have places in the folder of that one.
func (v *View) noteExtended() {
	if v.Spec.Host == nil {
		return
	}
	for _, use := range v.Spec.Host.Runtimes {
		rt, _ := v.Catalog.Runtime(use.ID)
		other, ok := v.Catalog.Runtime(rt.Extends)
		if left := userpaths.Left(rt, other); ok && len(left) > 0 {
			v.Declared.Notes = append(v.Declared.Notes, reconcile.Note{
				Warning: true, Origin: []reconcile.Position{reconcile.Position(rt.Pos)},
				Text: fmt.Sprintf("%s extends %s and has another folder, but its entry still has %s; give each of them in user, and endpoint and trust as a whole", use.ID, rt.Extends, strings.Join(left, ", ")),
			})
		}
	}
}
