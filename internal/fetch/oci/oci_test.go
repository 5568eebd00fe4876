package oci

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const secret = "s3cr3tpassword"

// server is an OCI registry for tests: pull only, with a token service and
// with blobs on another port where it is told so.
type server struct {
	*httptest.Server
	blobs, manifests map[string][]byte // by digest; manifests by tag as well
	private          bool
	elsewhere        string // where blobs are
	status           int    // of blobs
	mu               sync.Mutex
	seen             []string
}

func serve(t *testing.T) *server {
	r := &server{blobs: map[string][]byte{}, manifests: map[string][]byte{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.seen = append(r.seen, req.Method+" "+req.URL.Path+" "+req.Header.Get("Authorization"))
	r.mu.Unlock()
	if req.URL.Path == "/token" {
		if _, pass, _ := req.BasicAuth(); pass != secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"token": "t0ken-of-the-day"}`)
		return
	}
	if r.private && req.Header.Get("Authorization") != "Bearer t0ken-of-the-day" {
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+r.URL+`/token",service="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/v2/me/m/"), "/")
	switch body, ok := r.manifests[name]; {
	case kind == "manifests" && ok:
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", digestOf(body))
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Write(body)
	case kind == "blobs" && r.status != 0:
		w.Header().Set("Retry-After", "9")
		w.WriteHeader(r.status)
	case kind == "blobs" && r.blobs[name] != nil && r.elsewhere != "":
		http.Redirect(w, req, r.elsewhere+"/"+name+"?sig=signed", http.StatusTemporaryRedirect)
	case kind == "blobs" && r.blobs[name] != nil:
		http.ServeContent(w, req, "", time.Time{}, strings.NewReader(string(r.blobs[name])))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// layer is a row of a manifest: media type, title, content.
type layer [3]string

// push makes an artifact and returns its digest.
func (r *server) push(tag string, layers ...layer) string {
	rows := []map[string]any{}
	for _, l := range layers {
		d := digestOf([]byte(l[2]))
		r.blobs[d] = []byte(l[2])
		row := map[string]any{"mediaType": l[0], "digest": d, "size": len(l[2])}
		if l[1] != "" {
			row["annotations"] = map[string]string{"org.opencontainers.image.title": l[1]}
		}
		rows = append(rows, row)
	}
	body, _ := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": rows})
	r.manifests[tag], r.manifests[digestOf(body)] = body, body
	return digestOf(body)
}

func (r *server) source(rest string) string {
	return "oci://" + strings.TrimPrefix(r.URL, "http://") + "/me/m" + rest
}

func TestTheModelIsFoundAmongTheLayers(t *testing.T) {
	license := layer{"application/vnd.ollama.image.license", "", strings.Repeat("legal ", 99)}
	const octets, tar = "application/octet-stream", "application/vnd.oci.image.layer.v1.tar+gzip"
	for name, c := range map[string]struct {
		layers []layer
		title  string
		want   []string // contents
		says   string
	}{
		"by title":             {[]layer{license, {octets, "m-Q4_0.gguf", "GGUF"}, {octets, "README.md", "read me first"}}, "", []string{"GGUF"}, ""},
		"of ollama":            {[]layer{license, {"application/vnd.ollama.image.model", "", "GGUF"}}, "", []string{"GGUF"}, ""},
		"of docker":            {[]layer{license, {"application/vnd.docker.ai.gguf.v3", "", "GGUF"}, {"application/vnd.docker.ai.gguf.v3.mmproj", "", "GGUF of a projector"}}, "", []string{"GGUF"}, ""},
		"the largest of all":   {[]layer{{octets, "", "x"}, {octets, "", "GGUF"}}, "", []string{"GGUF"}, ""},
		"no projector":         {[]layer{{octets, "mmproj-F16.gguf", "GGUF of a projector"}, {octets, "m.gguf", "GGUF"}}, "", []string{"GGUF"}, ""},
		"shards, in order":     {[]layer{{octets, "m-00002-of-00002.gguf", "two"}, {octets, "m-00001-of-00002.gguf", "one"}}, "", []string{"one", "two"}, ""},
		"a shard missing":      {[]layer{{octets, "m-00001-of-00003.gguf", "one"}, {octets, "m-00003-of-00003.gguf", "three"}}, "", nil, "m-00002-of-00003.gguf"},
		"the last missing":     {[]layer{{octets, "m-00001-of-00003.gguf", "one"}, {octets, "m-00002-of-00003.gguf", "two"}}, "", nil, "m-00003-of-00003.gguf"},
		"several models":       {[]layer{{octets, "a.gguf", "a"}, {octets, "b.gguf", "b"}}, "", nil, "a.gguf, b.gguf; name one with #TITLE"},
		"one of several":       {[]layer{{octets, "a.gguf", "a"}, {octets, "b.gguf", "b"}}, "#b.gguf", []string{"b"}, ""},
		"a title that is none": {[]layer{{octets, "a.gguf", "a"}}, "#c.gguf", nil, "files: a.gguf"},
		"an image":             {[]layer{{tar, "", "PK"}}, "", nil, "oras push"},
		"an image of a GGUF":   {[]layer{{tar, "m.gguf", "PK"}}, "", nil, "oras push"},
		"nothing":              {nil, "", nil, "files: none"},
	} {
		t.Run(name, func(t *testing.T) {
			r := serve(t)
			manifest := r.push("v1", c.layers...)
			got, err := Client{}.Resolve(t.Context(), r.source(":v1"+c.title))
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%+v, %v; want %q", got, err, c.says)
				}
				return
			}
			if err != nil || got.Manifest != manifest || got.Source != r.source("@"+manifest+c.title) || len(got.Layers) != len(c.want) {
				t.Fatalf("%+v, %v", got, err)
			}
			for i, l := range got.Layers {
				if l.Size != int64(len(c.want[i])) || "sha256:"+l.SHA256 != digestOf([]byte(c.want[i])) {
					t.Errorf("layer %d is %+v, want %q", i, l, c.want[i])
				}
			}
			again, err := Client{}.Resolve(t.Context(), got.Source)
			if err != nil || again.Manifest != manifest {
				t.Errorf("by digest: %+v, %v", again, err)
			}
		})
	}
}

func TestAnIndexLeadsToItsArtifacts(t *testing.T) {
	r := serve(t)
	member := r.push("member", layer{"application/x-gguf", "", "GGUF"})
	body, _ := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []any{map[string]any{
		"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": member, "size": len(r.manifests[member])}}})
	r.manifests["latest"] = body
	got, err := Client{}.Resolve(t.Context(), r.source(""))
	if err != nil || len(got.Layers) != 1 || got.Layers[0].Size != 4 {
		t.Errorf("%+v, %v", got, err)
	}
}

