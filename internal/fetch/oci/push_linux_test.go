package oci_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/fetch/archive"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/internal/fetch/ocitest"
)

// model is a model in two shards.
func model(t *testing.T) oci.Model {
	t.Helper()
	m := oci.Model{Name: "tiny", Quant: "F32", License: "mit"}
	for _, name := range []string{"tiny-00001-of-00002.gguf", "tiny-00002-of-00002.gguf"} {
		path := filepath.Join(t.TempDir(), "blob")
		text := content(name)
		write(t, path, text)
		sum := sha256.Sum256([]byte(text))
		m.Files = append(m.Files, oci.File{Layer: oci.Layer{Title: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(text))}, Path: path})
	}
	return m
}

// content is that of the file called name, several reads long.
func content(name string) string { return strings.Repeat(name, 200_000) }

// everyRegistry runs a test with Debian's docker-registry and with the test's own.
func everyRegistry(t *testing.T, test func(t *testing.T, at string)) {
	t.Run("docker-registry", func(t *testing.T) { test(t, registry(t, t.TempDir(), "")) })
	t.Run("own", func(t *testing.T) {
		r := ocitest.New()
		t.Cleanup(r.Close)
		test(t, r.Host)
	})
}

// What is pushed is a ModelPack, is found as a model, and each file by its digest alone.
// Twice is once.
func TestAPushedModelIsFoundByNameAndByDigest(t *testing.T) {
	everyRegistry(t, func(t *testing.T, at string) {
		c, m := oci.Client{}, model(t)
		target := "oci://" + at + "/house/models:tiny-F32"
		p, err := c.PushModel(t.Context(), target, m, nil)
		if want := m.Files[0].Size + m.Files[1].Size; err != nil || p.Sent != want {
			t.Fatalf("sent %d bytes, want %d; %v", p.Sent, want, err)
		}
		again, err := c.PushModel(t.Context(), target, m, nil)
		if err != nil || again.Sent != 0 || again.Manifest != p.Manifest {
			t.Errorf("again: %+v, %v; first %+v", again, err, p)
		}
		got, err := c.Resolve(t.Context(), target)
		if err != nil || got.Manifest != p.Manifest || len(got.Layers) != 2 || got.Layers[0] != m.Files[0].Layer || got.Layers[1] != m.Files[1].Layer {
			t.Errorf("found %+v, %v", got, err)
		}
		for _, f := range m.Files {
			url, _, err := c.Locate(t.Context(), "oci://"+at+"/house/models@sha256:"+f.SHA256, f.Size, f.SHA256)
			if err != nil {
				t.Fatal(err)
			}
			if body := get(t, url); body != content(f.Title) {
				t.Errorf("%s has %d bytes", f.Title, len(body))
			}
		}

		// The form, as version 0.0.7 of the specification has it.
		var manifest struct {
			MediaType, ArtifactType string
			Config                  struct{ MediaType, Digest string }
			Layers                  []struct {
				MediaType   string
				Annotations map[string]string
			}
		}
		parse(t, get(t, "http://"+at+"/v2/house/models/manifests/tiny-F32"), &manifest)
		if manifest.MediaType != "application/vnd.oci.image.manifest.v1+json" || manifest.ArtifactType != "application/vnd.cncf.model.manifest.v1+json" ||
			manifest.Config.MediaType != "application/vnd.cncf.model.config.v1+json" || manifest.Layers[0].MediaType != "application/vnd.cncf.model.weight.v1.raw" ||
			manifest.Layers[0].Annotations["org.cncf.model.filepath"] != "tiny-00001-of-00002.gguf" {
			t.Errorf("%+v", manifest)
		}
		var config map[string]map[string]any
		parse(t, get(t, "http://"+at+"/v2/house/models/blobs/"+manifest.Config.Digest), &config)
		if keys := slices.Sorted(maps.Keys(config)); !slices.Equal(keys, []string{"config", "descriptor", "modelfs"}) || config["config"]["format"] != "gguf" ||
			config["config"]["quantization"] != "F32" || config["descriptor"]["name"] != "tiny" || config["modelfs"]["type"] != "layers" || len(config["modelfs"]["diffIds"].([]any)) != 2 {
			t.Errorf("%v", config)
		}
	})
}

