package packages

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/versions"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// npm installs into a prefix that only aisync uses, so it needs no root and
// never touches what the person installed. What is installed is read from the
// prefix: npm itself goes by a package's folder and its package.json, and
// starting npm takes longer than the rest of a plan.
var npm = manager{
	name: "npm", program: "npm", rooted: true, folder: NpmPrefix,
	list: func(_ context.Context, at place, names []string) (map[string]installed, error) {
		found := map[string]installed{}
		for _, name := range names {
			if _, err := at.FS.Lstat(npmUnfinished(at.Home, name)); err == nil {
				continue // it may be incomplete
			}
			m, err := manifest(at.ReadEnv, name)
			if err != nil {
				return nil, err
			}
			if broken(at, name, m) {
				continue // what starts it points to nothing
			}
			found[name] = installed{version: m.Version}
		}
		return found, nil
	},
	add: func(at place, name string, want constraint) [][]string {
		argv := append(npmArgs(at, "install"), "--allow-scripts="+name, name+"@"+npmRange(want))
		left := leftovers(at, name)
		m, _ := manifest(at.ReadEnv, name) // what cannot be read is not whole
		_, err := at.FS.Lstat(npmUnfinished(at.Home, name))
		if err == nil || broken(at, name, m) {
			left = append(left, at.physical(npmModules(at.Home).Join(name))) // npm would take it for complete
			left = append(left, deadLinks(at, name)...)
		}
		if len(left) > 0 {
			return [][]string{append([]string{"rm", "-rf", "--"}, left...), argv}
		}
		return [][]string{argv}
	},
	remove: func(at place, name string) [][]string { return [][]string{append(npmArgs(at, "uninstall"), name)} },
	series: true,
	latest: func(ctx context.Context, at place, name, within string) (Release, error) {
		m, err := npmView(ctx, at, name, cmp.Or(within, "latest"))
		return m.release(name), err
	},
	check:      npmCheck,
	unfinished: npmUnfinished,
	tidy: func(ctx context.Context, at place, w fsys.FS, name string) {
		modules := npmModules(at.Home)
		if left := append(leftovers(at, name), deadLinks(at, name)...); len(left) > 0 {
			_, _ = at.run(ctx, append([]string{"rm", "-rf", "--"}, left...)...) // as below
		}
		if scope := modules.Join(path.Dir(name)); scope != modules {
			_ = w.Rmdir(scope) // as below
		}
		hidden := modules.Join(".package-lock.json") // npm's note of what is in the folder
		entries, err := w.ReadDir(modules)
		if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != hidden.Base() {
			return
		}
		if info, err := w.Lstat(hidden); err == nil && w.Discard(hidden, info) != nil {
			return
		}
		for _, dir := range []fsys.LogicalPath{modules, modules.Dir(), at.Home.Join(NpmPrefix, "bin")} {
			_ = w.Rmdir(dir) // a folder that is not empty is still needed
		}
	},
}

// NpmPrefix is npm's prefix, below the home.
const NpmPrefix = ".local/share/aisync/npm"

func npmModules(home fsys.LogicalPath) fsys.LogicalPath {
	return home.Join(NpmPrefix, "lib/node_modules")
}

// npmUnfinished exists while npm installs a package: npm takes an unpacked
// package whose script did not run for a complete one.
func npmUnfinished(home fsys.LogicalPath, name string) fsys.LogicalPath {
	return home.Join(NpmPrefix, "unfinished-"+strings.ReplaceAll(name, "/", "+"))
}

// npmArgs begins a command.
func npmArgs(at place, verb string) []string {
	return []string{"npm", verb, "--global", "--prefix", at.home(NpmPrefix), "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"}
}

// npmRange is a constraint in npm's syntax.
func npmRange(c constraint) string {
	switch {
	case c.exact() != "":
		return c.exact()
	case c.atLeast() != "":
		return string(c)
	}
	return "latest"
}

// npmPackage is the part of a package.json that aisync reads.
type npmPackage struct {
	Version string
	Engines engines
	Bin     json.RawMessage // its programs
}

