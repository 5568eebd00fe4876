// Package ssrf refuses redirects from a remote host to loopback or link-local
// addresses. A remote server could otherwise make this machine ask its local
// servers, which trust local clients. Call Check.
package ssrf

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Check refuses a redirect from another machine to this one, or to a link-local
// address, where clouds serve credentials. It judges names only and does not
// resolve them: the dialer checks the address with Here.
func Check(from, to *url.URL) error {
	if !Here(from.Hostname()) && Here(to.Hostname()) {
		return Refused(to.Host)
	}
	return nil
}

// Refused is the error for host.
func Refused(host string) error {
	return fmt.Errorf("refusing redirect from a remote host to local address %s", host)
}

// Here reports whether host, a name or an IP address, is loopback or
// link-local: https://www.rfc-editor.org/rfc/rfc6761#section-6.3 for the names.
func Here(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "ip6-localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	ip = ip.Unmap()
	return ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast()
}
