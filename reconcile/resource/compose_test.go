package resource

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// text is a body for tests: its fingerprint is itself.
type text string

func (t text) Fingerprint() Fingerprint  { return Fingerprint(t) }
func (t text) Redacted() json.RawMessage { b, _ := json.Marshal(string(t)); return b }

func at(file string, line int) []Position { return []Position{{File: file, Line: line, Col: 1}} }

func member(key LeafKey, value string, line int) Leaf {
	return Leaf{Key: key, Body: text(value), Own: Member, Origin: at("a.cue", line)}
}

func TestEqualDeclarationsCollapseAndKeepBothPlaces(t *testing.T) {
	project := ProjectOwner("/p")
	rs, cs := Compose([]Declaration{
		{Target: "file:~/x.json", Owner: HostOwner, Format: "json", Leaves: []Leaf{member("/b", "1", 3), member("/a", "1", 1)}, DependsOn: []Address{"dir:~/d"}},
		{Target: "file:~/x.json", Owner: project, Format: "json", Leaves: []Leaf{member("/a", "1", 2)}, DependsOn: []Address{"dir:~/d"}},
	})
	if len(cs) != 0 || len(rs) != 1 {
		t.Fatalf("%d resources, conflicts %v", len(rs), cs)
	}
	r := rs[0]
	if len(r.Leaves) != 2 || r.Leaves[0].Key != "/a" || len(r.Leaves[0].Origin) != 2 || !slices.Equal(r.Leaves[0].Owners, []Owner{HostOwner, project}) {
		t.Errorf("leaf /a: %+v", r.Leaves[0])
	}
	if !slices.Equal(r.Leaves[1].Owners, []Owner{HostOwner}) || len(r.DependsOn) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestContradictionsNameBothPlaces(t *testing.T) {
	whole := func(value string, line int) Leaf {
		return Leaf{Body: text(value), Origin: at("b.cue", line)}
	}
	one := func(target Address, format string, leaves ...Leaf) Declaration {
		return Declaration{Target: target, Owner: HostOwner, Format: format, Leaves: leaves}
	}
	for name, c := range map[string]struct {
		decls  []Declaration
		reason string
	}{
		"two values of one leaf":        {[]Declaration{one("file:a", "json", member("/x", "1", 1)), one("file:a", "json", member("/x", "2", 2))}, "declared twice, and not the same"},
		"two wholes":                    {[]Declaration{one("file:a", "", whole("1", 1)), one("file:a", "", whole("2", 2))}, "declared twice"},
		"a whole and a part":            {[]Declaration{one("file:a", "", whole("1", 1)), one("file:a", "json", member("/x", "2", 2))}, "as a whole, and in part"},
		"two formats":                   {[]Declaration{one("file:a", "json", member("/x", "1", 1)), one("file:a", "toml", member("/y", "2", 2))}, "declared as json and as toml"},
		"a value and a value inside":    {[]Declaration{one("file:a", "json", member("/x", "1", 1)), one("file:a", "json", member("/x/y", "2", 2))}, "lies inside /x"},
		"a file and a link":             {[]Declaration{one("file:a/b", "", whole("1", 1)), one("link:a/b", "", whole("2", 2))}, "is the same path as"},
		"names that fold to one":        {[]Declaration{one("file:README", "", whole("1", 1)), one("file:readme", "", whole("2", 2))}, "is the same path as"},
		"a file where a folder must be": {[]Declaration{one("file:a", "", whole("1", 1)), one("file:a/b", "", whole("2", 2))}, "lies inside file:a"},
	} {
		t.Run(name, func(t *testing.T) {
			rs, cs := Compose(c.decls)
			if len(rs) != 0 || len(cs) != 1 {
				t.Fatalf("resources %v, conflicts %v", rs, cs)
			}
			if !strings.Contains(cs[0].Reason, c.reason) || len(cs[0].Origin) != 2 {
				t.Errorf("%+v", cs[0])
			}
		})
	}
}

func TestNeighboursAreNoContradiction(t *testing.T) {
	rs, cs := Compose([]Declaration{
		{Target: "file:a", Owner: HostOwner, Format: "json", Leaves: []Leaf{member("/x", "1", 1), member("/xy", "1", 2), member(`/l#"a"`, "1", 3), member(`/l#"ab"`, "1", 4)}},
		{Target: "file:a", Owner: HostOwner, Leaves: []Leaf{{Key: Seed, Body: text("{}"), Own: SeedOnly}}},
		{Target: "dir:d", Owner: HostOwner, Leaves: []Leaf{{Body: text("dir")}}},
		{Target: "file:d/f", Owner: HostOwner, Leaves: []Leaf{{Body: text("1")}}},
		{Target: "model:A", Owner: HostOwner, Leaves: []Leaf{{Body: text("1")}}},
		{Target: "model:a", Owner: HostOwner, Leaves: []Leaf{{Body: text("1")}}},
	})
	if len(cs) != 0 || len(rs) != 5 {
		t.Errorf("%d resources, conflicts %v", len(rs), cs)
	}
}

func TestComposeDoesNotDependOnOrder(t *testing.T) {
	decls := []Declaration{
		{Target: "file:a", Owner: HostOwner, Format: "json", Leaves: []Leaf{member("/x", "1", 1)}},
		{Target: "file:a", Owner: HostOwner, Format: "json", Leaves: []Leaf{member("/y", "1", 2)}},
		{Target: "file:b", Owner: HostOwner, Leaves: []Leaf{{Body: text("1")}}},
	}
	first, _ := Compose(decls)
	slices.Reverse(decls)
	second, _ := Compose(decls)
	for i := range first {
		if first[i].Address != second[i].Address || len(first[i].Leaves) != len(second[i].Leaves) {
			t.Errorf("%v and %v", first[i], second[i])
		}
	}
}

func TestATargetInGitsOwnFolderIsNoTarget(t *testing.T) {
	leaf := func(line int) []Leaf { return []Leaf{{Body: text("x"), Origin: at("a.cue", line)}} }
	rs, cs := Compose([]Declaration{
		{Target: "file:.git/commondir", Owner: HostOwner, Leaves: leaf(1)},
		{Target: "file:~/p/.GIT /config", Owner: HostOwner, Leaves: leaf(2)},
		{Target: "dir:sub/git~1", Owner: HostOwner, Leaves: leaf(3)},
		{Target: "link:a/../.g\u200cit/x", Owner: HostOwner, Leaves: leaf(4)},
		{Target: "file:.gitignore", Owner: HostOwner, Leaves: leaf(5)},
		{Target: "gitconfig:core.hooksPath", Owner: HostOwner, Leaves: leaf(6)},
	})
	if len(rs) != 2 || len(cs) != 4 {
		t.Fatalf("%v %v", rs, cs)
	}
	for _, c := range cs {
		if !strings.Contains(c.Reason, "git's own folder") || len(c.Origin) != 1 {
			t.Errorf("%+v", c)
		}
	}
}

func TestWhatRecordsCannotHoldIsNoTarget(t *testing.T) {
	for _, c := range []struct {
		d      Declaration
		reason string
	}{
		{Declaration{Target: "file:~/caf\xe9.md", Owner: HostOwner, Leaves: []Leaf{{Body: text("x"), Origin: at("a.cue", 1)}}}, `has a name that is not UTF-8: "~/caf\xe9.md"`},
		{Declaration{Target: "file:.gitignore", Owner: HostOwner, Leaves: []Leaf{member("line:*.b\xe9", "x", 1)}}, `has an entry that is not UTF-8: "line:*.b\xe9"`},
	} {
		rs, cs := Compose([]Declaration{c.d})
		if len(rs) != 0 || len(cs) != 1 || cs[0].Reason != c.reason || cs[0].Hint == "" || len(cs[0].Origin) != 1 {
			t.Errorf("%q: %+v", c.d.Target, cs)
		}
	}
	for _, name := range []string{"caf\u00e9", "cafe\u0301", "\u202e", "new\nline"} {
		if rs, cs := Compose([]Declaration{{Target: Address("file:~/" + name), Owner: HostOwner, Leaves: []Leaf{{Body: text("x")}}}}); len(rs) != 1 {
			t.Errorf("%q: %+v", name, cs)
		}
	}
}
