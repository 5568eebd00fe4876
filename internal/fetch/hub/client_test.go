package hub_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/hubtest"
	"aisync.dev/aisync/reconcile"
)

const token = "hf_secretsecretsecret"

// at returns a client of h that has the token.
func at(h *hubtest.Hub) hub.Client {
	return hub.Client{Endpoint: h.URL, HTTP: &http.Client{Transport: hub.Authorize(http.DefaultTransport, h.URL, token)}}
}

func file(path string) hubtest.File {
	return hubtest.File{Path: path, Data: []byte("GGUF of " + path)}
}

// paths joins the paths of files and checks that each is pinned in full.
func paths(t *testing.T, commit string, files []hub.Resolved) string {
	t.Helper()
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
		if f.Commit != commit || len(f.SHA256) != 64 || f.Size != int64(len("GGUF of "+f.Path)) || f.Source != "hf://me/m@"+commit+"/"+f.Path {
			t.Errorf("%+v is not pinned at %s", f, commit)
		}
	}
	return strings.Join(names, " ")
}

func TestFilesAreFoundWithAllTheirShardsInOrder(t *testing.T) {
	repo := []hubtest.File{
		file("README.md"), file("m-Q4_K_M.gguf"), file("mmproj-Q8_0.gguf"), file("m-Q8_0.gguf"),
		file("UD/m-Q4_K_M_L.gguf"), file("Q6_K/m-00002-of-00002.gguf"), file("Q6_K/m-00001-of-00002.gguf"),
		file("m-Q5_K_M-00001-of-00003.gguf"), file("m-Q5_K_M-00003-of-00003.gguf"),
		file("m-IQ4_XS.gguf"), file("UD/m-UD-IQ4_XS.gguf"),
	}
	for _, c := range []struct {
		file, quant string // one of them
		want        string
		is          error
		says        []string
	}{
		{file: "m-Q4_K_M.gguf", want: "m-Q4_K_M.gguf"},
		{file: "Q6_K/m-00001-of-00002.gguf", want: "Q6_K/m-00001-of-00002.gguf Q6_K/m-00002-of-00002.gguf"},
		{file: "Q6_K/m-00002-of-00002.gguf", want: "Q6_K/m-00001-of-00002.gguf Q6_K/m-00002-of-00002.gguf"},
		{file: "m-Q5_K_M-00001-of-00003.gguf", is: hub.ErrMissingShard, says: []string{"m-Q5_K_M-00002-of-00003.gguf", "2 of 3"}},
		{file: "m-Q6_K.gguf", is: hub.ErrNotFound, says: []string{"m-Q6_K.gguf"}},
		{file: "m-Q4_K_M_L.gguf", is: hub.ErrNotFound},
		{file: "m-00003-of-00002.gguf", says: []string{"no part 3 of 2"}},
		{quant: "Q4_K_M", want: "m-Q4_K_M.gguf"},
		{quant: "q8_0", want: "m-Q8_0.gguf"},
		{quant: "Q6_K", want: "Q6_K/m-00001-of-00002.gguf Q6_K/m-00002-of-00002.gguf"},
		{quant: "Q5_K_M", is: hub.ErrMissingShard, says: []string{"m-Q5_K_M-00002-of-00003.gguf"}},
		{quant: "IQ4_XS", want: "m-IQ4_XS.gguf"},
		{quant: "ud-iq4_xs", want: "UD/m-UD-IQ4_XS.gguf"},
		{quant: "F16", is: hub.ErrNotFound, says: []string{"m-Q4_K_M.gguf", "UD/m-Q4_K_M_L.gguf"}},
		{quant: "Q4_K", is: hub.ErrNotFound},
	} {
		for name, set := range map[string]func(*hubtest.Hub){
			"one page":           func(*hubtest.Hub) {},
			"many pages":         func(h *hubtest.Hub) { h.PageSize = 2 },
			"prefixed digests":   func(h *hubtest.Hub) { h.PrefixOID = true },
			"no listing at all":  func(h *hubtest.Hub) { h.NoAPI = true },
			"content by the hub": func(h *hubtest.Hub) { h.Direct, h.NoAPI = true, true },
		} {
			t.Run(c.file+c.quant+", "+name, func(t *testing.T) {
				h := hubtest.New(t)
				set(h)
				commit := h.Add("me/m", repo...)
				var got []hub.Resolved
				var err error
				if c.file != "" {
					got, err = at(h).Files(t.Context(), "me/m", "main", c.file)
				} else if got, err = at(h).Quant(t.Context(), "me/m", "main", c.quant); h.NoAPI {
					if err == nil || !strings.Contains(err.Error(), "lists no files") {
						t.Errorf("%v", err)
					}
					return
				}
				if names := paths(t, commit, got); c.want != "" && (err != nil || names != c.want) {
					t.Errorf("got %q, %v; want %q", names, err, c.want)
				}
				if c.want == "" && (err == nil || c.is != nil && !errors.Is(err, c.is)) {
					t.Errorf("got %+v, %v; want %v", got, err, c.is)
				}
				for _, w := range c.says {
					if !strings.Contains(fmt.Sprint(err), w) {
						t.Errorf("error %q does not say %q", err, w)
					}
				}
			})
		}
	}
}

