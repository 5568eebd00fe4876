package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/providers/providertest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

const storeDir fsys.LogicalPath = "/home/me/models"

// bytesOf is the content of a model; each has its own size.
func bytesOf(v string) []byte {
	return bytes.Repeat([]byte(v+" tensor "), 1000+100*int(v[0]-'X'))
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// write makes a file and the folders above it.
func write(t testing.TB, path string, b []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// blobIn puts the content v into the store below root.
func blobIn(t testing.TB, root, v string) {
	t.Helper()
	write(t, filepath.Join(root, string(Blob(storeDir, sumOf(bytesOf(v))))), bytesOf(v), 0o444)
}

func viewOf(v string) View {
	return View{Dir: storeDir, SHA256: sumOf(bytesOf(v)), Size: int64(len(bytesOf(v)))}
}

func viewSuite() providertest.Suite {
	const address = "view:~/other/models/tiny.gguf"
	return providertest.Suite{
		Provider: Provider{}, Address: address, Gap: true, Kept: []string{"home/me/models"},
		Prepare: func(t *testing.T, b *providertest.Bench) {
			for _, v := range []string{"X", "Y", "Z"} {
				blobIn(t, b.Root, v)
			}
		},
		Want: func(_ *providertest.Bench, v string) []reconcile.Leaf { return []reconcile.Leaf{{Body: viewOf(v)}} },
		Put: func(t *testing.T, b *providertest.Bench, v string) {
			if err := os.RemoveAll(b.Path()); err != nil {
				t.Fatal(err)
			}
			if v != "" {
				write(t, b.Path(), bytesOf(v), 0o644)
			}
		},
		Get: func(t *testing.T, b *providertest.Bench) string {
			got, err := os.ReadFile(b.Path())
			if os.IsNotExist(err) {
				return ""
			}
			for _, v := range []string{"X", "Y", "Z"} {
				if bytes.Equal(got, bytesOf(v)) {
					return v
				}
			}
			return fmt.Sprintf("%d unexpected bytes, %v", len(got), err)
		},
		Block: func(t *testing.T, b *providertest.Bench) {
			if err := os.MkdirAll(filepath.Dir(b.Path()), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/elsewhere", b.Path()); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestViewPassesProviderSuite(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Suite { return viewSuite() })
}

// machine is a file system with a home, and an environment on it.
func machine(t testing.TB) (string, reconcile.WriteEnv) {
	t.Helper()
	root := t.TempDir()
	disk, err := fsys.New(fsys.Options{Root: root, Home: "/home/me", Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return root, reconcile.WriteEnv{ReadEnv: reconcile.ReadEnv{FS: disk, Home: "/home/me"}, FS: disk}
}

func TestAViewIsNoSecondCopy(t *testing.T) {
	root, w := machine(t)
	blobIn(t, root, "X")
	blob := Blob(storeDir, viewOf("X").SHA256)
	how, err := Place(w.FS, storeDir, blob, "/home/me/models/x.gguf")
	if err != nil || how != HardLink {
		t.Fatalf("%s, %v", how, err)
	}
	a, _ := os.Stat(filepath.Join(root, string(blob)))
	b, _ := os.Stat(filepath.Join(root, "home/me/models/x.gguf"))
	if !os.SameFile(a, b) {
		t.Error("another file")
	}
}

func TestAnotherFileSystemGetsALink(t *testing.T) {
	shm, err := os.MkdirTemp("/dev/shm", "store-")
	if err != nil {
		t.Skipf("no second file system: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(shm) })
	root, w := machine(t)
	blobIn(t, root, "X")
	if err := os.MkdirAll(filepath.Join(root, "srv"), 0o755); err != nil {
		t.Fatal(err)
	}
	// The root is a folder of this file system; a link leads to the other one.
	disk, err := fsys.New(fsys.Options{Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	w.FS = disk
	dir := fsys.LogicalPath(filepath.Join(root, string(storeDir)))
	blob := Blob(dir, viewOf("X").SHA256)
	p := fsys.LogicalPath(shm).Join("x.gguf")
	how, err := Place(disk, dir, blob, p)
	if err != nil || how == HardLink {
		t.Fatalf("%s, %v", how, err)
	}
	if got, err := os.ReadFile(string(p)); err != nil || !bytes.Equal(got, bytesOf("X")) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	s, err := Look(disk, p, blob)
	if err != nil || how == Symlink && s.How != Symlink {
		t.Errorf("%+v, %v", s, err)
	}
	if err := os.Remove(string(blob)); err != nil {
		t.Fatal(err)
	}
	if s, err = Look(disk, p, blob); err != nil || s.Blob != nil || how == Symlink && s.How != Symlink {
		t.Errorf("dangling: %+v, %v", s, err)
	}
}

func TestOnlyAnIntactHeaderIsAGGUF(t *testing.T) {
	root, w := machine(t)
	for name, c := range map[string]struct {
		bytes []byte
		ok    bool
	}{
		"le":       {[]byte("GGUF\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00trailing"), true},
		"be":       {[]byte("GGUF\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02"), true},
		"v1":       {[]byte("GGUF\x01\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"), true},
		"magic":    {[]byte("GGML\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"), false},
		"version":  {[]byte("GGUF\x09\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"), false},
		"counts":   {[]byte("GGUF\x03\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x00\x00\x00"), false},
		"short":    {[]byte("GGUF\x03\x00\x00\x00\x01"), false},
		"web page": {[]byte("<!DOCTYPE html><html></html>"), false},
	} {
		write(t, filepath.Join(root, "f"), c.bytes, 0o644)
		err := CheckGGUF(w.FS, "/f", name+".gguf")
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "in the catalog entry") {
			t.Errorf("%s: %v", name, err)
		}
		if err := CheckGGUF(w.FS, "/f", name+".txt"); err != nil {
			t.Errorf("%s, not named a GGUF: %v", name, err)
		}
	}
}
