package hub

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	commit = "0123456789abcdef0123456789abcdef01234567"
	digest = "59a6a710d9e58c690949b25c2e6f3f0fcb4d57393c2c1e1ebcf773869ecd5bcd"
)

// endpoint answers every HEAD with status and headers, and notes requests.
func endpoint(t *testing.T, status int, header ...string) (*httptest.Server, *[]*http.Request) {
	t.Helper()
	var seen []*http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s, &seen
}

func TestResolvePinsWhatTheHeadersSay(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		header []string
	}{
		"a redirect to the content's host": {302, []string{"Location", "http://192.0.2.1/blob?sig=x", "X-Linked-Etag", `"` + digest + `"`, "X-Linked-Size", "483136", "Content-Length", "1170", "ETag", `"nonsense"`}},
		"a weak etag in capitals":          {302, []string{"Location", "/elsewhere", "X-Linked-Etag", `W/"` + strings.ToUpper(digest) + `"`, "X-Linked-Size", "483136"}},
		"a mirror with a prefix":           {200, []string{"X-Linked-Etag", "sha256:" + digest, "X-Linked-Size", "483136", "Content-Length", "130"}},
		"content served at once":           {200, []string{"ETag", `"` + digest + `"`, "Content-Length", "483136"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, seen := endpoint(t, c.status, append(c.header, "X-Repo-Commit", commit)...)
			got, err := Client{HTTP: s.Client(), Endpoint: s.URL + "/"}.resolve(t.Context(), "me/tiny", "refs/pr/1", "dir/tiny 1.gguf")
			want := Resolved{Path: "dir/tiny 1.gguf", Source: "hf://me/tiny@" + commit + "/dir/tiny%201.gguf", Commit: commit, Size: 483136, SHA256: digest, URL: s.URL + "/me/tiny/resolve/" + commit + "/dir/tiny%201.gguf"}
			if err != nil || got != want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, want)
			}
			if r := (*seen)[0]; len(*seen) != 1 || r.Method != "HEAD" || r.RequestURI != "/me/tiny/resolve/refs%2Fpr%2F1/dir/tiny%201.gguf" {
				t.Errorf("%d requests, first %s %s", len(*seen), r.Method, r.RequestURI)
			}
		})
	}
}

func TestResolveSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	pin := []string{"X-Repo-Commit", commit, "X-Linked-Size", "10"}
	for name, c := range map[string]struct {
		status int
		header []string
		is     error
		words  []string
	}{
		"gated":            {403, nil, ErrGated, []string{"accept its terms at", "/me/tiny", "HF_TOKEN"}},
		"private":          {401, nil, ErrGated, []string{"HF_TOKEN"}},
		"not found":        {404, []string{"X-Error-Code", "EntryNotFound"}, ErrNotFound, []string{"EntryNotFound"}},
		"down":             {503, nil, nil, []string{"503", "try again later"}},
		"no hub":           {200, nil, nil, []string{"X-Repo-Commit", "is this a Hugging Face endpoint"}},
		"a git blob":       {200, append(pin, "ETag", `"`+commit+`"`), ErrNoDigest, []string{"git blob", "catalog"}},
		"a strange etag":   {200, append(pin, "ETag", `"abc-7"`), ErrNoDigest, []string{"abc-7"}},
		"no size":          {302, []string{"X-Repo-Commit", commit, "X-Linked-Etag", digest, "Content-Length", "1170", "Location", "/x"}, nil, []string{"size"}},
		"a forged commit":  {200, []string{"X-Repo-Commit", "../../x", "X-Linked-Etag", digest, "X-Linked-Size", "10"}, nil, []string{"not a commit"}},
		"circle of moves":  {307, []string{"Location", "/moved"}, nil, []string{"circle"}},
		"any other status": {418, nil, nil, []string{"418"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := endpoint(t, c.status, c.header...)
			got, err := Client{HTTP: s.Client(), Endpoint: s.URL}.resolve(t.Context(), "me/tiny", "main", "f.gguf")
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("got %+v, %v", got, err)
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}

func TestARenamedRepositoryIsFollowedWithinTheEndpoint(t *testing.T) {
	var auth []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth = append(auth, r.Header.Get("Authorization"))
		if strings.HasPrefix(r.URL.Path, "/old/") {
			http.Redirect(w, r, strings.Replace(r.URL.Path, "/old/", "/new/", 1), http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("X-Repo-Commit", commit)
		w.Header().Set("X-Linked-Etag", digest)
		w.Header().Set("X-Linked-Size", "10")
	}))
	defer s.Close()
	client := &http.Client{Transport: Authorize(http.DefaultTransport, s.URL, "hf_secret")}
	if _, err := (Client{HTTP: client, Endpoint: s.URL}).resolve(t.Context(), "old/tiny", "main", "f"); err != nil {
		t.Fatal(err)
	}
	if len(auth) != 2 || auth[0] != "Bearer hf_secret" || auth[1] != "Bearer hf_secret" {
		t.Errorf("%q", auth)
	}
}

func TestOtherHostsAreNeitherAskedNorTold(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	s, _ := endpoint(t, 302, "Location", other.URL)
	client := &http.Client{Transport: Authorize(http.DefaultTransport, s.URL, "hf_secret")}
	if _, err := (Client{HTTP: client, Endpoint: s.URL}).resolve(t.Context(), "me/tiny", "main", "f"); err == nil {
		t.Error("a redirect without headers pinned something")
	}
}

func TestTheTokenIsForOneOrigin(t *testing.T) {
	var got string
	see := roundTrip(func(r *http.Request) { got = r.Header.Get("Authorization") })
	for url, want := range map[string]string{
		"https://huggingface.co/x":      "Bearer t",
		"https://HUGGINGFACE.co:443/x":  "Bearer t",
		"http://huggingface.co/x":       "",
		"https://huggingface.co:8443/x": "",
		"https://cdn.huggingface.co/x":  "",
		"https://huggingface.co.evil/x": "",
	} {
		req, err := http.NewRequestWithContext(context.Background(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Authorize(see, DefaultEndpoint, "t").RoundTrip(req); err != nil || got != want {
			t.Errorf("%s was sent %q, want %q", url, got, want)
		}
		if req.Header.Get("Authorization") != "" {
			t.Error("the caller's request was changed")
		}
	}
}

type roundTrip func(*http.Request)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
}

func TestPathsThatLeaveTheRepositoryAreRefused(t *testing.T) {
	for _, c := range [][4]string{
		{"ftp://huggingface.co", "me/tiny", "main", "f"}, {"huggingface.co", "me/tiny", "main", "f"},
		{DefaultEndpoint, "me/tiny/more", "main", "f"}, {DefaultEndpoint, "../tiny", "main", "f"},
		{DefaultEndpoint, "me/tiny", "", "f"}, {DefaultEndpoint, "me/tiny", "..", "f"},
		{DefaultEndpoint, "me/tiny", "main", "../f"}, {DefaultEndpoint, "me/tiny", "main", "/f"},
		{DefaultEndpoint, "me/tiny?x", "main", "f"},
	} {
		if u, err := URL(c[0], c[1], c[2], c[3]); err == nil {
			t.Errorf("%q gave %s", c, u)
		}
	}
}

func TestTokenAndEndpointComeFromTheUsualPlaces(t *testing.T) {
	home := t.TempDir()
	write := func(path, token string) string {
		full := filepath.Join(home, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o700), os.WriteFile(full, []byte(token+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		return full
	}
	file := write("own/file", "by-path")
	write("hf/token", "by-home")
	write("xdg/huggingface/token", "by-xdg")
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{}, ""},
		{map[string]string{"XDG_CACHE_HOME": home + "/xdg"}, "by-xdg"},
		{map[string]string{"HF_HOME": home + "/hf", "XDG_CACHE_HOME": home + "/xdg"}, "by-home"},
		{map[string]string{"HF_TOKEN_PATH": file, "HF_HOME": home + "/hf"}, "by-path"},
		{map[string]string{"HF_TOKEN": " by-env ", "HF_TOKEN_PATH": file}, "by-env"},
	} {
		if got, err := Token(func(k string) string { return c.env[k] }, home); err != nil || got != c.want {
			t.Errorf("%v: %q, %v; want %q", c.env, got, err, c.want)
		}
	}
	write(".cache/huggingface/token", "by-default")
	none := func(string) string { return "" }
	if got, err := Token(none, home); err != nil || got != "by-default" {
		t.Errorf("%q, %v", got, err)
	}
	if got := Endpoint(none); got != "https://huggingface.co" {
		t.Error(got)
	}
	if got := Endpoint(func(string) string { return "http://127.0.0.1:1/" }); got != "http://127.0.0.1:1" {
		t.Error(got)
	}
}

func TestATokenThatIsNoneIsRefusedWithoutShowingIt(t *testing.T) {
	for _, bad := range []string{"two words", "with\nanother", "naïve"} {
		got, err := Token(func(k string) string { return map[string]string{"HF_TOKEN": bad}[k] }, t.TempDir())
		if err == nil || strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), "HF_TOKEN") {
			t.Errorf("%q, %v", got, err)
		}
	}
}
