package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/reconcile/fsys"
)

func TestAdoptTakesEachFileOnce(t *testing.T) {
	root, w := machine(t)
	in := func(p string) string { return filepath.Join(root, "home/me", p) }
	hub, oll, lms, cpp, any := heldOf("hub", model("X")), heldOf("oll", model("Y")), heldOf("lms", model("Z")), heldOf("cpp", model("X")[:999]), heldOf("any", model("Y")[:888])
	liar, text := heldOf("liar", model("Z")[:777]), heldOf("text", []byte(strings.Repeat("no gguf ", 9)))
	unpinned := Held{ID: "unpinned", Path: Friendly(storeDir, "unpinned", "", "u.gguf"), Wanted: true}
	lie := bytes.Clone(model("Z")[:777])
	lie[50]++
	files := map[string][]byte{
		".cache/huggingface/hub/models--o--hub/blobs/" + hub.SHA256: model("X"),
		".ollama/models/blobs/sha256-" + oll.SHA256:                 model("Y"),
		".ollama/models/blobs/sha256-" + liar.SHA256:                lie,
		".lmstudio/models/o/lms/lms.gguf":                           model("Z"),
		".lmstudio/models/o/lms/other.gguf":                         []byte("something else"),
		".cache/llama.cpp/o_cpp_cpp.gguf":                           model("X")[:999],
		"downloads/deep/renamed.gguf":                               model("Y")[:888],
		"downloads/text.gguf":                                       []byte(strings.Repeat("no gguf ", 9)),
	}
	for p, b := range files {
		write(t, in(p), b, 0o644)
	}
	places := append(ProgramPlaces(func(string) string { return "" }, "/home/me").Locations(), Location{"folder", "/home/me/downloads"}, Location{"folder", "/home/me/nowhere"})
	held := []Held{hub, oll, lms, cpp, any, liar, text, unpinned}

	dry, err := Adopt(t.Context(), w.FS, storeDir, held, places, AdoptOptions{DryRun: true})
	if err != nil || len(dry) != 8 {
		t.Errorf("dry: %d, %v", len(dry), err)
	}
	if _, err := os.Lstat(in("models")); !os.IsNotExist(err) {
		t.Errorf("a dry run wrote: %v", err)
	}

	var read int64
	got, err := Adopt(t.Context(), w.FS, storeDir, held, places, AdoptOptions{Progress: func(_ fsys.LogicalPath, done, total int64) {
		if done == total {
			read += total
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range got {
		switch {
		case a.ID == "unpinned" && strings.Contains(a.Why, "not pinned"), a.ID == "liar" && strings.Contains(a.Why, "sha256 mismatch"), a.ID == "text" && strings.Contains(a.Why, "not a GGUF file"):
			if a.How != "" {
				t.Errorf("%+v", a)
			}
			continue
		case a.How != "hardlink" || a.Why != "":
			t.Errorf("%+v", a)
			continue
		}
		from, _ := os.Stat(filepath.Join(root, string(a.From)))
		blob, err := os.Stat(filepath.Join(root, string(Blob(storeDir, a.SHA256))))
		if err != nil || !os.SameFile(from, blob) || from.Mode() != 0o644 {
			t.Errorf("%s: %v, mode %v", a.ID, err, from.Mode())
		}
		if info, err := w.FS.Lstat(Blob(storeDir, a.SHA256)); err != nil || !Marked(w.FS, storeDir, a.SHA256, info) {
			t.Errorf("%s would be read again: %v", a.ID, err)
		}
	}
	if total := hub.Size + oll.Size + lms.Size + cpp.Size + any.Size + liar.Size + text.Size; len(got) != 8 || read != total {
		t.Errorf("%d results, %d bytes read, want 8 and %d", len(got), read, total)
	}
	for p, b := range files {
		if now, err := os.ReadFile(in(p)); err != nil || !bytes.Equal(now, b) {
			t.Errorf("%s: %d bytes, %v", p, len(now), err)
		}
	}
	again, err := Adopt(t.Context(), w.FS, storeDir, []Held{hub, oll}, places, AdoptOptions{})
	if err != nil || len(again) != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestACopyIsMadeOnlyWhenAsked(t *testing.T) {
	shm, err := os.MkdirTemp("/dev/shm", "store-")
	if err != nil {
		t.Skipf("no second file system: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(shm) })
	root := t.TempDir()
	disk, err := fsys.New(fsys.Options{Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	dir := fsys.LogicalPath(root).Join("store")
	h := heldOf("m", model("X"))
	h.Path = Friendly(dir, "m", "", "m.gguf")
	write(t, filepath.Join(shm, "m.gguf"), model("X"), 0o644)
	places := []Location{{"folder", fsys.LogicalPath(shm)}}
	got, err := Adopt(t.Context(), disk, dir, []Held{h}, places, AdoptOptions{})
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got[0].How == "hardlink" || got[0].How == "reflink" {
		t.Skipf("%s and %s share their bytes", shm, root)
	}
	if !strings.Contains(got[0].Why, "would be copied") {
		t.Errorf("%+v", got[0])
	}
	if got, err = Adopt(t.Context(), disk, dir, []Held{h}, places, AdoptOptions{Copy: true}); err != nil || len(got) != 1 || got[0].How != "copy" {
		t.Fatalf("%+v, %v", got, err)
	}
	if b, err := os.ReadFile(string(Blob(dir, h.SHA256))); err != nil || !bytes.Equal(b, model("X")) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestAdoptingStopsWithItsContext(t *testing.T) {
	root, w := machine(t)
	h := heldOf("m", model("X"))
	write(t, filepath.Join(root, "home/me/downloads/m.gguf"), model("X"), 0o644)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Adopt(ctx, w.FS, storeDir, []Held{h}, []Location{{"folder", "/home/me/downloads"}}, AdoptOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(filepath.Join(root, string(Blob(storeDir, h.SHA256)))); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}
