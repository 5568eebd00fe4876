// Package ssrf judges where a server sends who asks it. A server elsewhere could
// otherwise make this machine ask its own servers, which trust whoever reaches
// them. Start reading at Check.
package ssrf

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Check refuses to be sent from another machine to this one, or to an address
// of the link, where clouds hand out credentials. It goes by the names alone
// and asks no resolver: who dials asks Here about the address.
func Check(from, to *url.URL) error {
	if !Here(from.Hostname()) && Here(to.Hostname()) {
		return Refused(to.Host)
	}
	return nil
}

// Refused says that host may not be asked.
func Refused(host string) error {
	return fmt.Errorf("is sent from outside to %s, which is this machine or of its link", host)
}

// Here reports whether host, a name or an IP address, is this machine or of the
// link: https://www.rfc-editor.org/rfc/rfc6761#section-6.3 for the names.
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
