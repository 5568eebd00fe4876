package packages

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"aisync.dev/aisync/internal/versions"
)

// cargo builds Rust programs into ~/.cargo/bin.
var cargo = manager{
	name: "cargo", program: "cargo", rooted: true,
	list: func(ctx context.Context, at place, _ []string) (map[string]installed, error) {
		b, err := at.run(ctx, "cargo", "install", "--list", "--root", at.home(".cargo"))
		if err != nil {
			return nil, err
		}
		found := map[string]installed{}
		for line := range strings.Lines(string(b)) { // "name v1.2.3:", then an indented line a program
			if line[0] == ' ' {
				continue
			}
			if f := strings.Fields(strings.TrimSuffix(strings.TrimSpace(line), ":")); len(f) > 1 {
				found[f[0]] = installed{version: versions.Plain(f[1])}
			}
		}
		return found, nil
	},
	add: func(at place, name string, want constraint) [][]string {
		argv := []string{"cargo", "install", "--quiet", "--locked", "--root", at.home(".cargo")}
		if want != anyVersion {
			argv = append(argv, "--force", "--version", string(want))
		}
		return [][]string{append(argv, name)}
	},
	remove: func(at place, name string) [][]string {
		return [][]string{{"cargo", "uninstall", "--quiet", "--root", at.home(".cargo"), name}}
	},
	latest: func(ctx context.Context, at place, name, _ string) (Release, error) {
		b, err := at.run(ctx, "cargo", "info", "--quiet", "--color", "never", name)
		if err != nil {
			return Release{}, fmt.Errorf("cargo info %s: %s", name, complaintLine(err))
		}
		m := regexp.MustCompile(`(?m)^version: (\S+)`).FindSubmatch(b)
		if m == nil {
			return Release{}, fmt.Errorf("cargo names no version of %s", name)
		}
		return Release{Version: string(m[1])}, nil
	},
}
