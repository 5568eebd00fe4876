package address

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/fetch/archive"
	"aisync.dev/aisync/schema/spec"
)

// safeRef keeps a ref from being read as an option of git.
var safeRef = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+@-]*$`)

// artifact is a repository of an OCI registry, with a tag or a digest.
// https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests
var artifact = regexp.MustCompile(`^oci(\+http)?://[A-Za-z0-9.-]+(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

// IsArtifact reports whether src names an artifact of an OCI registry.
func IsArtifact(src string) bool {
	return strings.HasPrefix(src, "oci://") || strings.HasPrefix(src, "oci+http://")
}

// Check refuses a source without its folder that go-getter or git would read as
// something else than it seems.
func Check(root string) error {
	switch {
	case IsArtifact(root) && artifact.MatchString(root):
		return nil
	case IsArtifact(root):
		return errors.New("names no artifact of a registry; want oci://HOST/REPO:TAG or oci://HOST/REPO@sha256:DIGEST, with //FOLDER at its end for a folder of it")
	case spec.LocalArchive(root) && Ending(root) != "":
		return nil
	}
	raw, git := strings.CutPrefix(root, "git::")
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("not a URL: %w", bare(err))
	}
	allowed := map[string]bool{"http": true, "https": true}
	params := map[string]bool{"archive": true}
	if git {
		allowed = map[string]bool{"http": true, "https": true, "ssh": true, "git": true, "file": true}
		params = map[string]bool{"ref": true, "depth": true}
	}
	if !allowed[u.Scheme] || strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") || u.Host == "" && u.Scheme != "file" {
		return errors.New("invalid source; use git::URL?ref=… (https, ssh, git, file) or the URL of an archive")
	}
	q := u.Query()
	for name := range q {
		// In an archive's URL, a parameter that go-getter does not know is the
		// server's.
		if name == "checksum" || name == "filename" || git && !params[name] {
			return fmt.Errorf("parameter %q is not allowed: what is fetched is pinned by aisync.lock", name)
		}
	}
	if depth, err := strconv.Atoi(q.Get("depth")); git && q.Has("depth") && (err != nil || depth < 1) {
		return fmt.Errorf("depth %q is not a number of commits", q.Get("depth"))
	}
	if ref := q.Get("ref"); git && ref != "" && !safeRef.MatchString(ref) {
		return fmt.Errorf("ref %q is not the name of a commit, tag or branch", ref)
	}
	if git || IsArchive(u) {
		return nil
	}
	return fmt.Errorf("unknown archive format: want %s; or name it with ?archive=", strings.Join(archive.Endings, ", "))
}

// IsArchive reports whether u names an archive of a known format. Its path may
// end in //FOLDER.
func IsArchive(u *url.URL) bool {
	path, _, _ := strings.Cut(u.Path, "//")
	for _, ending := range archive.Endings {
		if strings.HasSuffix(path, "."+ending) || u.Query().Get("archive") == ending {
			return true
		}
	}
	return false
}

// Ending is the ending of an archive's name, of those that can be read; "": none.
func Ending(name string) string {
	for _, ending := range archive.Endings {
		if strings.HasSuffix(strings.ToLower(name), "."+ending) {
			return ending
		}
	}
	return ""
}

// bare is the reason of a URL's error, without the URL, which may hold a password.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
