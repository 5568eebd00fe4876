package oci_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/internal/fetch/ocitest"
)

// ollama's registry serves manifests as plain text, and by their tags alone.
func TestARegistryThatKnowsManifestsByTagsAlone(t *testing.T) {
	r := ocitest.New()
	defer r.Close()
	r.TagsOnly = true
	data := []byte("GGUF of a model")
	r.Push("library/m:8b", ocitest.Layer{Title: "m.gguf", Data: data})
	got, err := oci.Client{}.Resolve(t.Context(), "oci://"+r.Host+"/library/m:8b")
	if err != nil || len(got.Layers) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	sum := sha256.Sum256(data)
	at, _, err := oci.Client{}.Locate(t.Context(), got.Source, int64(len(data)), hex.EncodeToString(sum[:]))
	if want := "http://" + r.Host + "/v2/library/m/blobs/sha256:" + hex.EncodeToString(sum[:]); err != nil || at != want {
		t.Errorf("%s, %v; want %s", at, err, want)
	}
	if at, _, err := (oci.Client{}).Locate(t.Context(), got.Source, 3, strings.Repeat("0", 64)); !errors.Is(err, oci.ErrNotFound) {
		t.Errorf("a layer that is gone: %s, %v", at, err)
	}
}