func TestAFileThatLiesElsewhereIsNamed(t *testing.T) {
	h := hubtest.New(t)
	h.Add("me/m", file("Q4/m-Q4_0-00001-of-00002.gguf"), file("Q4/m-Q4_0-00002-of-00002.gguf"), hubtest.File{Path: "small.gguf", Plain: true, Data: []byte("x")})
	_, err := at(h).Files(t.Context(), "me/m", "main", "m-Q4_0.gguf")
	if !errors.Is(err, hub.ErrNotFound) || !strings.Contains(err.Error(), "it has Q4/m-Q4_0-00001-of-00002.gguf") {
		t.Error(err)
	}
	if _, err := at(h).Files(t.Context(), "me/m", "main", "small.gguf"); !errors.Is(err, hub.ErrNoDigest) {
		t.Error(err)
	}
	for _, c := range [][2]string{{"me/none", "main"}, {"me/m", "v9"}, {"me/m", strings.Repeat("0", 40)}} {
		if got, err := at(h).Files(t.Context(), c[0], c[1], "m.gguf"); !errors.Is(err, hub.ErrNotFound) && !errors.Is(err, hub.ErrGated) {
			t.Errorf("%v: %v, %v", c, got, err)
		}
	}
}

func TestOneCommitIsAskedForOnceItIsKnown(t *testing.T) {
	h := hubtest.New(t)
	old := h.Add("me/m", file("a.gguf"))
	h.Add("me/m", file("b.gguf"))
	got, err := at(h).Files(t.Context(), "me/m", old, "a.gguf")
	if err != nil || paths(t, old, got) != "a.gguf" {
		t.Errorf("%v, %v", got, err)
	}
	for _, r := range h.Requests() {
		if !strings.Contains(r.Path, old) {
			t.Errorf("asked for %s", r.Path)
		}
	}
	h.Forget()
	h.NoAPI = true // from its first shard on, a model is asked for at one commit
	now := h.Add("me/m", file("s-00001-of-00002.gguf"), file("s-00002-of-00002.gguf"))
	if got, err := at(h).Files(t.Context(), "me/m", "main", "s-00001-of-00002.gguf"); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if asked := h.Requests(); !strings.Contains(asked[len(asked)-1].Path, now) {
		t.Errorf("the second shard was asked for at %s", asked[len(asked)-1].Path)
	}
	h.NoAPI = false
	if c, err := hub.Commit(at(h), t.Context(), "me/m", "main"); err != nil || c == old {
		t.Errorf("%s, %v", c, err)
	}
}

