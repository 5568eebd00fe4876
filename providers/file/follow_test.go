package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// A link in place of a whole file is in order where it leads to the wanted text,
// and is written through only over recorded bytes of the person.
func TestWholeFileBehindLink(t *testing.T) {
	token := func(text string) reconcile.Fingerprint { return reconcile.Fingerprint(fsys.Digest([]byte(text))) }
	record := func(p reconcile.Provenance, text string) []reconcile.LeafRecord {
		return []reconcile.LeafRecord{{Provenance: p, Live: token(text)}}
	}
	for name, c := range map[string]struct {
		there string
		want  string // "" wants nothing
		last  []reconcile.LeafRecord
		is    reconcile.Presence
		fixed bool
	}{
		"equal, unrecorded":       {"a", "a", nil, reconcile.Present, false},
		"another, unrecorded":     {"b", "a", nil, reconcile.Blocked, false},
		"recorded, spec moved":    {"a", "z", record(reconcile.Adopted, "a"), reconcile.Present, false},
		"replaced, spec moved":    {"a", "z", record(reconcile.Replaced, "a"), reconcile.Present, false},
		"recorded, edited":        {"b", "a", record(reconcile.Adopted, "a"), reconcile.Present, true},
		"recorded, dropped":       {"a", "", record(reconcile.Adopted, "a"), reconcile.Present, false},
		"created, still right":    {"a", "a", record(reconcile.Created, "a"), reconcile.Present, false},
		"created, spec moved":     {"a", "z", record(reconcile.Created, "a"), reconcile.Blocked, false},
		"created, dropped":        {"a", "", record(reconcile.Created, "a"), reconcile.Blocked, false},
		"created, another behind": {"b", "a", record(reconcile.Created, "a"), reconcile.Blocked, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.put(t, "theirs/f.md", c.there)
			if err := os.Symlink("theirs/f.md", filepath.Join(m.dir, "f.md")); err != nil {
				t.Fatal(err)
			}
			target := reconcile.Target{Resource: reconcile.Resource{Address: "file:f.md"}, Last: c.last}
			if c.want != "" {
				target.Resource.Leaves = []reconcile.Leaf{{Body: Whole([]byte(c.want), 0o644)}}
			}
			o := (Provider{}).Observe(t.Context(), m.env.ReadEnv, []reconcile.Target{target})[0]
			if o.Presence != c.is || o.ReadOnly != c.fixed {
				t.Errorf("presence %d, read-only %v (%s)", o.Presence, o.ReadOnly, o.Reason)
			}
			if (o.Presence == reconcile.Blocked || o.ReadOnly) && !strings.Contains(o.Reason, "f.md is a link to theirs/f.md") {
				t.Errorf("reason %q", o.Reason)
			}
		})
	}
}
