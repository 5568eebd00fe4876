package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

func TestGoCatalogMatchesCUE(t *testing.T) {
	want, err := schema.EmbeddedCatalog()
	if err != nil {
		t.Fatal(err)
	}
	got := spec.Catalog{Runtimes: catalog.Runtimes(), Models: catalog.Models()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run: go generate ./catalog\n%s", diff)
	}
}

func TestGeneratedFileIsCurrent(t *testing.T) {
	c, err := schema.EmbeddedCatalog()
	if err != nil {
		t.Fatal(err)
	}
	want, err := render(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../data.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("data.go is behind; run: go generate ./catalog")
	}
}
