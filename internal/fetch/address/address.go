// Package address reads the addresses of bundle sources as people write them:
// owner/repo, gh:owner/repo@ref//folder, github.com/owner/repo, the URL of a
// repository or an archive, ssh, a folder. It dials nothing. Call Parse.
package address

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	getter "github.com/hashicorp/go-getter/v2"

	"aisync.dev/aisync/internal/fetch/archive"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/spec"
)

// Error says why a text is no address of a source, and what to write instead.
type Error struct{ Why, Hint string }

func (e *Error) Error() string { return e.Why }

func bad(hint, format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...), hint}
}

const forms = `write owner/repo, gh:owner/repo@ref//folder, git::URL?ref=…, the URL or path of an archive, oci://HOST/REPO:TAG, or a folder such as "../rules"`

// hosts are the servers whose URLs name repositories, and the short words for
// them.
var hosts = map[string][]string{
	"github.com":    {"gh", "github"},
	"gitlab.com":    {"gl", "gitlab"},
	"bitbucket.org": {"bitbucket"},
	"codeberg.org":  {"codeberg"},
}

var (
	word      = regexp.MustCompile(`^([a-z][a-z0-9+.-]*):([^/].*)$`)
	ownerRepo = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]*[A-Za-z0-9_-]$`)
	segment   = regexp.MustCompile(`^[A-Za-z0-9_.~-]+$`)
)

// Parse returns the one spelling of src that the rest of the program knows:
// git::URL//FOLDER?ref=REF, the URL of an archive, oci://HOST/REPO:TAG//FOLDER, or
// the path of an archive or a folder as written. The
// text a/b means a folder where isFolder finds one, and github.com's repository
// a/b elsewhere. Every error is an *Error.
func Parse(src string, isFolder func(string) bool) (string, error) {
	out, err := parse(src, isFolder)
	if err == nil && (strings.HasPrefix(out, "git::") || strings.Contains(out, "://")) {
		root, sub := getter.SourceDirSubdir(out)
		if err = Check(root); err == nil && sub != "" && !local(sub) {
			err = fmt.Errorf("folder %q leaves the source", sub)
		}
	}
	var known *Error
	if err != nil && !errors.As(err, &known) {
		err = &Error{err.Error(), forms}
	}
	return out, err
}

func local(sub string) bool {
	return !strings.HasPrefix(sub, "/") && !slices.Contains(strings.Split(sub, "/"), "..")
}

func parse(src string, isFolder func(string) bool) (string, error) {
	force, _, forced := strings.Cut(src, "::")
	kind, rest, _ := strings.Cut(src, "://")
	switch {
	case strings.TrimSpace(src) == "":
		return "", bad(forms, "is empty")
	case strings.ContainsFunc(src, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", bad(forms, "has control characters")
	case forced && force == "git" && !strings.Contains(src, "://"): // git::git@host:owner/repo
		out, err := parse(strings.TrimPrefix(src, "git::"), func(string) bool { return false })
		if err != nil || !strings.HasPrefix(out, "git::") {
			return "", bad(forms, "%q names no repository", src)
		}
		return out, nil
	case forced && force == "git":
		return src, nil
	case forced:
		return "", bad("write git::URL for a repository; "+forms, "no way to fetch %q: aisync knows git:: alone", force+"::")
	case isPath(src):
		return folder(src)
	case kind != src:
		return fromURL(src, kind, rest)
	}
	if ssh, ok, err := new(getter.GitDetector).Detect(src, ""); ok || err != nil {
		return ssh, err
	}
	if m := word.FindStringSubmatch(src); m != nil {
		for host, words := range hosts {
			if slices.Contains(words, m[1]) {
				return repository(host, m[2], src)
			}
		}
		return "", unknownWord(m[1])
	}
	first, path, below := strings.Cut(src, "/")
	switch {
	case isFolder(src):
		return folder(src)
	case below && hosts[first] != nil:
		return repository(first, path, src)
	case below && strings.Contains(first, "."):
		if root, _ := getter.SourceDirSubdir("https://" + src); strings.HasSuffix(strings.SplitN(root, "?", 2)[0], ".git") {
			return "git::https://" + src, nil
		}
		return "", bad("for a repository write https://"+src+".git, for a folder ./"+src, "%q is neither a folder here nor a known server's repository", src)
	}
	if root, _, _, _ := split(src); ownerRepo.MatchString(root) {
		return repository("github.com", src, src)
	}
	return folder(src)
}

func isPath(src string) bool {
	for _, start := range []string{"/", "./", "../", "~/"} {
		if strings.HasPrefix(src, start) {
			return true
		}
	}
	return slices.Contains([]string{".", "..", "~"}, src)
}

// folder reads the path of a folder or an archive.
func folder(src string) (string, error) {
	if name, sub := Split(src); spec.LocalArchive(src) {
		if Ending(name) == "" {
			return "", bad("pack it as one of "+strings.Join(archive.Endings, ", "), "%q is an archive of a format that aisync does not read", name)
		}
		if !local(sub) {
			return "", bad(forms, "folder %q leaves the source", sub)
		}
	}
	return src, nil
}

func unknownWord(w string) error {
	var known []string
	for _, words := range hosts {
		known = append(known, words...)
	}
	slices.Sort(known)
	hint := forms
	if near := nearest.Name(w, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near+":")
	}
	return bad(hint, "no source can be fetched from %q", w+":")
}

// fromURL reads an address with a scheme.
func fromURL(src, kind, rest string) (string, error) {
	switch kind {
	case "ssh", "git":
		return "git::" + src, nil
	case "file":
		name, sub := Split(src)
		u, err := url.Parse(name)
		if err != nil || u.Host != "" && u.Host != "localhost" || !spec.LocalArchive(u.Path) {
			return "", bad("write the folder's path, git::file://… for a repository, or file:// and the path of an archive", "%q names neither a repository nor an archive", src)
		}
		return folder(Join(u.Path, sub))
	case "oci", "oci+http":
		return src, nil
	case "http", "https":
	default:
		return "", unknownWord(kind)
	}
	u, err := url.Parse(src)
	if err != nil {
		return "", bad(forms, "not a URL")
	}
	if IsArchive(u) {
		return src, nil
	}
	if hosts[u.Hostname()] != nil && u.User == nil && u.Port() == "" {
		_, path, _ := strings.Cut(rest, "/")
		return repository(u.Hostname(), path, src)
	}
	root, _ := getter.SourceDirSubdir(src)
	if strings.HasSuffix(strings.SplitN(root, "?", 2)[0], ".git") {
		return "git::" + src, nil
	}
	return "", bad("write git::"+shown(u)+" for a repository; an archive ends in "+strings.Join(archive.Endings, ", ")+", or has ?archive=ENDING",
		"%s names neither a repository nor an archive", shown(u))
}

// shown is u without its password and query.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// split cuts path@ref//folder?ref=REF. A ref may hold slashes only after ?ref=.
func split(text string) (root, ref, sub string, err error) {
	text, query, _ := strings.Cut(text, "?")
	root, sub, _ = strings.Cut(text, "//")
	root, ref, _ = strings.Cut(root, "@")
	if query == "" {
		return root, ref, sub, nil
	}
	q, err := url.ParseQuery(query)
	if err != nil || ref != "" && q.Has("ref") || len(q) != 1 || !q.Has("ref") {
		return root, ref, sub, errors.New("want one ?ref=REF, or @REF, and no other parameter")
	}
	return root, q.Get("ref"), sub, nil
}

// repository reads what follows a known server: owner/repo@ref//folder, or the
// path of a page in a browser, owner/repo/tree/ref/folder.
func repository(host, text, src string) (string, error) {
	root, ref, sub, err := split(strings.TrimSuffix(text, "/"))
	if err != nil {
		return "", err
	}
	root = strings.TrimSuffix(strings.Trim(root, "/"), ".git")
	parts := strings.Split(root, "/")
	page := slices.IndexFunc(parts, func(p string) bool { return p == "tree" || p == "blob" || p == "src" || p == "-" })
	if page >= 2 && sub == "" && ref == "" {
		rest := parts[page+1:]
		if parts[page] == "-" && len(rest) > 0 { // GitLab: /-/tree/
			rest = rest[1:]
		}
		if host == "codeberg.org" && len(rest) > 0 { // /src/branch/
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return "", bad(forms, "%q names a page, and no folder", src)
		}
		ref, sub, parts = rest[0], strings.Join(rest[1:], "/"), parts[:page]
	}
	if len(parts) > 2 && host != "gitlab.com" && sub == "" { // GitLab's groups may lie in groups
		sub, parts = strings.Join(parts[2:], "/"), parts[:2]
	}
	if len(parts) < 2 || len(parts) > 2 && host != "gitlab.com" || slices.ContainsFunc(parts, func(p string) bool { return !segment.MatchString(p) || p == "." || p == ".." }) {
		return "", bad("write "+hosts[host][0]+":owner/repo@ref//folder, where @ref and //folder may be left out", "%q names no repository of %s", src, host)
	}
	out := "git::https://" + host + "/" + strings.Join(parts, "/") + ".git"
	if host == "github.com" {
		if out, _, err = new(getter.GitHubDetector).Detect(host+"/"+strings.Join(parts, "/"), ""); err != nil {
			return "", err
		}
	}
	if sub != "" {
		out += "//" + sub
	}
	if ref != "" {
		out += "?ref=" + url.QueryEscape(ref)
	}
	return out, nil
}
