package packages

import (
	"context"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// pacman is Arch Linux's. It installs what its repositories have now, so that
// nothing is pinned; an exact version is had where a repository still has it.
var pacman = manager{
	name: "pacman", program: "pacman", system: true, rooted: true,
	database: func(place) fsys.LogicalPath { return "/var/lib/pacman/local" },
	list: func(ctx context.Context, at place, _ []string) (map[string]installed, error) {
		b, err := at.run(ctx, pacmanArgs(at, "-Q")...)
		if err != nil && (!exitedWith(err, 1) || len(b) > 0 || strings.Contains(complaint(err), "error:")) { // else nothing at all is installed
			return nil, err
		}
		found := map[string]installed{}
		for line := range strings.Lines(string(b)) {
			if name, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				found[name] = installed{version: version}
			}
		}
		return found, nil
	},
	add: func(at place, name string, want constraint) [][]string {
		verb := "-S"
		if entries, err := at.FS.ReadDir("/var/lib/pacman/sync"); err != nil || len(entries) == 0 {
			verb = "-Sy" // a new system; else never, for it would upgrade in part
		}
		if want != anyVersion {
			name += string(want)
		}
		return [][]string{pacmanArgs(at, verb, "--needed", "--noconfirm", "--noprogressbar", name)}
	},
	// What else was installed for it stays: somebody may have come to need it.
	remove: func(at place, name string) [][]string {
		return [][]string{pacmanArgs(at, "-R", "--noconfirm", "--noprogressbar", name)}
	},
}

// pacmanArgs begins a command, below the root where there is one, with the
// root's own configuration if it has one.
func pacmanArgs(at place, args ...string) []string {
	argv := []string{"pacman"}
	if at.root != "" {
		argv = append(argv, "--root", at.root)
		if _, err := at.FS.Lstat("/etc/pacman.conf"); err == nil {
			argv = append(argv, "--config", at.physical("/etc/pacman.conf"))
		}
	}
	return append(argv, args...)
}

// aur is looked at with pacman. What it has is built on the machine by a
// program that asks, so that a person does that.
var aur = manager{
	name: "aur", program: "paru", rooted: true,
	database: pacman.database,
	list: func(ctx context.Context, at place, names []string) (map[string]installed, error) {
		return pacman.list(ctx, at, names)
	},
	add: func(_ place, name string, _ constraint) [][]string {
		return [][]string{{"paru", "-S", "--needed", name}}
	},
	remove: func(_ place, name string) [][]string { return [][]string{{"paru", "-R", name}} },
	manual: "a package of the AUR is built on the machine, and aisync leaves that to you",
}
