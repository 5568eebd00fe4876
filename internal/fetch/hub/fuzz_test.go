package hub

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// answers is an endpoint that gives the same answer to everything.
type answers struct {
	code   int
	header http.Header
	body   []byte
	asked  int
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	a.asked++
	return &http.Response{
		StatusCode: a.code, Status: http.StatusText(a.code), Header: a.header, ContentLength: int64(len(a.body)),
		Body: io.NopCloser(bytes.NewReader(a.body)), Request: req,
	}, nil
}

// Whatever an endpoint answers, a file is pinned in full or there is an error,
// after few requests; and a file's name never leaves its repository.
func FuzzEndpoint(f *testing.F) {
	commit, sum := strings.Repeat("0a", 20), strings.Repeat("1b", 32)
	f.Add(200, []byte(`[{"type":"file","path":"m-Q4_K_M-00001-of-00002.gguf","size":3,"lfs":{"oid":"`+sum+`","size":7}},{"type":"file","path":"m-Q4_K_M-00002-of-00002.gguf","size":3,"lfs":{"sha256":"`+sum+`"}}]`), "", commit, sum, "7", "")
	f.Add(302, []byte(`{}`), "/elsewhere", commit, `"`+sum+`"`, "", "")
	f.Add(200, []byte(`{"sha":"`+commit+`"}`), "", "main", "W/\""+sum+"\"", "-1", `<https://hub.example/api/models/me/m/tree/main?cursor=a>; rel="next"`)
	f.Add(200, []byte(`[{"type":"file","path":"../../m-Q4_K_M.gguf","size":-5,"lfs":{"oid":"`+sum+`","size":-7}}]`), "", commit, sum, "1", `<?recursive=true>; rel="next"`)
	f.Fuzz(func(t *testing.T, code int, body []byte, location, commit, etag, size, link string) {
		if code < 100 || code > 999 {
			return
		}
		a := &answers{code: code, body: body, header: http.Header{
			"Content-Type": {"application/json"}, "Location": {location}, "X-Repo-Commit": {commit}, "X-Linked-Etag": {etag}, "X-Linked-Size": {size}, "Link": {link},
		}}
		c := Client{Endpoint: "https://hub.example", HTTP: &http.Client{Transport: a}}
		rev := strings.Repeat("0a", 20)
		found, _ := c.Quant(context.Background(), "me/m", rev, "Q4_K_M")
		one, err := c.resolve(context.Background(), "me/m", "main", "m.gguf")
		if err == nil {
			found = append(found, one)
		}
		_, _ = c.commit(context.Background(), "me/m", "main")
		for _, r := range found {
			if len(r.Commit) != 40 || len(r.SHA256) != 64 || r.Size <= 0 || !clean(r.Path) || !strings.HasPrefix(r.URL, "https://hub.example/me/m/") {
				t.Fatalf("%+v is not pinned", r)
			}
		}
		if a.asked > 32 {
			t.Fatalf("%d requests", a.asked)
		}
	})
}

// The shards that a name stands for are few, and it is one of them.
func FuzzShards(f *testing.F) {
	f.Add("Q6_K/m-00001-of-00002.gguf")
	f.Add("m-00000-of-99999.gguf")
	f.Fuzz(func(t *testing.T, name string) {
		names, err := Shards(name)
		if err != nil {
			return
		}
		if len(names) > maxShards {
			t.Fatalf("%d shards", len(names))
		}
		for _, n := range names {
			if n == name {
				return
			}
		}
		t.Fatalf("%q is none of %q", name, names)
	})
}
