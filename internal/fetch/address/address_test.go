package address

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	folders := map[string]bool{"rules": true, "vendor/rules": true, "example.org/o/r": true}
	for src, want := range map[string]string{
		"anthropics/skills":                           "git::https://github.com/anthropics/skills.git",
		"anthropics/skills@v1":                        "git::https://github.com/anthropics/skills.git?ref=v1",
		"anthropics/skills//skills/pdf":               "git::https://github.com/anthropics/skills.git//skills/pdf",
		"anthropics/skills@main//skills/pdf":          "git::https://github.com/anthropics/skills.git//skills/pdf?ref=main",
		"o/r?ref=feature/x":                           "git::https://github.com/o/r.git?ref=feature%2Fx",
		"o/r.git":                                     "git::https://github.com/o/r.git",
		"gh:o/r":                                      "git::https://github.com/o/r.git",
		"gh:o/r@ref//path":                            "git::https://github.com/o/r.git//path?ref=ref",
		"github:o/r":                                  "git::https://github.com/o/r.git",
		"github.com/o/r":                              "git::https://github.com/o/r.git",
		"github.com/o/r/a/b":                          "git::https://github.com/o/r.git//a/b",
		"github.com/o/r@v2//a":                        "git::https://github.com/o/r.git//a?ref=v2",
		"https://github.com/o/r":                      "git::https://github.com/o/r.git",
		"https://github.com/o/r/":                     "git::https://github.com/o/r.git",
		"https://github.com/o/r.git":                  "git::https://github.com/o/r.git",
		"https://github.com/o/r/tree/main/skills/pdf": "git::https://github.com/o/r.git//skills/pdf?ref=main",
		"https://github.com/o/r/archive/refs/tags/v1.tar.gz": "https://github.com/o/r/archive/refs/tags/v1.tar.gz",
		"gitlab:group/sub/r@v1":                              "git::https://gitlab.com/group/sub/r.git?ref=v1",
		"gl:o/r//x":                                          "git::https://gitlab.com/o/r.git//x",
		"https://gitlab.com/g/s/r/-/tree/main/skills":        "git::https://gitlab.com/g/s/r.git//skills?ref=main",
		"gitlab.com/o/r":                                     "git::https://gitlab.com/o/r.git",
		"bitbucket:o/r":                                      "git::https://bitbucket.org/o/r.git",
		"https://codeberg.org/o/r/src/branch/main/a":         "git::https://codeberg.org/o/r.git//a?ref=main",
		"https://example.org/o/r.git":                        "git::https://example.org/o/r.git",
		"https://example.org/o/r.git//a?ref=v1":              "git::https://example.org/o/r.git//a?ref=v1",
		"example.org/o/x.git":                                "git::https://example.org/o/x.git",
		"git@github.com:o/r.git":                             "git::ssh://git@github.com/o/r.git",
		"git@example.org:o/r.git//a?ref=v1":                  "git::ssh://git@example.org/o/r.git//a?ref=v1",
		"git::git@example.org:o/r.git":                       "git::ssh://git@example.org/o/r.git",
		"ssh://git@example.org/o/r.git":                      "git::ssh://git@example.org/o/r.git",
		"git::https://example.org/r?ref=v1":                  "git::https://example.org/r?ref=v1",
		"git::file:///srv/r":                                 "git::file:///srv/r",
		"https://example.org/a.tar.gz//x":                    "https://example.org/a.tar.gz//x",
		"https://example.org/get?archive=zip":                "https://example.org/get?archive=zip",
		"oci://ghcr.io/o/b:1":                                "oci://ghcr.io/o/b:1",
		"oci://127.0.0.1:5000/o/b:1//skills":                 "oci://127.0.0.1:5000/o/b:1//skills",
		"rules.tar.gz":                                       "rules.tar.gz",
		"./rules.zip//skills/*":                              "./rules.zip//skills/*",
		"file:///srv/a%20b.tgz//x":                           "/srv/a b.tgz//x",
		"~/rules.tar.zst":                                    "~/rules.tar.zst",
		"../rulesets":                                        "../rulesets",
		"~/rulesets":                                         "~/rulesets",
		"/srv/rules":                                         "/srv/rules",
		".":                                                  ".",
		"rules":                                              "rules",
		"vendor/rules":                                       "vendor/rules",
		"example.org/o/r":                                    "example.org/o/r",
		"a/b/c":                                              "a/b/c",
	} {
		got, err := Parse(src, func(name string) bool { return folders[name] })
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", src, got, err, want)
		}
		if again, err := Parse(got, func(name string) bool { return folders[name] }); err != nil || again != got {
			t.Errorf("%s: read again, %q is %q, %v", src, got, again, err)
		}
	}
}

