// Package oci finds models in OCI registries: the layers of an artifact that
// are the model, and the address that serves their bytes with Range. Of an artifact
// that is a folder it fetches the files. It sends models and folders, and stores no
// credentials. Start reading at Client.Resolve; for a folder, at Client.Folder; in the
// other direction, at Client.PushModel.
package oci

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"aisync.dev/aisync/internal/advice"
)

// Client asks registries. The zero value is anonymous. It is safe for
// concurrent use.
type Client struct {
	HTTP         *http.Client // nil: http.DefaultClient
	DockerConfig string       // file of logins in docker's form; "" or none there: anonymous
}

// Resolved pins an artifact.
type Resolved struct {
	Manifest string  // sha256:…
	Source   string  // as given to Resolve, at Manifest
	Layers   []Layer // the model: one file, or its shards in order
}

// Layer is one file of an artifact.
type Layer struct {
	Title  string // file name; "" if the artifact has none
	SHA256 string // 64 hex digits
	Size   int64  // bytes
}

var (
	// ErrNotFound means that the registry has no such artifact.
	ErrNotFound = errors.New("not found")
	// ErrDenied means that a login is missing or insufficient.
	ErrDenied = errors.New("login required")
	// ErrNoModel means that an artifact has no file that could be the model.
	ErrNoModel = errors.New("no GGUF file")
	// ErrChanged means that the artifact has other content than the lock.
	ErrChanged = errors.New("upstream changed")
)

// ConfigFile is docker's file of logins: in DOCKER_CONFIG, or .docker in home.
func ConfigFile(getenv func(string) string, home string) string {
	if dir := getenv("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json")
	}
	return filepath.Join(home, ".docker", "config.json")
}

// Resolve pins the present content of source: oci://HOST/REPO with :TAG or
// @DIGEST, and optionally #TITLE.
func (c Client) Resolve(ctx context.Context, source string) (Resolved, error) {
	a, err := c.open(source)
	if err != nil {
		return Resolved{}, err
	}
	manifest, layers, err := a.layers(ctx)
	if err != nil {
		return Resolved{}, a.explain(err)
	}
	model, err := choose(layers, a.title)
	if err != nil {
		return Resolved{}, fmt.Errorf("%s: %w", a.name(), err)
	}
	pinned, err := At(source, manifest)
	if err != nil {
		return Resolved{}, err
	}
	return Resolved{Manifest: manifest, Source: pinned, Layers: model}, nil
}

// Digest returns what the tag of source, oci://HOST/REPO:TAG, names now: sha256:….
func (c Client) Digest(ctx context.Context, source string) (string, error) {
	a, err := c.open(source)
	if err != nil {
		return "", err
	}
	d, err := a.repo.Resolve(ctx, a.ref.Reference)
	if err != nil {
		return "", a.explain(err)
	}
	return d.Digest.String(), nil
}

// Check returns an error for a source that is no artifact of a registry.
func Check(source string) error {
	_, err := Client{}.open(source)
	return err
}

// Ping returns nil if the registry of source answers, and lets this machine read its
// repository, which need not exist.
func (c Client) Ping(ctx context.Context, source string) error {
	a, err := c.open(source)
	if err != nil {
		return err
	}
	// A digest that no manifest has.
	_, err = a.repo.Resolve(ctx, "sha256:"+strings.Repeat("0", 64))
	if err != nil && !errors.Is(err, errdef.ErrNotFound) {
		return a.explain(err)
	}
	return nil
}

// At is source at the manifest with that digest, whatever its tag.
func At(source, manifest string) (string, error) {
	a, err := Client{}.open(source)
	if err != nil {
		return "", err
	}
	a.ref.Reference = manifest
	if err := a.ref.ValidateReferenceAsDigest(); err != nil {
		return "", fmt.Errorf("manifest %q of %s: %w", manifest, a.name(), err)
	}
	pinned := a.scheme + "://" + a.ref.Registry + "/" + a.ref.Repository + "@" + manifest
	if a.title != "" {
		pinned += "#" + a.title
	}
	return pinned, nil
}

