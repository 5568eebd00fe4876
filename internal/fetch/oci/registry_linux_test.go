package oci_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/file"
	"oras.land/oras-go/v2/registry/remote"

	"aisync.dev/aisync/internal/fetch/archive"
	"aisync.dev/aisync/internal/fetch/oci"
)

// registry starts Debian's docker-registry on loopback, with its files in store, and
// returns its address.
func registry(t *testing.T, store, more string) string {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("needs docker-registry")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	config := filepath.Join(t.TempDir(), "config.yml")
	text := "version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: " + store + "}}\nhttp: {addr: " + at + "}\n" + more
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "serve", config)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get("http://" + at + "/v2/")
		if err == nil {
			resp.Body.Close()
			return at
		}
		if time.Now().After(end) {
			t.Fatalf("docker-registry does not answer: %v", err)
		}
	}
}

// push sends a folder as oras push does.
func push(t *testing.T, at, dir, name string) {
	t.Helper()
	store, err := file.New(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	layer, err := store.Add(t.Context(), name, "", dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := oras.PackManifest(t.Context(), store, oras.PackManifestVersion1_1, "application/vnd.test", oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}})
	if err == nil {
		err = store.Tag(t.Context(), d, "v1")
	}
	if err != nil {
		t.Fatal(err)
	}
	to, err := remote.NewRepository(at + "/acme/skills")
	if err != nil {
		t.Fatal(err)
	}
	to.PlainHTTP = true
	if _, err := oras.Copy(t.Context(), store, "v1", to, "v1", oras.DefaultCopyOptions); err != nil {
		t.Fatal(err)
	}
}

func TestFolderOfRealRegistry(t *testing.T) {
	store := t.TempDir()
	at := registry(t, store, "")
	from := filepath.Join(t.TempDir(), "skills")
	write(t, filepath.Join(from, "pdf", "SKILL.md"), "A skill")
	push(t, at, from, "skills")
	limits := archive.Limits{Files: 100, Bytes: 1 << 20}
	source := "oci://" + at + "/acme/skills:v1"
	digest, err := oci.Client{}.Digest(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := oci.At(source, digest)
	if err != nil {
		t.Fatal(err)
	}
	dst := filepath.Join(t.TempDir(), "tree")
	if err := (oci.Client{}).Folder(t.Context(), pinned, dst, limits); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dst, "skills", "pdf", "SKILL.md")); err != nil || string(got) != "A skill" {
		t.Errorf("%q, %v", got, err)
	}
	if err := (oci.Client{}).Folder(t.Context(), "oci://"+at+"/acme/skills:v2", filepath.Join(t.TempDir(), "x"), limits); !errors.Is(err, oci.ErrNotFound) {
		t.Errorf("no such tag: %v", err)
	}
	if err := (oci.Client{}).Folder(t.Context(), pinned, filepath.Join(t.TempDir(), "x"), archive.Limits{Files: 100, Bytes: 1}); !errors.Is(err, archive.ErrTooLarge) {
		t.Errorf("a limit of one byte: %v", err)
	}

	// Bytes that rot on the server are not those of the digest.
	spoilt := 0
	err = filepath.WalkDir(store, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "data" {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && len(b) > 2 && b[0] == 0x1f && b[1] == 0x8b {
			b[len(b)-1] ^= 1
			spoilt++
			err = os.WriteFile(path, b, 0o600)
		}
		return err
	})
	if err != nil || spoilt != 1 {
		t.Fatalf("%d layers, %v", spoilt, err)
	}
	if err := (oci.Client{}).Folder(t.Context(), pinned, filepath.Join(t.TempDir(), "x"), limits); err == nil || !strings.Contains(err.Error(), "other bytes than its digest") {
		t.Errorf("spoilt bytes: %v", err)
	}
}

func TestFolderNeedsLogin(t *testing.T) {
	passwords := filepath.Join(t.TempDir(), "htpasswd")
	write(t, passwords, "me:$2y$05$J6YNRr9HBJJxw1bq8zVhBuR3XWD1Hf8mI6d.mmGWc2eDNaYc0G0vS\n")
	at := registry(t, t.TempDir(), "auth: {htpasswd: {realm: test, path: "+passwords+"}}\n")
	err := oci.Client{}.Folder(t.Context(), "oci://"+at+"/acme/skills:v1", filepath.Join(t.TempDir(), "x"), archive.Limits{Files: 1, Bytes: 1})
	if !errors.Is(err, oci.ErrDenied) || !strings.Contains(err.Error(), "run: docker login "+at) {
		t.Errorf("without a login: %v", err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
