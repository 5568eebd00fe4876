package packages

import (
	"context"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// pacman is Arch Linux's manager. It installs what its repositories have now,
// so nothing is pinned; an exact version works while a repository has it.
var pacman = manager{
	name: "pacman", program: "pacman", system: true, rooted: true,
	database: func(place) fsys.LogicalPath { return "/var/lib/pacman/local" },
	list: func(ctx context.Context, at place, _ []string) (map[string]installed, error) {
		b, err := at.run(ctx, pacmanArgs(at, "-Q")...)
		if err != nil && (!exitedWith(err, 1) || len(b) > 0 || strings.Contains(complaint(err), "error:")) { // without it nothing is installed
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
			verb = "-Sy" // a new system only: later it would upgrade in part
		}
		if want != anyVersion {
			name += string(want)
		}
		return [][]string{pacmanArgs(at, verb, "--needed", "--noconfirm", "--noprogressbar", name)}
	},
	// Its dependencies stay: something else may need them by now.
	remove: func(at place, name string) [][]string {
		return [][]string{pacmanArgs(at, "-R", "--noconfirm", "--noprogressbar", name)}
	},
}

// pacmanArgs begins a command, below the root if there is one, with the root's
// own configuration if it has one.
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

// aur is read with pacman. Its packages are built by a program that asks
// questions, so a person does that.
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
	manual: "an AUR package is built on the machine; build it yourself",
}
