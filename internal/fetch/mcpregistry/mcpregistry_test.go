package mcpregistry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"aisync.dev/aisync/reconcile"
)

// asked is a client of a registry that answers with serve.
func asked(t *testing.T, serve http.HandlerFunc) Client {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	return Client{Registry: s.URL}
}

func TestVersionAsksForOneServer(t *testing.T) {
	var path, query string
	c := asked(t, func(w http.ResponseWriter, r *http.Request) {
		path, query = r.URL.EscapedPath(), r.URL.RawQuery
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprint(w, `{"server":{}}`)
	})
	b, err := c.Version(context.Background(), "io.github.acme/notes", "1.0.0+b/1")
	if err != nil || string(b) != `{"server":{}}` {
		t.Fatal(string(b), err)
	}
	if path != "/v0.1/servers/io.github.acme%2Fnotes/versions/1.0.0+b%2F1" || query != "include_deleted=true" {
		t.Errorf("asked for %s?%s", path, query)
	}
}

func TestBadAnswersAreRefused(t *testing.T) {
	reply := func(code int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"a page":           {reply(200, "text/html", "<html>hello</html>"), "text/html and not with JSON"},
		"a page as JSON":   {reply(200, "application/json", "<html>"), "not with JSON"},
		"half":             {reply(200, "application/json", `{"server":`), "not with JSON"},
		"10 MB":            {reply(200, "application/json", `"`+strings.Repeat("x", 10<<20)+`"`), "more than 4 MiB"},
		"another machine":  {redirect("https://elsewhere.example.org/v0.1/servers"), "refusing its redirect to https://elsewhere.example.org"},
		"another port":     {redirect("http://127.0.0.1:1/"), "refusing its redirect to http://127.0.0.1:1"},
		"a circle":         {redirect("/v0.1/servers/again"), "redirects in a circle"},
		"a login":          {reply(401, "application/json", "{}"), "wants a login"},
		"out of order":     {reply(503, "application/json", "{}"), "answered 503"},
		"another question": {reply(400, "application/json", "{}"), "answered 400"},
	} {
		_, err := asked(t, c.serve).Version(context.Background(), "a/b", "latest")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := asked(t, reply(404, "application/json", `{"error":"Server not found"}`)).Version(context.Background(), "a/b", "latest"); !errors.Is(err, ErrNotFound) {
		t.Errorf("404: %v", err)
	}
}

func TestSearchEnds(t *testing.T) {
	page := func(next func(n int) string) (Client, *int) {
		n := 0
		return asked(t, func(w http.ResponseWriter, r *http.Request) {
			n++
			fmt.Fprintf(w, `{"servers":[{"server":{"name":"a/b%d"}}],"metadata":{"nextCursor":%q}}`, n, next(n))
		}), &n
	}
	c, _ := page(func(n int) string { return []string{"two", "three", ""}[n-1] })
	if found, more, err := c.Search(context.Background(), "b", 10); err != nil || more || len(found) != 3 {
		t.Errorf("three pages: %d, %v, %v", len(found), more, err)
	}
	c, _ = page(func(int) string { return "same" })
	if _, _, err := c.Search(context.Background(), "b", 10); err == nil || !strings.Contains(err.Error(), "without an end") {
		t.Errorf("one page again and again: %v", err)
	}
	c, n := page(func(n int) string { return fmt.Sprint("c", n) })
	if found, more, err := c.Search(context.Background(), "b", 1000); err != nil || !more || len(found) != maxPages || *n != maxPages {
		t.Errorf("pages without an end: %d in %d, %v, %v", len(found), *n, more, err)
	}
	c, n = page(func(n int) string { return fmt.Sprint("c", n) })
	if found, more, err := c.Search(context.Background(), "b", 4); err != nil || !more || len(found) != 4 || *n != 5 {
		t.Errorf("more than wanted: %d in %d, %v, %v", len(found), *n, more, err)
	}
}

func TestAddressesOfRegistries(t *testing.T) {
	for address, want := range map[string]string{
		"http://registry.example.org":          "must be asked over https",
		"https://me:secret@example.org":        "no login",
		"https://example.org/?x=1":             "no login, query",
		"ftp://example.org":                    "begins with https://",
		"example.org":                          "begins with https://",
		"http://127.0.0.1.example.org":         "must be asked over https",
		"https://example.org":                  "network required",
		"http://localhost:1":                   "network required",
		"http://[::1]:1/registry/":             "network required",
		"":                                     "network required",
		"https://registry.example.org/mirror/": "network required",
	} {
		_, err := Client{Registry: address, Offline: true}.Version(context.Background(), "a/b", "1")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
		if want == "network required" && !errors.Is(err, reconcile.ErrOffline) {
			t.Errorf("%s: %v is not ErrOffline", address, err)
		}
	}
}
