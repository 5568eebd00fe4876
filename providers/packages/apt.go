package packages

import (
	"context"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// apt is Debian's and Ubuntu's manager. Like pacman, it chooses the version itself.
var apt = manager{
	name: "apt", program: "apt-get", system: true, rooted: true,
	database: func(place) fsys.LogicalPath { return "/var/lib/dpkg/status" },
	list: func(ctx context.Context, at place, names []string) (map[string]installed, error) {
		argv := []string{"dpkg-query", "--admindir=" + at.physical("/var/lib/dpkg"), "--show", "--showformat=${db:Status-Status} ${Package} ${Version}\n", "--"}
		b, err := at.run(ctx, append(argv, names...)...)
		if err != nil && !exitedWith(err, 1) { // 1: some names are unknown
			return nil, err
		}
		found := map[string]installed{}
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) == 3 && f[0] == "installed" {
				found[f[1]] = installed{version: f[2]}
			}
		}
		return found, nil
	},
	add: func(at place, name string, want constraint) [][]string {
		var out [][]string
		if entries, err := at.FS.ReadDir("/var/lib/apt/lists"); err != nil || len(entries) < 3 { // lock and partial/ are always there
			out = append(out, aptArgs(at, "update"))
		}
		args := []string{"install", "--yes"}
		if want.exact() != "" {
			name += string(want)
			if upstream(want.exact()) == want.exact() {
				name += "*" // whatever its revision
			}
			args = append(args, "--allow-downgrades")
		}
		return append(out, aptArgs(at, append(args, name)...))
	},
	// dpkg refuses if another package needs this one; apt-get would remove that
	// as well.
	remove: func(at place, name string) [][]string {
		argv := []string{"env", "DEBIAN_FRONTEND=noninteractive", "dpkg"}
		if at.root != "" {
			argv = append(argv, "--root="+at.root)
		}
		return [][]string{append(argv, "--remove", name)}
	},
}

// aptArgs begins a command, below the root if there is one: the programs are
// this machine's then, everything else is the root's.
func aptArgs(at place, args ...string) []string {
	argv := []string{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"}
	if at.root != "" {
		argv = append(argv, "-o", "Dir="+at.root, "-o", "Dir::State::status="+at.physical("/var/lib/dpkg/status"), "-o", "DPkg::Options::=--root="+at.root, "-o", "APT::Sandbox::User=root")
	}
	return append(argv, args...)
}