// dockerConfig writes a login for r.
func dockerConfig(t *testing.T, r *server, password string) string {
	file := ConfigFile(func(string) string { return "" }, t.TempDir())
	login := base64.StdEncoding.EncodeToString([]byte("me:" + password))
	text := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, strings.TrimPrefix(r.URL, "http://"), login)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLocateSendsLoginToRegistryOnly(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		t.Errorf("asked the blobs' host: %s %q", req.URL, req.Header.Get("Authorization"))
	}))
	defer other.Close()
	r := serve(t)
	r.private = true
	r.push("v1", layer{"application/x-gguf", "", "GGUF"})
	sum := strings.TrimPrefix(digestOf([]byte("GGUF")), "sha256:")
	c := Client{DockerConfig: dockerConfig(t, r, secret)}

	at, header, err := c.Locate(t.Context(), r.source(":v1"), 4, sum)
	if err != nil || at != r.URL+"/v2/me/m/blobs/sha256:"+sum || header.Get("Authorization") != "Bearer t0ken-of-the-day" {
		t.Errorf("%s %v %v", at, header, err)
	}
	r.elsewhere = other.URL
	at, header, err = c.Locate(t.Context(), r.source(":v1"), 4, sum)
	if err != nil || !strings.HasPrefix(at, other.URL+"/") || header != nil {
		t.Errorf("%s %v %v", at, header, err)
	}
	for _, s := range r.seen {
		if strings.Contains(s, "Basic") && !strings.HasPrefix(s, "GET /token ") {
			t.Errorf("the password went to %s", s)
		}
	}
}

