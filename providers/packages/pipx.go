package packages

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
)

// pipx installs Python programs, each in a separate environment, with links in
// ~/.local/bin. https://pipx.pypa.io/stable/docs/
var pipx = manager{
	name: "pipx", program: "pipx",
	list: func(ctx context.Context, at place, _ []string) (map[string]installed, error) {
		b, err := at.run(ctx, "pipx", "list", "--json")
		if err != nil {
			return nil, err
		}
		var doc struct {
			Venvs map[string]struct {
				Metadata struct {
					Main struct {
						Version string `json:"package_version"`
					} `json:"main_package"`
				}
			}
		}
		if err := json.Unmarshal(b, &doc); err != nil {
			return nil, fmt.Errorf("pipx list --json: %w", err)
		}
		found := map[string]installed{}
		for name, v := range doc.Venvs {
			found[name] = installed{version: v.Metadata.Main.Version}
		}
		return found, nil
	},
	add: func(_ place, name string, want constraint) [][]string {
		return [][]string{{"pipx", "install", "--force", name + pythonRange(want)}}
	},
	remove: func(_ place, name string) [][]string { return [][]string{{"pipx", "uninstall", name}} },
	latest: func(ctx context.Context, at place, name, _ string) (Release, error) {
		b, err := at.run(ctx, "python3", "-m", "pip", "index", "versions", name)
		if err != nil {
			return Release{}, fmt.Errorf("pip index versions %s: %s", name, complaintLine(err))
		}
		m := regexp.MustCompile(`^\S+ \(([^)]+)\)`).FindSubmatch(b) // "name (1.2.3)"
		if m == nil {
			return Release{}, fmt.Errorf("pip names no version of %s", name)
		}
		return Release{Version: string(m[1])}, nil
	},
}