func TestShortIsReadBack(t *testing.T) {
	for src, want := range map[string]string{
		"git::https://github.com/o/r.git":               "gh:o/r",
		"git::https://github.com/o/r.git//a/b?ref=v1":   "gh:o/r@v1//a/b",
		"git::https://github.com/o/r.git?ref=a/b":       "git::https://github.com/o/r.git?ref=a/b",
		"git::https://github.com/o/r.git?depth=1&ref=a": "git::https://github.com/o/r.git?depth=1&ref=a",
		"git::https://gitlab.com/g/s/r.git//a":          "gl:g/s/r//a",
		"git::https://example.org/o/r.git":              "git::https://example.org/o/r.git",
		"https://example.org/a.zip//x":                  "https://example.org/a.zip//x",
		"../rules":                                      "../rules",
	} {
		if got := Short(src); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, c := range [][3]string{
		{"git::https://github.com/o/r.git", "plugins/x", "git::https://github.com/o/r.git//plugins/x"},
		{"git::https://github.com/o/r.git//a?ref=v1", "x", "git::https://github.com/o/r.git//a/x?ref=v1"},
		{"git::https://github.com/o/r.git?ref=v1", ".", "git::https://github.com/o/r.git?ref=v1"},
	} {
		if got := Below(c[0], c[1]); got != c[2] {
			t.Errorf("%s below %s: %s, want %s", c[1], c[0], got, c[2])
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for src, want := range map[string]string{
		"":                                 "is empty",
		"npm:@acme/x":                      `"npm:"`,
		"githbu:o/r":                       `did you mean "github:"?`,
		"oci://ghcr.io/o/b:1?x=1":          "names no artifact",
		"oci://ghcr.io":                    "names no artifact",
		"oci://ghcr.io/o/b:1//../x":        "leaves the source",
		"./rules.tar.xz":                   "of a format that aisync does not read",
		"./rules.zip//../x":                "leaves the source",
		"file://far/srv/rules.zip":         "neither a repository nor an archive",
		"s3::https://s3.example.org/a":     `"s3::"`,
		"ftp://example.org/a.zip":          `"ftp:"`,
		"file:///srv/rules":                "git::file://",
		"https://example.org/o/r":          "git::https://example.org/o/r",
		"https://u:secret@example.org/o/r": "neither a repository nor an archive",
		"example.org/a/b":                  "https://example.org/a/b.git",
		"gh:o":                             "names no repository",
		"gh:o/..":                          "names no repository",
		"gh:o/r@-x":                        "is not the name of a commit",
		"gh:o/r//../x":                     "leaves the source",
		"o/r?depth=x":                      "no other parameter",
		"git::https://example.org/r?x=1":   "is not allowed",
		"git::ext::sh -c x":                "",
		"git::--upload-pack=x":             "",
		"o/r\n":                            "control characters",
	} {
		_, err := Parse(src, func(string) bool { return false })
		var known *Error
		if !errors.As(err, &known) || known.Hint == "" || !strings.Contains(known.Why+" "+known.Hint, want) {
			t.Errorf("%q: %v, want %q", src, err, want)
			continue
		}
		if strings.Contains(known.Why+known.Hint, "secret") {
			t.Errorf("%q: the error shows the password: %v", src, err)
		}
	}
}
