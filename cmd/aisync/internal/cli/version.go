package cli

import (
	"runtime/debug"
	"strings"

	"aisync.dev/aisync/cmd/aisync/quick"
)

// VersionText is what this binary calls itself, in every message and file.
func VersionText() string {
	if quick.Version != "" {
		return quick.Version
	}
	if b, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(b.Main.Version, "v") {
		return b.Main.Version
	}
	return "devel"
}
