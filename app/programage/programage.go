// Package programage compares the installed version of a program with what is known of
// the parts that aisync writes for it. It starts nothing. Call Of.
package programage

import (
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Age is how the installed version of a program relates to what is known of its parts.
type Age struct {
	Runtime spec.Runtime
	Version string // "": its files do not tell it
	Origin  []reconcile.Position
	Parts   []catalog.Standing // empty where Version is unknown
}

// Of returns the age of the program of rt, which lies at a path.
func Of(rt spec.Runtime, at string, origin reconcile.Position) Age {
	a := Age{Runtime: rt, Version: hosts.ProgramVersion(at), Origin: []reconcile.Position{origin}}
	if a.Version != "" {
		a.Parts = catalog.Compare(rt, a.Version)
	}
	return a
}

// Misfits returns the parts that the installed version takes in another form than
// aisync writes: a sentence for each reason.
func (a Age) Misfits() (out []string) {
	var seen []spec.PartFacts
	for _, s := range a.Parts {
		if s.Age != catalog.OutOfSpan || slices.Contains(seen, s.Facts) {
			continue
		}
		seen = append(seen, s.Facts)
		var parts []string
		for _, o := range a.Parts {
			if o.Facts == s.Facts {
				parts = append(parts, o.Part)
			}
		}
		text := fmt.Sprintf("%s is version %s, and aisync writes its %s for %s", a.Runtime.Command, a.Version, strings.Join(parts, ", "), s.Facts.Versions)
		if s.Facts.Says != "" {
			text += ": " + s.Facts.Says
		}
		out = append(out, text+" ("+s.Facts.Source+")")
	}
	return out
}

// Lacks reports whether the installed version takes part in another form than
// aisync writes.
func (a Age) Lacks(part string) bool {
	return slices.ContainsFunc(a.Parts, func(s catalog.Standing) bool { return s.Part == part && s.Age == catalog.OutOfSpan })
}

// Other returns a sentence about a version that is not the one that was run, and
// takes everything as far as is known; "" if there is nothing to say.
func (a Age) Other() string {
	var parts []string
	run, age := "", catalog.Age("")
	for _, s := range a.Parts {
		if s.Age == catalog.Newer || s.Age == catalog.Older {
			parts, run, age = append(parts, s.Part), s.Run, s.Age
		}
	}
	if len(parts) == 0 {
		return ""
	}
	word := "newer"
	if age == catalog.Older {
		word = "older"
	}
	return fmt.Sprintf("%s is version %s, %s than %s, with which aisync was tried: %s", a.Runtime.Command, a.Version, word, run, strings.Join(parts, ", "))
}
