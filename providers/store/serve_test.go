package store

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/reconcile/fsys"
)

func TestServeHandsOutWholeFilesByTheirDigest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mod[els]")
	whole, part := strings.Repeat("0a", 32), strings.Repeat("0b", 32)
	for name, text := range map[string]string{string(Blob(fsys.LogicalPath(dir), whole)): "a model", filepath.Join(dir, blobs, "0b", part+".part"): "half"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	at, done, lines := make(chan string, 1), make(chan error, 1), make(chan string, 9)
	go func() {
		done <- Serve(ctx, dir, "127.0.0.1:0", false, func(files int, a net.Addr) { at <- fmt.Sprint(files, " ", a) }, func(line string) { lines <- line })
	}()
	files, address, _ := strings.Cut(<-at, " ")
	if files != "1" {
		t.Errorf("%s files", files)
	}
	for path, want := range map[string]string{whole: "200 a model", part: "404 404 page not found\n", part + ".part": "404 404 page not found\n", "": `200 [{"sha256":"` + whole + `","size":7}]` + "\n"} {
		resp, err := http.Get("http://" + address + "/sha256/" + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := fmt.Sprint(resp.StatusCode, " ", string(body)); err != nil || got != want {
			t.Errorf("/sha256/%s: %q, %v; want %q", path, got, err, want)
		}
		if line := <-lines; !strings.Contains(line, path) {
			t.Errorf("access line %q", line)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("interrupted: %v", err)
	}
	if err := Serve(t.Context(), dir, "0.0.0.0:0", false, nil, nil); err == nil {
		t.Error("it listens on an address that other machines reach")
	}
}
