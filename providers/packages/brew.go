package packages

import (
	"context"
	"strings"
)

// brew is Homebrew. It keeps versions as separate packages (node@24), so none
// is pinned or chosen.
var brew = manager{
	name: "brew", program: "brew",
	list: func(ctx context.Context, at place, names []string) (map[string]installed, error) {
		b, err := at.run(ctx, append([]string{"brew", "list", "--versions"}, names...)...)
		if err != nil && !exitedWith(err, 1) { // 1: some of them are not installed
			return nil, err
		}
		found := map[string]installed{}
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 1 {
				found[f[0]] = installed{version: f[len(f)-1]} // of several, the newest comes last
			}
		}
		return found, nil
	},
	add: func(_ place, name string, _ constraint) [][]string {
		return [][]string{{"brew", "install", "--quiet", name}}
	},
	remove: func(_ place, name string) [][]string { return [][]string{{"brew", "uninstall", "--quiet", name}} },
}
