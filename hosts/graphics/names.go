package graphics

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/hosts/facts"
)

// listed returns the name that the machine's copy of pci.ids has for g: what
// stands in brackets, which is what its maker calls it, else all of it; "" without
// one.
func (l Look) listed(g facts.GPU) string {
	for _, at := range []string{"/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids"} {
		f, err := os.Open(filepath.Join("/", l.Root, at))
		if err != nil {
			continue
		}
		defer f.Close()
		vendor := "" // of the lines that follow
		for lines := bufio.NewScanner(f); lines.Scan(); {
			line := lines.Text()
			id, name, ok := strings.Cut(strings.TrimPrefix(line, "\t"), "  ")
			switch {
			case !ok || strings.HasPrefix(line, "\t\t") || strings.HasPrefix(line, "#"):
			case line[0] != '\t':
				if vendor == g.Vendor {
					return ""
				}
				vendor = id
			case vendor == g.Vendor && id == g.Device:
				if _, inner, ok := strings.Cut(name, "["); ok {
					name, _, _ = strings.Cut(inner, "]")
				}
				return strings.TrimSpace(name)
			}
		}
	}
	return ""
}
