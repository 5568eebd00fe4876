package oci

import (
	"strings"
	"testing"
)

// Whatever a manifest says, what is chosen out of it as the model has a digest
// and a size, and was in it.
func FuzzManifest(f *testing.F) {
	sum := strings.Repeat("1b", 32)
	layer := func(media, title, size string) string {
		return `{"mediaType":"` + media + `","digest":"sha256:` + sum + `","size":` + size + `,"annotations":{"org.opencontainers.image.title":"` + title + `"}}`
	}
	f.Add([]byte(`{"layers":[`+layer("application/x-gguf", "m.gguf", "7")+`]}`), "")
	f.Add([]byte(`{"layers":[`+layer("a", "m-00001-of-00002.gguf", "7")+`,`+strings.ReplaceAll(layer("a", "m-00002-of-00002.gguf", "7"), "1b1b", "2c2c")+`]}`), "m")
	f.Add([]byte(`{"layers":[`+layer("a+gzip", "", "-7")+`,null,{"digest":"md5:0"}],"manifests":[null,{}]}`), "m.gguf")
	f.Fuzz(func(t *testing.T, raw []byte, want string) {
		all, _, err := files(raw)
		if err != nil {
			return
		}
		model, err := choose(all, want)
		if err != nil {
			return
		}
		if len(model) == 0 {
			t.Fatal("neither a model nor an error")
		}
		for _, l := range model {
			there := false
			for _, f := range all {
				there = there || f.Layer == l
			}
			if !there || len(l.SHA256) != 64 || l.Size <= 0 {
				t.Fatalf("%+v", l)
			}
		}
	})
}

// A source is understood or refused; one that is pinned is understood again and
// stays what it is.
func FuzzSource(f *testing.F) {
	manifest := "sha256:" + strings.Repeat("0a", 32)
	f.Add("oci://ghcr.io/me/m:1#m.gguf")
	f.Add("oci+http://127.0.0.1:5000/me/m@" + manifest)
	f.Add("oci://[::1]/me/m")
	f.Fuzz(func(t *testing.T, source string) {
		pinned, err := At(source, manifest)
		if err != nil {
			return
		}
		if again, err := At(pinned, manifest); err != nil || again != pinned {
			t.Fatalf("%q is pinned as %q, and that as %q: %v", source, pinned, again, err)
		}
	})
}
