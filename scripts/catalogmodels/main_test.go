package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCatalogIsWhatWasRecorded(t *testing.T) {
	models, err := read("recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(models) < 10 {
		t.Errorf("%d models", len(models))
	}
	for _, m := range models {
		told := ""
		for _, s := range m.Sources {
			if told += s.Tells + " "; !strings.HasPrefix(s.URL, "https://") || s.Date == "" {
				t.Errorf("%s: a source without an address or a date: %+v", m.ID, s)
			}
		}
		for _, fact := range []string{"files", "sizes", "license", "context"} {
			if !strings.Contains(told, fact) {
				t.Errorf("%s: no source tells its %s", m.ID, fact)
			}
		}
	}
	want, err := render(models)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../catalog/models.cue")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("catalog/models.cue is behind; run: go generate ./catalog")
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"18.557 GB": 18_557_000_000, "13.3 GiB": 14_281_000_000, "18556689568": 18_556_689_568} {
		if got, err := bytesOf(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "13.3 TB", "-1 GB", "many"} {
		if got, err := bytesOf(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestHubIsRecorded(t *testing.T) {
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/api/models/me/Tiny-GGUF?blobs=true" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"sha": "c0ffee", "cardData": {"license": "mit"}, "gguf": {"context_length": 4096}, "siblings": [{"rfilename": "Tiny-Q8_0.gguf", "size": 8123}]}`)
	}))
	defer hub.Close()
	t.Setenv("HF_ENDPOINT", hub.URL)
	dir := t.TempDir()
	record, out := filepath.Join(dir, "recorded.json"), filepath.Join(dir, "models.cue")
	before := []model{{ID: "tiny", Repo: "me/Tiny-GGUF", Params: "1B", Sources: []source{
		{Tells: "sizes, license", URL: "https://example.org/old", Date: "2026-01-01"},
		{Tells: "params", URL: "https://example.org/card", Date: "2026-01-02"},
	}, Quants: []quant{{Name: "Q8_0", Path: "Tiny-Q8_0.gguf", Size: "8 GB"}}}}
	if err := write(record, before); err != nil {
		t.Fatal(err)
	}
	if err := run(true, record, out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"commit c0ffee", "https://example.org/card (2026-01-02)", "4096", `"MIT"`, "8123"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "example.org/old") {
		t.Errorf("a source that tells nothing any more:\n%s", got)
	}

	before[0].Quants[0].Path = "Gone-Q8_0.gguf"
	if err := write(record, before); err != nil {
		t.Fatal(err)
	}
	if err := run(true, record, out); err == nil || !strings.Contains(err.Error(), "Gone-Q8_0.gguf") {
		t.Errorf("a file that the repository lacks: %v", err)
	}
}