// An upload that ends early is no artifact; the next push sends what is missing.
func TestAPushThatEndsEarlyGoesOn(t *testing.T) {
	everyRegistry(t, func(t *testing.T, at string) {
		c, m := oci.Client{}, model(t)
		target := "oci://" + at + "/house/models:tiny-F32"
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.PushModel(ctx, target, m, func(done, _ int64) {
			if done > m.Files[0].Size {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("ended with %v", err)
		}
		if has, err := c.Has(t.Context(), target); has || err != nil {
			t.Fatalf("half an artifact is there: %v, %v", has, err)
		}
		p, err := c.PushModel(t.Context(), target, m, nil)
		if err != nil || p.Sent != m.Files[1].Size {
			t.Errorf("sent %d bytes, want the second file's %d; %v", p.Sent, m.Files[1].Size, err)
		}
	})
}

// A registry refuses bytes of another digest, and the push says so.
func TestAPushOfOtherBytesIsRefused(t *testing.T) {
	everyRegistry(t, func(t *testing.T, at string) {
		m := model(t)
		write(t, m.Files[0].Path, content("tiny-00001-of-00002.ggux"))
		if _, err := (oci.Client{}).PushModel(t.Context(), "oci://"+at+"/house/models:x", m, nil); err == nil || !strings.Contains(err.Error(), "tiny-00001-of-00002.gguf") {
			t.Errorf("pushed: %v", err)
		}
	})
}

// A folder that is pushed is read as a source, whoever packed it.
func TestAPushedFolderIsReadAsASource(t *testing.T) {
	everyRegistry(t, func(t *testing.T, at string) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "agent-rules", "commits.md"), "# Commits\n")
		write(t, filepath.Join(dir, ".git", "config"), "secret")
		if err := os.Symlink("commits.md", filepath.Join(dir, "agent-rules", "other.md")); err != nil {
			t.Fatal(err)
		}
		target := "oci://" + at + "/house/rules:v1"
		p, err := oci.Client{}.PushFolder(t.Context(), target, dir)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := (oci.Client{}).PushFolder(t.Context(), target, dir); err != nil || again.Sent != 0 || again.Manifest != p.Manifest {
			t.Errorf("again: %+v, %v", again, err)
		}
		got := filepath.Join(t.TempDir(), "tree")
		if err := (oci.Client{}).Folder(t.Context(), target, got, archive.Limits{Files: 10, Bytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(got, "agent-rules", "other.md")); err != nil || string(text) != "# Commits\n" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := os.Lstat(filepath.Join(got, ".git")); err == nil {
			t.Error("the repository came along")
		}
	})
}

// A push has docker's login; a wrong one is named.
func TestAPushLogsIn(t *testing.T) {
	passwords := filepath.Join(t.TempDir(), "htpasswd")
	write(t, passwords, "me:$2b$04$FzA.xT/oCz3oU/tS9cNbCulY8mCsPvJS4M8f1i9IeKHVV99R8gWfq\n") // of "right"
	at := registry(t, t.TempDir(), "auth: {htpasswd: {realm: test, path: "+passwords+"}}\n")
	logins := func(password string) oci.Client {
		file := filepath.Join(t.TempDir(), "config.json")
		write(t, file, `{"auths":{"`+at+`":{"auth":"`+base64.StdEncoding.EncodeToString([]byte("me:"+password))+`"}}}`)
		return oci.Client{DockerConfig: file}
	}
	target := "oci://" + at + "/house/models:tiny"
	if _, err := logins("right").PushModel(t.Context(), target, model(t), nil); err != nil {
		t.Error(err)
	}
	for _, c := range []oci.Client{{}, logins("wrong")} {
		if _, err := c.PushModel(t.Context(), target, model(t), nil); !errors.Is(err, oci.ErrDenied) {
			t.Errorf("pushed: %v", err)
		}
		if err := c.Ping(t.Context(), "oci://"+at+"/house/models"); !errors.Is(err, oci.ErrDenied) {
			t.Errorf("answers: %v", err)
		}
	}
	if err := logins("right").Ping(t.Context(), "oci://"+at+"/house/other"); err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", url, resp.Status, err)
	}
	return string(body)
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
