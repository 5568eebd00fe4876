package variant

import (
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

func TestAVariantCountsForItsVersions(t *testing.T) {
	r := spec.Runtime{
		ID: "x", MCPSupport: true, Command: "x",
		User:    spec.Scope{Skills: "~/.x/skills", MCP: &spec.MCPFile{Path: "~/.x/mcp.json"}},
		Project: spec.Scope{Skills: ".x/skills", Events: &spec.EventsFile{Path: ".x/one.js"}},
		Parts:   []spec.PartFacts{{Part: "hooks", Versions: ">=1"}, {Part: "mcp", Source: "s"}},
		Variants: []spec.Variant{
			{Versions: "<1", Without: []string{"mcp", "user.mcp"}},
			{Versions: ">=2", Change: spec.Runtime{
				Command: "x2",
				Project: spec.Scope{Events: &spec.EventsFile{Path: ".x/two.js"}},
				Parts:   []spec.PartFacts{{Part: "endpoint"}, {Part: "hooks", Versions: ">=2"}},
			}},
		},
	}
	if old := At(r, "0.9"); old.MCPSupport || old.User.MCP != nil || old.User.Skills != "~/.x/skills" || old.ID != "x" {
		t.Errorf("0.9: %+v", old)
	}
	for _, version := range []string{"", "1.5"} {
		if same := At(r, version); !same.MCPSupport || same.Command != "x" || same.Project.Events.Path != ".x/one.js" {
			t.Errorf("%q: %+v", version, same)
		}
	}
	is := At(r, "2.1")
	if is.Command != "x2" || is.Project.Events.Path != ".x/two.js" || is.Project.Skills != ".x/skills" || !is.MCPSupport {
		t.Errorf("2.1: %+v", is)
	}
	if p := is.Parts; len(p) != 3 || p[0].Part != "endpoint" || p[1].Versions != ">=2" || p[2].Part != "mcp" {
		t.Errorf("2.1: parts %+v", p)
	}
	if r.User.MCP == nil || r.Parts[0].Versions != ">=1" {
		t.Error("the entry itself changed")
	}
}

func TestVariantsOfTheCatalogChangeSomething(t *testing.T) {
	for _, r := range catalog.Runtimes() {
		for _, v := range r.Variants {
			for _, name := range v.Without {
				if !HasField(name) {
					t.Errorf("%s %s: no field %s", r.ID, v.Versions, name)
				}
			}
			if len(v.Without) == 0 && len(catalog.Entry(v.Change)) == 0 {
				t.Errorf("%s %s: nothing is different", r.ID, v.Versions)
			}
		}
	}
}
