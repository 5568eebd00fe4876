package slots

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// server answers as llama-server b11669 does: its slots hold tokens, and it
// writes and reads files in dir. busy answers, while it loads, are 503.
func server(t *testing.T, dir string, tokens []int, busy int) (port int, key *string) {
	t.Helper()
	key = new(string)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		if busy--; busy >= 0 {
			http.Error(w, `{"error":{"message":"Loading model"}}`, http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("POST /slots/{id}", func(w http.ResponseWriter, r *http.Request) {
		*key = r.Header.Get("Authorization")
		var ask struct{ Filename string }
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
			t.Error(err)
		}
		var id int
		if _, err := fmt.Sscan(r.PathValue("id"), &id); err != nil {
			t.Error(err)
		}
		at := filepath.Join(dir, ask.Filename)
		if r.FormValue("action") == "save" {
			if err := os.WriteFile(at, []byte(strings.Repeat("x", tokens[id])), 0o644); err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, `{"id_slot":%d,"n_saved":%d}`, id, tokens[id])
			return
		}
		b, err := os.ReadFile(at)
		if err != nil || strings.Contains(string(b), "bad") {
			http.Error(w, `{"error":{"message":"Unable to restore slot"}}`, http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"id_slot":%d,"n_restored":%d}`, id, len(b))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().(*net.TCPAddr).Port, key
}

func TestSlotsOutliveTheServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "coder", "now")
	other := filepath.Join(filepath.Dir(dir), "another model")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	port, key := server(t, dir, []int{70, 0, 30}, 1)
	s := Slots{Dir: dir, Port: port, Count: 3, Key: "secret"}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	kept, err := s.Save(context.Background())
	if err != nil || kept != 100 || *key != "Bearer secret" {
		t.Fatalf("kept %d with key %q, error %v", kept, *key, err)
	}
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 2 { // an empty slot leaves nothing
		t.Errorf("%v, error %v", all, err)
	}
	for _, e := range all {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, error %v", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("slots of other settings are still there")
	}
	if n, err := s.Restore(context.Background()); n != 100 || err != nil {
		t.Errorf("restored %d, error %v", n, err)
	}
}

func TestRefusedSlotIsRemoved(t *testing.T) {
	dir := t.TempDir()
	port, _ := server(t, dir, []int{0}, 0)
	at := filepath.Join(dir, "slot-0")
	if err := os.WriteFile(at, []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Slots{Dir: dir, Port: port, Count: 1}.Restore(context.Background())
	if err == nil || !strings.Contains(err.Error(), "Unable to restore slot") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(at); err == nil {
		t.Error("it is still there")
	}
}

func TestStoppedServerKeepsWhatWasSaved(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "slot-0")
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := Slots{Dir: dir, Port: l.Addr().(*net.TCPAddr).Port, Count: 1}
	if kept, err := s.Save(context.Background()); kept != 0 || err != nil {
		t.Errorf("kept %d, error %v", kept, err)
	}
	if _, err := os.Stat(at); err != nil {
		t.Error(err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Restore(gone); err == nil {
		t.Error("it restores into a server that does not run")
	}
}

// A server of several models is asked for what it has loaded alone: to ask for another
// would load it. What that one had saved goes, as a restart would load it too.
func TestRouterSavesLoadedModels(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "many", "now")
	var asked []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"big","status":{"value":"loaded"}},{"id":"small","status":{"value":"unloaded"}},{"id":"of its cache"}]}`)
	})
	mux.HandleFunc("POST /slots/{id}", func(w http.ResponseWriter, r *http.Request) {
		var ask struct{ Filename, Model string }
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
			t.Error(err)
		}
		asked = append(asked, r.FormValue("action")+" "+ask.Model+" "+r.PathValue("id"))
		if r.FormValue("action") == "save" {
			if err := os.WriteFile(filepath.Join(dir, ask.Filename), []byte("x"), 0o644); err != nil {
				t.Error(err)
			}
		}
		fmt.Fprint(w, `{"n_saved":1}`)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	s := Slots{Dir: dir, Port: srv.Listener.Addr().(*net.TCPAddr).Port, Count: 2, Models: []string{"big", "small"}}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "small.slot-0"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, err := s.Save(t.Context()); kept != 2 || err != nil {
		t.Errorf("kept %d, error %v", kept, err)
	}
	if n, err := s.Restore(t.Context()); n != 2 || err != nil {
		t.Errorf("restored %d, error %v", n, err)
	}
	if got, want := strings.Join(asked, ", "), "save big 0, save big 1, restore big 0, restore big 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
