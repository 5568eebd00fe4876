package newer

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// version matches a tag that is a version: what stands before it, and the version.
var version = regexp.MustCompile(`^(.*?)v?([0-9]+(?:\.[0-9]+)*(?:[-+][0-9A-Za-z.+-]+)?)$`)

// newerTag returns the newest version among tags that is newer than tag and named like
// it; "" where there is none, or tag is no version. One before its release counts only
// for a tag that is such a one too.
func newerTag(tag string, tags map[string]string) string {
	prefix, now := versionOf(tag)
	if now == nil {
		return ""
	}
	best := ""
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		p, v := versionOf(name)
		if v == nil || p != prefix || v.Prerelease() != "" && now.Prerelease() == "" || !v.GreaterThan(now) {
			continue
		}
		best, now = name, v
	}
	return best
}

func versionOf(tag string) (prefix string, v *semver.Version) {
	m := version.FindStringSubmatch(tag)
	if m == nil {
		return "", nil
	}
	v, err := semver.NewVersion(m[2])
	if err != nil {
		return "", nil
	}
	return strings.TrimRight(m[1], "-_/"), v
}
