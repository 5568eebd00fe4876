package catalog

import (
	"slices"

	"aisync.dev/aisync/internal/versions"
	"aisync.dev/aisync/schema/spec"
)

// Age is how an installed version of a program relates to what is known of a part.
type Age string

const (
	AsRun     Age = "the version that was run"
	Newer     Age = "newer than the version that was run"
	Older     Age = "older than the version that was run"
	OutOfSpan Age = "outside the range"
	NotRun    Age = "not run with any version"
)

// Standing is that of one part.
type Standing struct {
	Part  string
	Age   Age
	Run   string         // the version that was run; "" if none was
	Facts spec.PartFacts // whose range leaves the installed version out; for OutOfSpan
}

// Compare returns how version stands to each part that reaches r in any scope.
func Compare(r spec.Runtime, version string) (out []Standing) {
	proof := proofs()[r.ID]
	for _, p := range Parts() {
		user, _ := p.User(r)
		project, _ := p.Project(r)
		if user == Manual && project == Manual || p.Name == "install" {
			continue
		}
		s := Standing{Part: p.Name, Age: NotRun}
		if user == Run || project == Run {
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

// factsOf returns what r's entry says of a part, else of all; the zero value if it
// says nothing.
func factsOf(r spec.Runtime, part string) spec.PartFacts {
	for _, name := range []string{part, "all"} {
		if i := slices.IndexFunc(r.Parts, func(f spec.PartFacts) bool { return f.Part == name && f.Evidence != "" }); i >= 0 {
			return r.Parts[i]
		}
	}
	return spec.PartFacts{}
}
