package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/fakemcpregistry"
	"aisync.dev/aisync/internal/fetch/mcpregistry"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// older is a server.json in the form of 2025-07-09.
const older = `{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-07-09/server.schema.json","name":"io.github.acme/old","description":"x","status":"active","version_detail":{"version":"1.0.2"},
"packages":[{"registry_type":"oci","registry_base_url":"https://docker.io","identifier":"acme/old","version":"1.0.2",
"runtime_arguments":[{"type":"named","name":"--mount","value":"src={source_path}","is_required":true,"is_repeated":true,"variables":{"source_path":{"is_required":true}}}],
"package_arguments":[{"type":"positional","value_hint":"target_dir","value":"/project"}],
"environment_variables":[{"name":"LOG_LEVEL","default":"info","is_required":true},{"name":"API_KEY","is_required":true,"is_secret":true}]}],
"remotes":[{"transport_type":"streamable","url":"https://old.acme.example/http","headers":[{"name":"X-Key","is_secret":true,"is_required":true}]}]}`

// oldest has the names before that.
const oldest = `{"name":"io.github.acme/oldest","description":"x","version_detail":{"version":"1.0.2","release_date":"2025-06-15T10:30:00Z"},
"packages":[{"registry_name":"docker","name":"acme/oldest","version":"1.0.2"}]}`

func TestOlderForms(t *testing.T) {
	for text, want := range map[string]string{
		older:  `old: ["docker" "run" "-i" "--rm" "--mount=src=/a" "-e" "LOG_LEVEL" "-e" "API_KEY" "acme/old:1.0.2" "/project"] LOG_LEVEL=info API_KEY={env API_KEY}`,
		oldest: `oldest: ["docker" "run" "-i" "--rm" "acme/oldest:1.0.2"]`,
	} {
		s, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ask := Ask{}
		if s.Name == "io.github.acme/old" {
			ask.Values = map[string][]string{"source_path": {"/a"}}
		}
		if e, err := s.Entry(ask); err != nil || shown(e) != want {
			t.Errorf("got %s, %v\nwant %s", shown(e), err, want)
		}
	}
	s, err := Parse([]byte(older))
	if err != nil {
		t.Fatal(err)
	}
	if e, err := s.Entry(Ask{Package: "http"}); err != nil || shown(e) != "old: https://old.acme.example/http X-Key={env X_KEY}" {
		t.Errorf("%s, %v", shown(e), err)
	}
}

