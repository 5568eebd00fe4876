// Package programage compares the installed version of a program with what is known of
// the parts that aisync writes for it. It starts nothing. Call Of.
package programage

import (
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/versions"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Age is how the installed version of a program relates to what is known of its parts.
type Age struct {
	Runtime spec.Runtime
	Version string // "": its files do not tell it
	Origin  []reconcile.Position
	Parts   []Standing // empty where Version is unknown
}

// Of returns the age of the program of rt, which lies at a path.
func Of(rt spec.Runtime, at string, origin reconcile.Position) Age {
	a := Age{Runtime: rt, Version: hosts.ProgramVersion(at), Origin: []reconcile.Position{origin}}
	if a.Version != "" {
		a.Parts = Compare(rt, a.Version)
	}
	return a
}

// Misfits returns the parts that the installed version takes in another form than
// aisync writes: a sentence for each reason.
func (a Age) Misfits() (out []string) {
	var seen []spec.PartFacts
	for _, s := range a.Parts {
		if s.Age != OutOfSpan || slices.Contains(seen, s.Facts) {
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
	return slices.ContainsFunc(a.Parts, func(s Standing) bool { return s.Part == part && s.Age == OutOfSpan })
}

// Other returns a sentence about a version that is not the one that was run, and
// takes everything as far as is known; "" if there is nothing to say.
func (a Age) Other() string {
	var parts []string
	run, age := "", Relation("")
	for _, s := range a.Parts {
		if s.Age == Newer || s.Age == Older {
			parts, run, age = append(parts, s.Part), s.Run, s.Age
		}
	}
	if len(parts) == 0 {
		return ""
	}
	word := "newer"
	if age == Older {
		word = "older"
	}
	return fmt.Sprintf("%s is version %s, %s than %s, with which aisync was tried: %s", a.Runtime.Command, a.Version, word, run, strings.Join(parts, ", "))
}

// Relation is how an installed version of a program relates to what is known of a part.
type Relation string

const (
	AsRun     Relation = "the version that was run"
	Newer     Relation = "newer than the version that was run"
	Older     Relation = "older than the version that was run"
	OutOfSpan Relation = "outside the range"
	NotRun    Relation = "not run with any version"
)

// Standing is that of one part.
type Standing struct {
	Part  string
	Age   Relation
	Run   string         // the version that was run; "" if none was
	Facts spec.PartFacts // whose range leaves the installed version out; for OutOfSpan
}

// Compare returns how version stands to each part that reaches r in any scope.
func Compare(r spec.Runtime, version string) (out []Standing) {
	proof, _ := catalog.ProofOf(r.ID)
	for _, p := range catalog.Parts() {
		user, _ := p.User(r)
		project, _ := p.Project(r)
		if user == catalog.Manual && project == catalog.Manual || p.Name == "install" {
			continue
		}
		s := Standing{Part: p.Name, Age: NotRun}
		if user == catalog.Run || project == catalog.Run {
			s.Run = proof.Version
			switch n := versions.Compare(version, proof.Version); {
			case n == 0:
				s.Age = AsRun
			case n > 0:
				s.Age = Newer
			default:
				s.Age = Older
			}
		}
		for _, f := range r.Parts {
			span, err := versions.ParseRange(f.Versions)
			if (f.Part == p.Name || f.Part == "all") && err == nil && !span.Has(version) {
				s.Age, s.Facts = OutOfSpan, f
			}
		}
		out = append(out, s)
	}
	return out
}
