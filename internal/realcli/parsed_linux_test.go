package realcli

import (
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// parse is a command by which a program without a login reads what aisync wrote.
type parse struct {
	id    string
	args  []string
	parts []string // that it proves, by their names in the catalog
	host  []string // what it prints of a host's spec, with {tool} and so on for marks
	proj  []string // what it prints of a project's spec
}

// parses are the questions to the programs of Parsers. They dial nobody: in this
// network what asks for a login fails.
var parses = []parse{
	{"amp", []string{"mcp", "list", "--json"}, []string{"mcp"}, []string{`"hostsrv"`, "{tool}"}, []string{`"projectsrv"`, "{tool}"}},
	{"auggie", []string{"mcp", "list", "--json"}, []string{"mcp"}, []string{`"hostsrv"`, "{tool}"}, nil},
	{"auggie", []string{"rules", "list"}, []string{"instructions", "rules"}, nil, []string{"✔ AGENTS.md"}},
	{"auggie", []string{"command", "list"}, []string{"commands"}, []string{"host-fix"}, []string{"project-fix"}},
	{"droid", []string{"mcp", "list"}, []string{"mcp"}, []string{"hostsrv  stdio  connected"}, []string{"projectsrv  stdio  connected"}},
	{"qoder", []string{"mcp", "list"}, []string{"mcp"}, nil, []string{"✓ projectsrv: "}},
	{"qoder", []string{"skills", "list"}, []string{"skills"}, []string{"host-look", "{skill}"}, []string{"project-look", "{skill}"}},
}

// What the catalog calls parsed is asked here of the version that it names, and the
// other way round.
func TestParsedPartsAreAsked(t *testing.T) {
	asked := map[string]bool{}
	for _, p := range parses {
		for _, part := range p.parts {
			asked[p.id+" "+part] = true
		}
	}
	for _, rt := range catalog.With(spec.Catalog{}).Runtimes() {
		for _, f := range rt.Parts {
			name := rt.ID + " " + f.Part
			if (f.Evidence == string(catalog.Parsed)) != asked[name] {
				t.Errorf("%s: the catalog says %s, asked: %v", name, f.Evidence, asked[name])
			}
			i := slices.IndexFunc(Parsers, func(p Package) bool { return p.ID == rt.ID })
			if asked[name] && (i < 0 || f.Version != Parsers[i].Version) {
				t.Errorf("%s: the catalog has version %s", name, f.Version)
			}
			delete(asked, name)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the catalog does not call these parsed: %v", asked)
	}
}

// Programs that work for nobody without a login read what aisync wrote all the same.
func TestProgramsParseWhatIsWritten(t *testing.T) {
	needPrograms(t)
	if !everyWay {
		t.Skip("make night asks them")
	}
	for _, p := range Parsers {
		t.Run(p.ID, func(t *testing.T) {
			w := newWorld(t, scope{"both", true, true}, []string{p.ID})
			w.aisync("apply", "--yes", "--trust")
			for _, q := range parses {
				if q.id != p.ID {
					continue
				}
				name := p.Command + " " + strings.Join(q.args, " ")
				r := w.run(w.project, nil, append([]string{p.Command}, q.args...)...)
				for scope, wants := range map[string][]string{"host": q.host, "project": q.proj} {
					for _, want := range wants {
						if want = fill(want, scope); !strings.Contains(r.out, want) {
							t.Errorf("%s does not say %q:\n%s", name, want, r.out)
						}
					}
				}
				t.Logf("%s: %.1f s", name, r.took.Seconds())
			}
			if t.Failed() {
				w.keep()
			}
			w.inOrder()
		})
	}
}
