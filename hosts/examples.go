package hosts

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.cue
var examples embed.FS

// DefaultName is the host of a machine without a spec.
const DefaultName = "default"

// Examples returns the names of the embedded host specs, sorted: the default and
// the reference hosts.
func Examples() []string {
	entries, _ := examples.ReadDir(".")
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".cue"))
	}
	slices.Sort(names)
	return names
}

// Example returns the text of one, a whole spec.
func Example(name string) ([]byte, bool) {
	text, err := examples.ReadFile(name + ".cue")
	return text, err == nil
}
