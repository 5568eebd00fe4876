package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Endpoint is the value of HF_ENDPOINT, or DefaultEndpoint.
func Endpoint(getenv func(string) string) string {
	if e := strings.TrimRight(getenv("HF_ENDPOINT"), "/"); e != "" {
		return e
	}
	return DefaultEndpoint
}

// Offline reports whether the environment forbids asking a hub, through the
// variables of the official clients.
func Offline(getenv func(string) string) bool {
	for _, name := range []string{"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"} {
		switch strings.ToUpper(getenv(name)) {
		case "1", "ON", "YES", "TRUE":
			return true
		}
	}
	return false
}

// Token finds the token as the official client does: HF_TOKEN, then the file
// HF_TOKEN_PATH, then token in HF_HOME, which is huggingface in XDG_CACHE_HOME
// or in home's .cache. "" means no token.
func Token(getenv func(string) string, home string) (string, error) {
	if t := strings.TrimSpace(getenv("HF_TOKEN")); t != "" {
		return printable(t, "HF_TOKEN")
	}
	file := getenv("HF_TOKEN_PATH")
	if file == "" {
		dir := getenv("HF_HOME")
		if cache := getenv("XDG_CACHE_HOME"); dir == "" && cache != "" {
			dir = filepath.Join(cache, "huggingface")
		} else if dir == "" {
			dir = filepath.Join(home, ".cache", "huggingface")
		}
		file = filepath.Join(dir, "token")
	}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the Hugging Face token: %w", err)
	}
	return printable(strings.TrimSpace(string(raw)), file)
}

// printable refuses a token that a header cannot hold, without showing it.
func printable(token, from string) (string, error) {
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("read the Hugging Face token: %s does not hold exactly one token; log in again or set HF_TOKEN", from)
		}
	}
	return token, nil
}

// Authorize adds token to requests to endpoint's origin (scheme, host and
// port). It decides for each request, so that no redirect carries the token to
// a content host, and never replaces another Authorization.
func Authorize(base http.RoundTripper, endpoint, token string) http.RoundTripper {
	origin, err := url.Parse(endpoint)
	if err != nil || token == "" {
		return base
	}
	return &authorized{base: base, origin: origin, token: token}
}

type authorized struct {
	base   http.RoundTripper
	origin *url.URL
	token  string
}

// RoundTrip implements http.RoundTripper.
func (a *authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	if sameOrigin(a.origin, req.URL) && req.Header.Get("Authorization") == "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	return a.base.RoundTrip(req)
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
}
