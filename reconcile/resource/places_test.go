package resource

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"aisync.dev/aisync/reconcile/fsys"
)

type words string

func (w words) Fingerprint() Fingerprint  { return Fingerprint(w) }
func (w words) Redacted() json.RawMessage { return nil }

// Two files that are links to a third are one place, which has that one's name,
// and a line that imports it is wanted in none of them.
func TestFileLinksAreOnePlace(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"B.md": "AGENTS.md", "A.md": "B.md", "whole.md": "AGENTS.md"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	disk, err := fsys.New(fsys.Options{Project: dir, Home: "/home/me", Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	line := Leaf{Key: "line:@AGENTS.md", Body: words(""), Own: Member, Unless: "file:AGENTS.md", Owners: []Owner{"o"}}
	block := Leaf{Key: "block:rules", Body: words("rules"), Own: Member, Owners: []Owner{"o"}}
	for _, c := range []struct {
		wanted []Resource
		first  Address // of A.md
		keys   []LeafKey
	}{
		{[]Resource{{Address: "file:A.md", Leaves: []Leaf{line}}, {Address: "file:B.md", Leaves: []Leaf{line, block}}}, "file:AGENTS.md", []LeafKey{"block:rules"}},
		{[]Resource{{Address: "file:A.md", Leaves: []Leaf{line}}, {Address: "file:AGENTS.md", Leaves: []Leaf{block}}}, "file:AGENTS.md", []LeafKey{"block:rules"}},
		{[]Resource{{Address: "file:A.md", Leaves: []Leaf{line}}}, "file:AGENTS.md", nil},
		{[]Resource{{Address: "file:C.md", Leaves: []Leaf{line}}}, "file:A.md", []LeafKey{"line:@AGENTS.md"}},
	} {
		all := []Address{"file:whole.md"}
		for _, r := range c.wanted {
			all = append(all, r.Address)
		}
		p := FindPlaces(disk, "/home/me", all, func(a Address) bool { return a != "file:whole.md" })
		if got := p.First("file:A.md"); got != c.first {
			t.Errorf("%v: A.md is %s", all, got)
		}
		if got := p.First("file:whole.md"); got != "file:whole.md" {
			t.Errorf("whole.md is %s", got)
		}
		out, conflicts, _ := p.Compose(c.wanted)
		var keys []LeafKey
		for _, r := range out {
			for _, l := range r.Leaves {
				keys = append(keys, l.Key)
			}
		}
		if !slices.Equal(keys, c.keys) || len(conflicts) > 0 {
			t.Errorf("%v: %q %v", all, keys, conflicts)
		}
	}
}
