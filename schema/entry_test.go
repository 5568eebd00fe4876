package schema

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// What runtimes show prints of a program can stand in a spec, and says all
// that the catalog knows.
func TestCatalogEntryRoundTrip(t *testing.T) {
	entries := map[string]catalog.Object{}
	want := map[string]spec.Runtime{}
	for _, r := range catalog.Runtimes() {
		entries["own-"+r.ID] = catalog.Entry(r)
		want["own-"+r.ID] = r
	}
	text, err := json.MarshalIndent(map[string]any{"runtimes": entries}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	s, err := hostSpec(t, "package aisync\n\nhosts: here: {}\ncatalog: "+string(text)+"\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Catalog.Runtimes) != len(want) {
		t.Fatalf("%d entries", len(s.Catalog.Runtimes))
	}
	for _, got := range s.Catalog.Runtimes {
		w := want[got.ID]
		got.ID, got.Pos = w.ID, w.Pos
		if diff := cmp.Diff(w, got); diff != "" {
			t.Errorf("%s:\n%s", w.ID, diff)
		}
	}
}
