package packages

import (
	"context"
	"fmt"
	"strings"

	"aisync.dev/aisync/internal/versions"
)

// uv installs Python programs, each in a separate environment, with links in
// ~/.local/bin. https://docs.astral.sh/uv/reference/cli/#uv-tool
var uv = manager{
	name: "uv", program: "uv",
	list: func(ctx context.Context, at place, _ []string) (map[string]installed, error) {
		b, err := at.run(ctx, "uv", "tool", "list", "--color", "never", "--offline")
		if err != nil {
			return nil, err
		}
		found := map[string]installed{}
		for line := range strings.Lines(string(b)) { // "name v1.2.3", then a line "- program" each
			if f := strings.Fields(line); len(f) == 2 && f[0] != "-" {
				found[f[0]] = installed{version: versions.Plain(f[1])}
			}
		}
		return found, nil
	},
	add: func(_ place, name string, want constraint) [][]string {
		return [][]string{{"uv", "tool", "install", "--quiet", "--force", name + pythonRange(want)}}
	},
	remove: func(_ place, name string) [][]string { return [][]string{{"uv", "tool", "uninstall", name}} },
	latest: func(ctx context.Context, at place, name, _ string) (Release, error) {
		const resolve = `echo "$0" | uv pip compile --quiet --no-deps --no-header --no-annotate -`
		b, err := at.run(ctx, "sh", "-c", resolve, name)
		if err != nil {
			return Release{}, fmt.Errorf("uv pip compile %s: %s", name, complaintLine(err))
		}
		_, version, ok := strings.Cut(strings.TrimSpace(string(b)), "==")
		if !ok {
			return Release{}, fmt.Errorf("uv names no version of %s", name)
		}
		return Release{Version: strings.Fields(version)[0]}, nil
	},
}

// pythonRange is a constraint in the syntax of Python's tools.
func pythonRange(c constraint) string {
	switch {
	case c.exact() != "":
		return "==" + c.exact()
	case c.atLeast() != "":
		return string(c)
	}
	return ""
}
