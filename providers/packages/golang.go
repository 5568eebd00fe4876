package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"aisync.dev/aisync/internal/versions"
	"aisync.dev/aisync/reconcile/fsys"
)

// golang builds Go programs into ~/.local/bin. A name is the path of a package;
// a binary records the package that it was built from.
var golang = manager{
	name: "go", program: "go", rooted: true,
	list: func(_ context.Context, at place, names []string) (map[string]installed, error) {
		found := map[string]installed{}
		for _, name := range names {
			is, err := goProgram(at, name)
			if err != nil {
				return nil, err
			}
			found[name] = is
		}
		return found, nil
	},
	add: func(at place, name string, want constraint) [][]string {
		version := "latest"
		if want.exact() != "" {
			version = "v" + versions.Plain(want.exact())
		} else if want.atLeast() != "" {
			version = ">=v" + versions.Plain(want.atLeast())
		}
		return [][]string{{"env", "GOBIN=" + at.physical(goBinary(at.Home, name).Dir()), "GOFLAGS=", "CGO_ENABLED=0", "go", "install", name + "@" + version}}
	},
	remove: func(at place, name string) [][]string {
		return [][]string{{"rm", "-f", "--", at.physical(goBinary(at.Home, name))}}
	},
	// The module of a package is the longest path above it that is a module.
	latest: func(ctx context.Context, at place, name, _ string) (Release, error) {
		var first error
		for module := name; strings.Contains(module, "/"); module = path.Dir(module) {
			b, err := at.run(ctx, "env", "GOFLAGS=-mod=mod", "go", "list", "-m", "-f", "{{.Version}}", module+"@latest")
			if err == nil {
				return Release{Version: versions.Plain(strings.TrimSpace(string(b)))}, nil
			}
			if first == nil {
				first = err
			}
		}
		return Release{}, fmt.Errorf("go list -m %s@latest: %s", name, complaintLine(first))
	},
}

// majorSuffix ends a module path from version 2 on; it names no program.
var majorSuffix = regexp.MustCompile(`^v[0-9]+$`)

// goBinary is the path where go install puts the program of a package.
func goBinary(home fsys.LogicalPath, name string) fsys.LogicalPath {
	if majorSuffix.MatchString(path.Base(name)) {
		name = path.Dir(name)
	}
	return home.Join(".local/bin", path.Base(name))
}

// goProgram examines the file in the place of a package's program.
func goProgram(at place, name string) (installed, error) {
	p := goBinary(at.Home, name)
	f, err := at.FS.Open(p)
	if errors.Is(err, fs.ErrNotExist) {
		return installed{}, nil
	}
	if fsys.Conclusive(err) {
		return installed{blocked: err.Error()}, nil
	}
	if err != nil {
		return installed{}, err
	}
	defer f.Close()
	from, version, err := builtFrom(f)
	if err != nil {
		return installed{}, err
	}
	if from != name {
		return installed{blocked: fmt.Sprintf("%s was not built from %s; move it away, or take the package out of the spec", p, name)}, nil
	}
	return installed{version: versions.Plain(version)}, nil
}
