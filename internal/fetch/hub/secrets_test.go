package hub_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/hubtest"
	"aisync.dev/aisync/reconcile/fsys"
)

// Whatever a hub does, the token stays with it, no secret gets into a message,
// success means the right bytes, and the next run after the fault succeeds.
func TestTheTokenStaysWithTheHubWhateverItDoes(t *testing.T) {
	data := []byte(strings.Repeat("GGUF and what follows it, ", 5000))
	sum := sha256.Sum256(data)
	for _, f := range hubtest.Faults(int64(len(data))) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			h := hubtest.New(t)
			h.Add("me/old", hubtest.File{Path: "m.gguf", Data: data})
			h.Gate("me/old", token, true)
			h.Rename("me/old", "me/m")
			h.ExpireAfter(3)
			r, err := hub.Resolve(at(h), t.Context(), "me/old", "main", "m.gguf")
			if err != nil || r.SHA256 != hex.EncodeToString(sum[:]) {
				t.Fatalf("%+v, %v", r, err)
			}
			client := fetch.New(fetch.Options{
				Endpoint: h.URL, Token: token, Retries: 2, Stall: 300 * time.Millisecond,
				Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
			})
			root := t.TempDir()
			disk, err := fsys.New(fsys.Options{Root: root, Home: "/", Tag: "t"})
			if err != nil {
				t.Fatal(err)
			}
			want := fetch.Artifact{Name: "m", Sources: []string{r.URL}, Size: r.Size, SHA256: r.SHA256}
			run := func() error {
				err := client.Fetch(t.Context(), want, disk, "/m.part", nil)
				got, rerr := os.ReadFile(root + "/m.part")
				if rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
					t.Fatal(rerr)
				}
				if right := string(got) == string(data); err == nil && !right {
					t.Errorf("success with %d bytes that are not the right ones", len(got))
				}
				if err != nil && h.Told(err.Error()) != nil {
					t.Errorf("error %q tells a secret", err)
				}
				return err
			}
			h.Break(f)
			if err := run(); err != nil {
				h.Mend()
				if err := run(); err != nil {
					t.Errorf("the fault is gone, and the next run says %v", err)
				}
			}
			if leaks := h.Leaks(); leaks != nil || len(h.Requests()) < 3 {
				t.Errorf("%v in %d requests", leaks, len(h.Requests()))
			}
		})
	}
}

// A mirror that leads to another host gets its own token and passes it to no other.
func TestLocateNeverTellsTheTokenInAnAddress(t *testing.T) {
	h := hubtest.New(t)
	h.Add("me/m", file("a"))
	h.Gate("me/m", token, true)
	r, err := hub.Resolve(at(h), t.Context(), "me/m", "main", "a")
	if err != nil {
		t.Fatal(err)
	}
	where, header, err := at(h).Locate(t.Context(), r.Source, r.Size, r.SHA256)
	if err != nil || strings.Contains(where, token) || len(header) > 0 {
		t.Errorf("%s %v %v", where, header, err)
	}
	c := at(h)
	c.HTTP = nil // without the token
	if _, _, err := c.Locate(t.Context(), r.Source, r.Size, r.SHA256); !errors.Is(err, hub.ErrGated) {
		t.Error(err)
	}
}