func TestLocateLeadsToTheContentAndNeverThere(t *testing.T) {
	h := hubtest.New(t)
	commit := h.Add("me/old", file("dir/a b.gguf"))
	h.Gate("me/old", token, true)
	h.Rename("me/old", "me/m")
	f, err := hub.Resolve(at(h), t.Context(), "me/old", "main", "dir/a b.gguf")
	if err != nil || f.Commit != commit {
		t.Fatal(f, err)
	}
	where, header, err := at(h).Locate(t.Context(), f.Source, f.Size, f.SHA256)
	if err != nil || !strings.HasPrefix(where, h.CDN) || header != nil {
		t.Fatal(where, header, err)
	}
	for _, r := range h.Requests() {
		if r.Host == "cdn" {
			t.Errorf("asked the content host: %+v", r)
		}
	}
	resp, err := at(h).HTTP.Get(where)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "GGUF of dir/a b.gguf" || len(h.Leaks()) > 0 {
		t.Errorf("%q, %v", body, h.Leaks())
	}
}

func TestAMirrorThatServesByItselfIsItsOwnContentHost(t *testing.T) {
	h := hubtest.New(t)
	h.Direct = true
	h.Add("me/m", file("a"))
	f, err := hub.Resolve(at(h), t.Context(), "me/m", "main", "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range []hubtest.Fault{{}, {NoRange: true}} {
		h.Break(fault)
		if where, _, err := at(h).Locate(t.Context(), f.Source, f.Size, f.SHA256); err != nil || where != f.URL {
			t.Errorf("%s, %v; want %s", where, err, f.URL)
		}
	}
	h.Break(hubtest.Fault{NoRange: true, Long: 1})
	if _, _, err := at(h).Locate(t.Context(), f.Source, f.Size+7, f.SHA256); !errors.Is(err, hub.ErrChanged) {
		t.Error(err)
	}
}

func TestLocateSaysWhyNot(t *testing.T) {
	other := strings.Repeat("c", 64)
	for name, c := range map[string]struct {
		set   func(*hubtest.Hub)
		is    error
		says  []string
		after time.Duration // that must be waited; -1: waiting does not help
	}{
		"upstream changed": {func(h *hubtest.Hub) { h.Break(hubtest.Fault{ChangedEtag: true}) }, hub.ErrChanged, []string{other, "lock --update"}, -1},
		"gated":            {func(h *hubtest.Hub) { h.Gate("me/m", "another", true) }, hub.ErrGated, []string{"/me/m", "HF_TOKEN", "401"}, -1},
		"terms":            {func(h *hubtest.Hub) { h.Gate("me/m", token, false) }, hub.ErrGated, []string{"accept its terms", "403"}, -1},
		"gone":             {func(h *hubtest.Hub) { h.Break(hubtest.Fault{ResolveStatus: 404}) }, hub.ErrNotFound, nil, -1},
		"down":             {func(h *hubtest.Hub) { h.Break(hubtest.Fault{ResolveStatus: 503}) }, nil, []string{"503", "try again"}, 0},
		"busy": {func(h *hubtest.Hub) {
			h.Direct = true
			h.Break(hubtest.Fault{Status: 429, RetryAfter: "7"})
		}, nil, []string{"429"}, 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			h := hubtest.New(t)
			h.Add("me/m", file("a"))
			f, err := hub.Resolve(at(h), t.Context(), "me/m", "main", "a")
			if err != nil {
				t.Fatal(err)
			}
			c.set(h)
			where, _, err := at(h).Locate(t.Context(), f.Source, f.Size, f.SHA256)
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("%s, %v; want %v", where, err, c.is)
			}
			if errors.Is(err, hub.ErrChanged) {
				c.says = append(c.says, f.SHA256)
			}
			for _, w := range c.says {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
			if told := h.Told(err.Error()); told != nil || strings.Contains(err.Error(), token) {
				t.Errorf("error %q tells a secret", err)
			}
			after := time.Duration(-1)
			var later interface{ RetryAfter() time.Duration }
			if errors.As(err, &later) {
				after = later.RetryAfter()
			}
			if after != c.after {
				t.Errorf("retry after %s, want %s", after, c.after)
			}
		})
	}
}

