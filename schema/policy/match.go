package policy

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// ownFolder reports whether url is a folder below the spec that names it.
func ownFolder(url string) bool {
	return !spec.Remote(url) && !strings.HasPrefix(url, "~") && filepath.IsLocal(filepath.FromSlash(url))
}

// hosts are the words for servers in addresses, as package address has them.
var hosts = map[string]string{"gh": "github.com", "github": "github.com", "gl": "gitlab.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org"}

// place returns where an address, or the beginning of one, leads: scheme, host and path,
// without the version and without .git; "" for one that hides where it leads.
func place(text string) string {
	text = strings.TrimPrefix(text, "git::")
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		text = text[:i]
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		host, below, colon := strings.Cut(text, ":")
		first, _, _ := strings.Cut(text, "/")
		switch {
		case strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.HasPrefix(text, "."):
			return strings.TrimSuffix(cleaned(text), "/")
		case colon && strings.Contains(host, "@"):
			scheme, rest = "ssh", host+"/"+below
		case colon && hosts[host] != "":
			scheme, rest = "https", hosts[host]+"/"+below
		case strings.Contains(first, "."):
			scheme, rest = "https", text
		default:
			scheme, rest = "https", "github.com/"+text
		}
	}
	host, below, _ := strings.Cut(rest, "/")
	below, folder, _ := strings.Cut(below, "//")
	for _, version := range []string{"@", map[bool]string{true: ":", false: "@"}[strings.HasPrefix(scheme, "oci")]} {
		if i := strings.LastIndex(below, version); i > strings.LastIndexByte(below, '/') {
			below = below[:i]
		}
	}
	below = cleaned(strings.TrimSuffix(below, ".git") + "/" + folder)
	if strings.Contains(text, "%") || below == ".." || strings.HasPrefix(below, "../") || host == "" && scheme != "file" {
		return ""
	}
	return strings.TrimSuffix(scheme+"://"+strings.ToLower(host)+"/"+strings.TrimPrefix(below, "/"), "/")
}

func cleaned(p string) string {
	if p = path.Clean(p); p == "." || p == "/" {
		return ""
	}
	return p
}

// coversSource reports whether what begins with outer has all that begins with inner.
func coversSource(outer, inner string) bool {
	o, i := place(outer), place(inner)
	return o != "" && i != "" && below(o, i)
}

// below reports whether i is o, or a path below it.
func below(o, i string) bool { return i == o || strings.HasPrefix(i, o+"/") }

// allowsServer reports whether entry allows s: the beginning of its URL, or the first
// words of its command line, of which the last may end with *.
func allowsServer(entry string, s spec.MCPServer) bool {
	if s.URL != "" {
		return isURL(entry) && coversURL(entry, s.URL)
	}
	return !isURL(entry) && begins(strings.Fields(entry), append([]string{s.Command}, s.Args...))
}

// coversServer reports whether outer allows all that inner does.
func coversServer(outer, inner string) bool {
	if isURL(inner) || isURL(outer) {
		return isURL(inner) && isURL(outer) && coversURL(outer, inner)
	}
	return begins(strings.Fields(outer), strings.Fields(inner))
}

func isURL(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

// coversURL reports whether inner is outer, or below it. A URL with a user, a variable
// or .. is below none.
func coversURL(outer, inner string) bool {
	at := func(text string) string {
		u, err := url.Parse(text)
		if err != nil || u.User != nil || u.Host == "" || strings.ContainsAny(text, "$%\\") || slices.Contains(strings.Split(u.Path, "/"), "..") {
			return ""
		}
		return strings.TrimSuffix(u.Scheme+"://"+strings.ToLower(u.Host)+u.Path, "/")
	}
	o, i := at(outer), at(inner)
	return o != "" && i != "" && below(o, i)
}

// begins reports whether words begin with pattern.
func begins(pattern, words []string) bool {
	if len(pattern) == 0 || len(pattern) > len(words) {
		return false
	}
	for i, p := range pattern {
		start, open := strings.CutSuffix(p, "*")
		switch {
		case open && i == len(pattern)-1 && strings.HasPrefix(words[i], start):
		case p != words[i]:
			return false
		}
	}
	return true
}
