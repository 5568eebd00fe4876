package oci

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// logins sees what is asked for a registry, which may name any address as the
// one where logins are looked at. That a registry elsewhere names no address of
// this machine or of its network is auth.Client's to refuse, by what a name
// resolves to then.
type logins struct {
	base http.RoundTripper // nil: http.DefaultTransport
	host string            // the registry's
}

// RoundTrip implements http.RoundTripper. An address that a registry names is
// one that it led to, as with a redirect: base may look where its connection
// ends. A login leaves the registry's host over https alone.
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
		return nil, fmt.Errorf("wants the login sent to %s, which is another host, and in clear text: it was not sent", req.URL.Host)
	}
	led := req.Clone(req.Context())
	led.Response = &http.Response{Request: &http.Request{URL: registry}}
	return base.RoundTrip(led)
}