func TestAnEndlessListingEnds(t *testing.T) {
	h := hubtest.New(t)
	h.PageSize = 1
	h.Add("me/m", file("a"), file("b"))
	c := at(h)
	c.HTTP.Transport = firstPage{c.HTTP.Transport}
	if _, err := hub.Tree(c, t.Context(), "me/m", "main"); err == nil || !strings.Contains(err.Error(), "endless") {
		t.Error(err)
	}
}

// firstPage asks for the first page whatever the cursor.
type firstPage struct{ base http.RoundTripper }

func (f firstPage) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.RawQuery = ""
	return f.base.RoundTrip(r)
}

func TestOfflineMakesNoRequest(t *testing.T) {
	h := hubtest.New(t)
	h.Add("me/m", file("a"))
	env := map[string]string{"HF_HUB_OFFLINE": "yes"}
	c := at(h)
	c.Offline = hub.Offline(func(k string) string { return env[k] })
	_, err1 := hub.Resolve(c, t.Context(), "me/m", "main", "a")
	_, err2 := c.Files(t.Context(), "me/m", "main", "a")
	_, _, err3 := c.Locate(t.Context(), "hf://me/m@main/a", 1, strings.Repeat("0", 64))
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, reconcile.ErrOffline) || !strings.Contains(err.Error(), "HF_HUB_OFFLINE") {
			t.Error(err)
		}
	}
	if len(h.Requests()) > 0 {
		t.Errorf("%+v", h.Requests())
	}
	for _, v := range []string{"", "0", "no"} {
		if hub.Offline(func(string) string { return v }) {
			t.Errorf("%q counts as offline", v)
		}
	}
}

func TestSourcesAreReadAsTheyAreWritten(t *testing.T) {
	for _, c := range [][3]string{{"me/m", strings.Repeat("a", 40), "dir/a b@1%.gguf"}, {"gpt2", "refs/pr/1", "x"}} {
		repo, rev, path, err := hub.ParseSource(hub.Source(c[0], c[1], c[2]))
		if got := [3]string{repo, rev, path}; err != nil || got != c {
			t.Errorf("%q, %v; want %q", got, err, c)
		}
	}
	if repo, rev, path, err := hub.ParseSource("hf://me/m/dir/x.gguf"); err != nil || !slices.Equal([]string{repo, rev, path}, []string{"me/m", "main", "dir/x.gguf"}) {
		t.Error(repo, rev, path, err)
	}
	for _, bad := range []string{"", "hf://", "hf://me/m", "hf://me/m@main", "hf://me/m@main/../x", "hf://../m@main/x", "hf://a/b/c@main/x", "https://me/m@main/x", "hf://me/m@main/%zz", "hf://me/m@ma%0ain/x"} {
		if repo, rev, path, err := hub.ParseSource(bad); err == nil {
			t.Errorf("%q gave %q %q %q", bad, repo, rev, path)
		}
	}
}

// A hub elsewhere does not make this machine ask its own servers.
func TestAHubElsewhereLeadsNotToThisMachine(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for to, refused := range map[string]bool{"http://127.0.0.1:8080/f": true, "http://localhost/f": true, "file:///etc/hostname": true, "https://cdn.example/f": false} {
		c := hub.Client{Endpoint: "https://hub.example", HTTP: &http.Client{Transport: says(func(*http.Request) *http.Response {
			return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {to}, "X-Linked-Etag": {`"` + sum + `"`}, "X-Linked-Size": {"4"}}, Body: http.NoBody}
		})}}
		at, _, err := c.Locate(t.Context(), hub.Source("me/m", "main", "f"), 4, sum)
		if (err != nil) != refused || !refused && at != to {
			t.Errorf("%s: %q, %v", to, at, err)
		}
	}
}

// says answers requests by itself.
type says func(*http.Request) *http.Response

func (s says) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := s(req)
	resp.Request = req
	return resp, nil
}
