package hubtest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fetch/hubtest"
)

var data = bytes.Repeat([]byte("0123456789abcdef"), 4096) // 64 KiB

// get asks for at as a plain client would, and returns what arrived.
func get(t *testing.T, at, span string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", at, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	if span != "" {
		req.Header.Set("Range", span)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

func TestAnHonestHubServesWhatWasAdded(t *testing.T) {
	h := hubtest.New(t)
	commit := h.Add("me/tiny", hubtest.File{Path: "dir/tiny.gguf", Data: data})
	at := h.URL + "/me/tiny/resolve/" + commit + "/dir/tiny.gguf"
	if _, body, err := get(t, at, ""); err != nil || !bytes.Equal(body, data) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	resp, body, err := get(t, at, "bytes=16-31")
	if err != nil || !bytes.Equal(body, data[16:32]) || resp.StatusCode != 206 || resp.Header.Get("Content-Range") != "bytes 16-31/65536" {
		t.Errorf("%s %q: %q, %v", resp.Status, resp.Header.Get("Content-Range"), body, err)
	}
	if len(h.Leaks()) != 0 || h.Sent() != int64(len(data)+16) || len(h.Requests()) != 4 {
		t.Errorf("%v, %d sent, %+v", h.Leaks(), h.Sent(), h.Requests())
	}
}

// Every fault must show to a client that asks for a range or for everything:
// otherwise a test that meets it proves nothing.
func TestEveryFaultShows(t *testing.T) {
	for _, f := range hubtest.Faults(int64(len(data))) {
		t.Run(f.Name, func(t *testing.T) {
			h := hubtest.New(t)
			at := h.URL + "/me/tiny/resolve/" + h.Add("me/tiny", hubtest.File{Path: "f", Data: data}) + "/f"
			h.Break(f)
			if f.Stall || f.StallAt > 0 {
				stalls(t, h, f, at)
				return
			}
			for _, span := range []string{"bytes=0-", "bytes=1-32767", "bytes=32768-"} {
				resp, body, err := get(t, at, span)
				var from, to int
				switch span {
				case "bytes=0-":
					from, to = 0, len(data)
				case "bytes=1-32767":
					from, to = 1, 32768
				default:
					from, to = 32768, len(data)
				}
				right := err == nil && resp.StatusCode == 206 && bytes.Equal(body, data[from:to]) &&
					resp.Header.Get("Content-Encoding") == "" && strings.HasSuffix(resp.Header.Get("Content-Range"), "/65536") && resp.Header.Get("ETag") == ""
				if !right {
					return
				}
			}
			req, _ := http.NewRequestWithContext(t.Context(), "HEAD", at, nil)
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode == 302 && resp.Header.Get("X-Linked-Size") == "65536" {
				t.Error("no client would notice it")
			}
		})
	}
}

// stalls fails unless a body stops after f.StallAt bytes, though more was
// announced, until the client leaves.
func stalls(t *testing.T, h *hubtest.Hub, f hubtest.Fault, at string) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, _ := http.NewRequestWithContext(ctx, "GET", at, nil)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.CopyN(io.Discard, resp.Body, f.StallAt); err != nil || resp.ContentLength != int64(len(data)) {
		t.Errorf("%d bytes announced, %v", resp.ContentLength, err)
	}
	ended := make(chan error)
	go func() {
		_, err := resp.Body.Read(make([]byte, 1))
		ended <- err
	}()
	leave()
	err = <-ended
	for began := time.Now(); h.Sent() != f.StallAt && time.Since(began) < 10*time.Second; {
		time.Sleep(time.Millisecond) // the hub counts when it has written, which may be after we have read
	}
	if !errors.Is(err, context.Canceled) || h.Sent() != f.StallAt {
		t.Errorf("ended by itself after %d bytes: %v", h.Sent(), err)
	}
}

func TestAddressesExpire(t *testing.T) {
	h := hubtest.New(t)
	at := h.URL + "/me/tiny/resolve/" + h.Add("me/tiny", hubtest.File{Path: "f", Data: data}) + "/f"
	h.ExpireAfter(1)
	resp, _, _ := get(t, at, "")
	signed := resp.Request.URL.String()
	if again, _, _ := get(t, signed, ""); resp.StatusCode != 200 || again.StatusCode != 403 {
		t.Errorf("%s, then %s", resp.Status, again.Status)
	}
	if resp, _, _ := get(t, at, ""); resp.StatusCode != 200 {
		t.Errorf("a new address: %s", resp.Status)
	}
	h.ExpireAfter(0)
	resp, _, _ = get(t, at, "")
	h.Expire()
	if again, _, _ := get(t, resp.Request.URL.String(), ""); again.StatusCode != 403 {
		t.Error(again.Status)
	}
	if len(h.Told(signed)) != 1 {
		t.Error("a signature counts as a secret")
	}
}

func TestATokenAtTheContentHostIsALeak(t *testing.T) {
	h := hubtest.New(t)
	req, _ := http.NewRequestWithContext(t.Context(), "GET", h.CDN+"/blob/x", nil)
	req.Header.Set("Authorization", "Bearer t")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if len(h.Leaks()) != 1 {
		t.Errorf("%v", h.Leaks())
	}
}