func TestSources(t *testing.T) {
	sum := strings.Repeat("a1", 32)
	for _, text := range []string{
		"io.github.acme/notes", "io.github.acme/notes@1.0.0", "io.github.acme/notes@1.0.0#sha256:" + sum,
		"https://registry.example.org/mirror//com.acme/x@2025.1", "http://127.0.0.1:80//com.acme/x", "a/b@v1.0.0-rc.1+x_~2",
	} {
		if s, err := ParseSource(text); err != nil || s.String() != text {
			t.Errorf("%s: %q, %v", text, s, err)
		}
	}
	if s, err := ParseSource("a/b@latest"); err != nil || s.Version != "" {
		t.Errorf("a/b@latest: %+v, %v", s, err)
	}
	for _, text := range []string{
		"", "a", "/", "a/b/c", "a/", "/b", "../b", "a/..", "-a/b", "a/b@", "a/b@^1", "a/b@../x", "a/b\n@1", "a/b@1\n", "a/b@1#sha256:", "a/b@1#sha256:xyz", "a/b#x",
		"http://example.org//a/b", "https:////a/b", "https://a/b", "ftp://example.org//a/b", "https://u:p@example.org//a/b", "https://example.org?x=1//a/b",
	} {
		if s, err := ParseSource(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
}

// notes is a server.json of that version.
func notes(version string) []byte {
	return fmt.Appendf(nil, `{"name":"io.github.acme/notes","description":"Notes.","version":%q,"packages":[%s]}`, version, strings.ReplaceAll(npm(""), "1.2.3", version))
}

func TestRegistryAnswers(t *testing.T) {
	ctx := context.Background()
	r := fakemcpregistry.New()
	defer r.Close()
	for _, v := range []string{"1.0.0", "1.1.0"} {
		if err := r.Publish(notes(v)); err != nil {
			t.Fatal(err)
		}
	}
	disk, err := fsys.New(fsys.Options{Tag: "test", Home: fsys.LogicalPath(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	online := Registry{Client: mcpregistry.Client{Registry: r.URL}, Folder: filepath.Join(t.TempDir(), "mcp")}
	offline := online
	offline.Client.Offline = true
	src := func(version string) Source { return Source{Name: "io.github.acme/notes", Version: version} }

	if _, err := offline.Get(ctx, src("")); !errors.Is(err, reconcile.ErrOffline) || !strings.Contains(err.Error(), "io.github.acme/notes was not fetched before") {
		t.Errorf("offline, before it was asked: %v", err)
	}
	a, err := online.Get(ctx, src(""))
	if err != nil || a.Version != "1.1.0" || a.Source.Version != "1.1.0" || a.Kept {
		t.Fatalf("%+v, %v", a, err)
	}
	if err := online.Keep(disk, a); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"", "1.1.0"} {
		if a, err := offline.Get(ctx, src(v)); err != nil || a.Version != "1.1.0" || !a.Kept {
			t.Errorf("offline, %q: %+v, %v", v, a, err)
		}
	}
	if _, err := offline.Get(ctx, src("1.0.0")); !errors.Is(err, reconcile.ErrOffline) {
		t.Errorf("a version that was not fetched: %v", err)
	}
	elsewhere := offline
	elsewhere.Client.Registry = "https://other.example.org"
	if _, err := elsewhere.Get(ctx, src("")); !errors.Is(err, reconcile.ErrOffline) {
		t.Errorf("another registry: %v", err)
	}
	if err := r.Publish(notes("1.2.0")); err != nil {
		t.Fatal(err)
	}
	if a, err = online.Get(ctx, src("")); err != nil || online.Keep(disk, a) != nil {
		t.Fatal(err)
	}
	if a, err := offline.Get(ctx, src("")); err != nil || a.Version != "1.2.0" {
		t.Errorf("the newest again: %+v, %v", a, err)
	}
	if err := os.WriteFile(online.place("io.github.acme/notes", "1.2.0"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := offline.Get(ctx, src("1.2.0")); err == nil || !strings.Contains(err.Error(), "not JSON") {
		t.Errorf("a kept answer that is damaged: %v", err)
	}
}

func TestRegistryRefuses(t *testing.T) {
	ctx := context.Background()
	r := fakemcpregistry.New()
	defer r.Close()
	if err := r.Publish(notes("1.0.0")); err != nil {
		t.Fatal(err)
	}
	reg := Registry{Client: mcpregistry.Client{Registry: r.URL}}
	get := func(name, version string) string {
		_, err := reg.Get(ctx, Source{Name: name, Version: version})
		return said(err)
	}
	for want, got := range map[string]string{
		"no server com.other/notes -> it has io.github.acme/notes":    get("com.other/notes", ""),
		"no server com.other/nothing":                                 get("com.other/nothing", ""),
		"no version 2.0.0 of io.github.acme/notes -> its newest is 1": get("io.github.acme/notes", "2.0.0"),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	r.Mark("io.github.acme/notes", "deleted", "Malware.")
	if got := get("io.github.acme/notes", ""); !strings.Contains(got, "deleted from the registry: Malware.") {
		t.Error(got)
	}
	answer := notes("1.0.0")
	r.Instead(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) })
	if got := get("io.github.acme/other", ""); !strings.Contains(got, "answered with the server io.github.acme/notes when asked for io.github.acme/other") {
		t.Error(got)
	}
	if got := get("io.github.acme/notes", "1.0.1"); !strings.Contains(got, "answered with version 1.0.0") {
		t.Error(got)
	}
}

func TestDigestsOfImages(t *testing.T) {
	r := Registry{Client: mcpregistry.Client{Registry: "https://registry.example.org"}, Image: func(_ context.Context, image string) (string, error) { return image, nil }}
	for image, want := range map[string]string{
		"notes:latest": "docker.io/library/notes:latest", "acme/notes": "docker.io/acme/notes", "ghcr.io/acme/notes:latest": "ghcr.io/acme/notes:latest",
		"registry.example:5000/notes": "registry.example:5000/notes",
	} {
		if got, err := r.Digest(context.Background(), image); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", image, got, err, want)
		}
	}
	for _, image := range []string{"127.0.0.1:5000/notes", "localhost/notes", "169.254.169.254/notes", "localhost:1/notes"} {
		if got, err := r.Digest(context.Background(), image); err == nil {
			t.Errorf("%s was asked for as %s", image, got)
		}
	}
}
