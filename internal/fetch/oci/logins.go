package oci

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// logins checks the requests for a registry's logins, because a registry may
// name any address for them. auth.Client refuses an address of this machine or
// its network, by what a name resolves to.
type logins struct {
	base http.RoundTripper // nil: http.DefaultTransport
	host string            // of the registry
}

// RoundTrip implements http.RoundTripper. It treats an address that a registry
// names like a redirect: base may check where its connection ends. A login
// leaves the registry's host over https only.
func (l *logins) RoundTrip(req *http.Request) (*http.Response, error) {
	base := l.base
	if base == nil {
		base = http.DefaultTransport
	}
	if req.Response != nil || strings.EqualFold(req.URL.Host, l.host) {
		return base.RoundTrip(req)
	}
	registry := &url.URL{Scheme: req.URL.Scheme, Host: l.host}
	if told := req.Header.Get("Authorization") != "" || req.Body != nil; told && req.URL.Scheme != "https" && !strings.EqualFold(req.URL.Hostname(), registry.Hostname()) {
		return nil, fmt.Errorf("refusing to send the login to %s, another host, in clear text", req.URL.Host)
	}
	led := req.Clone(req.Context())
	led.Response = &http.Response{Request: &http.Request{URL: registry}}
	return base.RoundTrip(led)
}