// engines is the range of Node that a package needs, "" for any. A package.json
// may have any text in the place of the object.
type engines string

// UnmarshalJSON implements json.Unmarshaler.
func (e *engines) UnmarshalJSON(b []byte) error {
	var m map[string]any
	if json.Unmarshal(b, &m) == nil {
		text, _ := m["node"].(string)
		*e = engines(text)
	}
	return nil
}

// programs returns the programs of the package name, each with its file.
func (m npmPackage) programs(name string) map[string]string {
	var file string
	if json.Unmarshal(m.Bin, &file) == nil && file != "" {
		return map[string]string{path.Base(name): file}
	}
	out := map[string]string{}
	_ = json.Unmarshal(m.Bin, &out) // a package without programs has none
	return out
}

// npmRelease is what a registry says of one version.
type npmRelease struct {
	npmPackage
	Integrity  string `json:"dist.integrity"` // of its tarball
	Deprecated any    // the publisher's reason
}

// release is the part of m that others need.
func (m npmRelease) release(name string) Release {
	out := Release{Version: m.Version, Programs: m.programs(name), Integrity: m.Integrity, Node: string(m.Engines)}
	out.Deprecated, _ = m.Deprecated.(string)
	return out
}

// manifest reads the package.json of an installed package; it is empty if there
// is none, or if an installation was killed half-way.
func manifest(r reconcile.ReadEnv, name string) (npmPackage, error) {
	var m npmPackage
	b, err := r.FS.ReadFile(npmModules(r.Home).Join(name, "package.json"))
	if err != nil {
		return m, notThere(err)
	}
	if json.Unmarshal(b, &m) != nil {
		return npmPackage{}, nil
	}
	return m, nil
}

// Version returns the version of an npm package in aisync's prefix, without
// starting npm.
func Version(r reconcile.ReadEnv, name string) (version string, ok bool) {
	m, err := manifest(r, name)
	return m.Version, err == nil && m.Version != ""
}

// leftovers are the folders that a killed npm renamed a package to. The next
// installation would use the same name, and fail.
func leftovers(at place, name string) []string {
	dir := npmModules(at.Home).Join(path.Dir(name))
	form := regexp.MustCompile(`^\.` + regexp.QuoteMeta(path.Base(name)) + `-[0-9A-Za-z]{8}$`)
	entries, _ := at.FS.ReadDir(dir) // a missing folder holds nothing
	var out []string
	for _, e := range entries {
		if form.MatchString(e.Name()) {
			out = append(out, at.physical(dir.Join(e.Name())))
		}
	}
	return out
}

// deadLinks are links to programs of a removed package: npm renames its folder
// first, and a kill may come in between.
func deadLinks(at place, name string) []string {
	bin := at.Home.Join(NpmPrefix, "bin")
	entries, _ := at.FS.ReadDir(bin)
	var out []string
	for _, e := range entries {
		if to, err := at.FS.Readlink(bin.Join(e.Name())); err == nil && strings.HasPrefix(to, "../lib/node_modules/"+name+"/") {
			out = append(out, at.physical(bin.Join(e.Name())))
		}
	}
	return out
}

// npmView asks the registry about one version. Its timeout is short: npm would
// wait a quarter of an hour for a silent registry.
func npmView(ctx context.Context, at place, name, version string) (npmRelease, error) {
	b, err := at.run(ctx, "npm", "view", name+"@"+version, "name", "version", "engines", "bin", "dist.integrity", "deprecated", "--json", "--loglevel=error", "--fetch-timeout=30000", "--fetch-retries=1")
	if err != nil {
		return npmRelease{}, fmt.Errorf("npm view %s@%s: %s", name, version, complaintLine(err))
	}
	var one npmRelease
	var many []npmRelease
	switch {
	case json.Unmarshal(b, &many) == nil && len(many) > 0: // of a range, in no order
		return slices.MaxFunc(many, func(a, b npmRelease) int { return versions.Compare(a.Version, b.Version) }), nil
	case json.Unmarshal(b, &one) != nil || one.Version == "":
		return one, fmt.Errorf("the registry has no version %s of %s", version, name)
	}
	return one, nil
}
