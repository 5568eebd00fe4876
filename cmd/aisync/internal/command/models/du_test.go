package models

import (
	"testing"

	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile/fsys"
)

func TestSharedBytesCountOnce(t *testing.T) {
	file := func(sum string, have int64, views ...fsys.LogicalPath) store.FileState {
		return store.FileState{Held: store.Held{SHA256: sum, Size: have, Views: views}, Have: have}
	}
	doc := usageOf([]store.Model{
		{ID: "one", Quant: "Q8_0", Wanted: true, Files: []store.FileState{file("a", 5, "/v"), file("b", 7)}},
		{ID: "two", Quant: "Q8_0", Files: []store.FileState{file("a", 5)}},
		{ID: "none", Wanted: true, Files: []store.FileState{file("c", 0)}},
	})
	if doc.Bytes != 12 || len(doc.Models) != 2 {
		t.Fatalf("%+v", doc)
	}
	if u := doc.Models[0]; u.Bytes != 12 || u.Own != 7 || u.Names != 3 || u.Keeps != "the spec asks for it; shares files with two" {
		t.Errorf("%+v", u)
	}
	if u := doc.Models[1]; u.Bytes != 5 || u.Own != 0 || u.Keeps != "it is on record; the next apply lets it go; shares files with one" {
		t.Errorf("%+v", u)
	}
}