// Locate returns where the layer of source with that digest can be had now, for
// requests with Range, and the Authorization for exactly that address. Both
// expire: a client that gets 401 or 403 calls Locate again. The error wraps
// ErrChanged, with both digests, if the artifact holds another model than the
// lock. If it has a method RetryAfter() time.Duration, a retry may succeed.
func (c Client) Locate(ctx context.Context, source string, size int64, sha256 string) (string, http.Header, error) {
	a, err := c.open(source)
	if err != nil {
		return "", nil, err
	}
	file := file{Layer{SHA256: strings.ToLower(sha256), Size: size}, "", digest.NewDigestFromEncoded(digest.SHA256, strings.ToLower(sha256)), false}
	if a.ref.Reference == file.digest.String() { // as Blob names it
		url, header, err := a.locate(ctx, file)
		if err != nil {
			err = a.explain(err)
		}
		return url, header, err
	}
	_, layers, err := a.layers(ctx)
	if errors.Is(err, errdef.ErrNotFound) && a.ref.ValidateReferenceAsDigest() == nil {
		// A registry such as ollama's may know manifests by their tags alone;
		// it has the layer by its digest, or answers that it has not.
		layers, err = append(layers, file), nil
	}
	if err != nil {
		return "", nil, a.explain(err)
	}
	for _, l := range layers {
		if l.SHA256 == strings.ToLower(sha256) && l.Size == size {
			url, header, err := a.locate(ctx, l)
			if err != nil {
				err = a.explain(err)
			}
			return url, header, err
		}
	}
	var has []string
	if model, err := choose(layers, a.title); err == nil {
		for _, l := range model {
			has = append(has, fmt.Sprintf("sha256 %s and %d bytes", l.SHA256, l.Size))
		}
	} else {
		has = append(has, "no GGUF file")
	}
	return "", nil, fmt.Errorf("%s: %w: locked sha256 %s and %d bytes, found %s; %s",
		a.name(), ErrChanged, sha256, size, strings.Join(has, ", "), advice.UpdateLock)
}

// artifact is one artifact at one registry, for one call.
type artifact struct {
	scheme string
	ref    registry.Reference
	title  string
	repo   *remote.Repository
	still  *auth.Client // follows no redirect
	login  error        // why the logins could not be read
}

func (c Client) open(source string) (*artifact, error) {
	scheme, rest, ok := strings.Cut(source, "://")
	rest, title, _ := strings.Cut(rest, "#")
	ref, err := registry.ParseReference(rest)
	if !ok || scheme != "oci" && scheme != "oci+http" || err != nil {
		return nil, fmt.Errorf("invalid source %q; want oci://HOST/REPO:TAG or oci://HOST/REPO@DIGEST", source)
	}
	if ref.Reference == "" {
		ref.Reference = "latest"
	}
	a := &artifact{scheme: scheme, ref: ref, title: title}
	base := http.Client{}
	if c.HTTP != nil {
		base = *c.HTTP
	}
	base.Transport = &logins{base: base.Transport, host: ref.Host()}
	// Public artifacts need no readable store of logins.
	login := func(context.Context, string) (auth.Credential, error) { return auth.EmptyCredential, nil }
	if c.DockerConfig != "" {
		if store, err := credentials.NewStore(c.DockerConfig, credentials.StoreOptions{}); err != nil {
			a.login = err
		} else {
			login = a.optional(credentials.Credential(store))
		}
	}
	cache := auth.NewCache()
	follow, stay := base, base
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a.still = &auth.Client{Client: &stay, Credential: login, Cache: cache}
	a.repo = &remote.Repository{
		Client:           &auth.Client{Client: &follow, Credential: login, Cache: cache},
		Reference:        ref,
		PlainHTTP:        scheme == "oci+http" || loopback(ref.Host()),
		MaxMetadataBytes: maxManifest,
	}
	return a, nil
}

// optional makes an unavailable login anonymous, and remembers why.
func (a *artifact) optional(get auth.CredentialFunc) auth.CredentialFunc {
	return func(ctx context.Context, host string) (auth.Credential, error) {
		cred, err := get(ctx, host)
		if err != nil {
			a.login = err
			return auth.EmptyCredential, nil
		}
		return cred, nil
	}
}

func (a *artifact) name() string { return a.scheme + "://" + a.ref.String() }

// loopback reports whether host, perhaps with a port, is this machine.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