func TestLocateSaysWhyNot(t *testing.T) {
	sum := strings.TrimPrefix(digestOf([]byte("GGUF")), "sha256:")
	for name, c := range map[string]struct {
		set    func(t *testing.T, r *server) Client
		is     error
		says   []string
		after  time.Duration // -1: waiting does not help
		source string
	}{
		"no login": {func(_ *testing.T, r *server) Client { r.private = true; return Client{} }, ErrDenied, []string{"docker login 127.0.0.1:"}, -1, ":v1"},
		"wrong login": {func(t *testing.T, r *server) Client {
			r.private = true
			return Client{DockerConfig: dockerConfig(t, r, secret+"!")}
		}, ErrDenied, nil, -1, ":v1"},
		"broken config": {func(t *testing.T, r *server) Client {
			r.private = true
			file := filepath.Join(t.TempDir(), "config.json")
			os.WriteFile(file, []byte(`{"auths": 7}`), 0o600)
			return Client{DockerConfig: file}
		}, ErrDenied, []string{"logins could not be read"}, -1, ":v1"},
		"no such tag": {func(*testing.T, *server) Client { return Client{} }, ErrNotFound, []string{":v9"}, -1, ":v9"},
		"changed": {func(_ *testing.T, r *server) Client {
			r.push("v1", layer{"application/x-gguf", "", "FUGG"})
			return Client{}
		}, ErrChanged, []string{sum, strings.TrimPrefix(digestOf([]byte("FUGG")), "sha256:"), "lock --update"}, -1, ":v1"},
		"busy":      {func(_ *testing.T, r *server) Client { r.status = 429; return Client{} }, nil, []string{"429"}, 9 * time.Second, ":v1"},
		"blob gone": {func(_ *testing.T, r *server) Client { r.status = 404; return Client{} }, ErrNotFound, nil, -1, ":v1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := serve(t)
			r.push("v1", layer{"application/x-gguf", "", "GGUF"})
			at, _, err := c.set(t, r).Locate(t.Context(), r.source(c.source), 4, sum)
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("%s, %v; want %v", at, err, c.is)
			}
			for _, w := range append(c.says, "/me/m") {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
			for _, s := range []string{secret, "t0ken", base64.StdEncoding.EncodeToString([]byte("me:" + secret))} {
				if strings.Contains(err.Error(), s) {
					t.Errorf("error %q tells a secret", err)
				}
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

func TestAManifestMustHaveTheDigestThatIsAskedFor(t *testing.T) {
	r := serve(t)
	good := r.push("v1", layer{"application/x-gguf", "", "GGUF"})
	bad := r.push("v2", layer{"application/x-gguf", "", "other"})
	r.manifests[good] = r.manifests[bad]
	if got, err := (Client{}).Resolve(t.Context(), r.source("@"+good)); err == nil {
		t.Errorf("%+v", got)
	}
}

// Which scheme is used is seen by what is dialled: nothing leaves this machine.
func TestPlainHTTPIsForLoopbackUnlessItIsSaid(t *testing.T) {
	for source, port := range map[string]string{
		"oci://registry.example/me/m:1": "registry.example:443", "oci+http://registry.example/me/m:1": "registry.example:80",
		"oci://localhost/me/m:1": "localhost:80", "oci://127.0.0.1/me/m:1": "127.0.0.1:80", "oci://127.0.0.1.example/me/m:1": "127.0.0.1.example:443",
	} {
		var dialled string
		client := &http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
			dialled = addr
			return nil, errors.New("not here")
		}}}
		if _, err := (Client{HTTP: client}).Resolve(t.Context(), source); err == nil || dialled != port {
			t.Errorf("%s dialled %s, want %s (%v)", source, dialled, port, err)
		}
	}
	for _, bad := range []string{"", "oci://", "oci://host", "http://host/m:1", "oci://host/UPPER:1", "oci://host/m@sha256:12"} {
		if got, err := (Client{}).Resolve(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "invalid source") {
			t.Errorf("%q gave %+v, %v", bad, got, err)
		}
	}
}

// as sends requests for a host elsewhere to a server of this machine.
type as struct{ host, to string }

func (a as) RoundTrip(req *http.Request) (*http.Response, error) {
	there := req.Clone(req.Context())
	if req.URL.Host == a.host {
		there.URL.Scheme, there.URL.Host = "http", a.to
	}
	resp, err := http.DefaultTransport.RoundTrip(there)
	if err == nil {
		resp.Request = req
	}
	return resp, err
}

// A registry elsewhere does not make this machine ask its own servers.
func TestARegistryElsewhereLeadsNotToThisMachine(t *testing.T) {
	r := serve(t)
	r.push("v1", layer{"application/x-gguf", "", "GGUF"})
	c := Client{HTTP: &http.Client{Transport: as{"registry.example", r.Listener.Addr().String()}}}
	for to, refused := range map[string]bool{r.URL: true, "http://localhost:1": true, "file://": true, "https://blobs.example": false} {
		r.elsewhere = to
		at, _, err := c.Locate(t.Context(), "oci://registry.example/me/m:v1", 4, strings.TrimPrefix(digestOf([]byte("GGUF")), "sha256:"))
		if (err != nil) != refused || !refused && !strings.HasPrefix(at, to) {
			t.Errorf("%s: %q, %v", to, at, err)
		}
	}
}

// asked is a transport that writes down where a login goes; the registry of
// registry.example names realm, and every realm gives a token to every client.
type asked struct{ realm, logins string }

func (a *asked) RoundTrip(req *http.Request) (*http.Response, error) {
	if user, pass, ok := req.BasicAuth(); ok {
		a.logins += fmt.Sprintf("%s://%s %s:%s\n", req.URL.Scheme, req.URL.Host, user, pass)
	}
	w := httptest.NewRecorder()
	switch {
	case strings.HasSuffix(req.URL.Path, "/token"):
		if led := req.Response; req.URL.Host != "registry.example" && (led == nil || led.Request.URL.Host != "registry.example") {
			return nil, errors.New("it is not said who led here")
		}
		fmt.Fprint(w, `{"token": "t0ken"}`)
	case req.Header.Get("Authorization") == "Bearer t0ken" && req.URL.Host == "registry.example":
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+a.realm+`",service="s"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// A registry may name any address for logins. Its own login goes there over
// https, never to this machine or its network, and none of another host.
func TestALoginGoesWhereItsRegistrySaysAndNeverHereOrInTheClear(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	entry := func(pass string) string {
		return `{"auth": "` + base64.StdEncoding.EncodeToString([]byte("me:"+pass)) + `"}`
	}
	text := `{"auths": {"registry.example": ` + entry(secret) + `, "auth.example": ` + entry("another") + `, "127.0.0.1": ` + entry("of-here") + `}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const elsewhere, clear = "oci://registry.example/me/m:v1", "oci+http://registry.example/me/m:v1"
	for _, c := range []struct{ source, realm, goes string }{
		{elsewhere, "https://registry.example/token", "https://registry.example"},
		{elsewhere, "https://registry.example:8443/token", "https://registry.example:8443"},
		{elsewhere, "https://auth.example/token", "https://auth.example"},
		{elsewhere, "http://registry.example/token", ""},
		{elsewhere, "http://auth.example/token", ""},
		{elsewhere, "https://127.0.0.1/token", ""},
		{elsewhere, "https://localhost/token", ""},
		{elsewhere, "https://[::1]:8443/token", ""},
		{elsewhere, "https://[::ffff:10.0.0.1]/token", ""},
		{elsewhere, "https://169.254.169.254/token", ""},
		{elsewhere, "https://192.168.1.1/token", ""},
		{elsewhere, "file:///token", ""},
		{clear, "http://registry.example/token", "http://registry.example"}, // as the spec says
		{clear, "https://auth.example/token", "https://auth.example"},
		{clear, "http://auth.example/token", ""},
		{clear, "http://127.0.0.1/token", ""},
	} {
		a := &asked{realm: c.realm}
		_, err := Client{HTTP: &http.Client{Transport: a}, DockerConfig: file}.Resolve(t.Context(), c.source)
		want := ""
		if c.goes != "" {
			want = c.goes + " me:" + secret + "\n"
		}
		if a.logins != want || errors.Is(err, ErrNotFound) != (want != "") {
			t.Errorf("%s names %s: logins went to %q, want %q; %v", c.source, c.realm, a.logins, want, err)
		}
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s names %s: %v", c.source, c.realm, err)
		}
	}
}

func TestDigestIsWhatTagNames(t *testing.T) {
	r := serve(t)
	want := r.push("latest", layer{"application/octet-stream", "a", "x"})
	at := "oci://" + strings.TrimPrefix(r.URL, "http://") + "/me/m"
	for _, image := range []string{at + ":latest", at} {
		if got, err := (Client{}).Digest(t.Context(), image); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", image, got, err, want)
		}
	}
	if _, err := (Client{}).Digest(t.Context(), at+":none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such tag: %v", err)
	}
}
