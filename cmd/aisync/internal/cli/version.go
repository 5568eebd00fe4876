package cli

import (
	"runtime/debug"
	"strings"

	"aisync.dev/aisync/cmd/aisync/quick"
)

// VersionText returns the version of this binary, or "devel".
func VersionText() string {
	if quick.Version != "" {
		return quick.Version
	}
	if b, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(b.Main.Version, "v") {
		return b.Main.Version
	}
	return "devel"
}
