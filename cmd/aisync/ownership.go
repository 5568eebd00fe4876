package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/safedir"
)

// trustedProject returns an error where the spec or the lock of the project in
// dir is no regular file, or where those or the folder belong to another user
// and neither git's safe.directory nor --user says that they may be used. A
// read-only command that names the project by --project has said so itself.
func (a *app) trustedProject(p places, dir string) error {
	for _, name := range []string{projectFile, lockName} {
		at := filepath.Join(dir, name)
		info, err := os.Stat(at)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = regular.Check(at, info, regular.MaxSpec)
		}
		if err != nil {
			return err
		}
	}
	if a.named && a.g.project != "" {
		return nil
	}
	u := safedir.User{UID: os.Geteuid(), Also: -1, Sudo: a.env.get("SUDO_UID"), Safe: a.safeDirectories}
	if a.g.user != "" {
		u.Also = p.uid
	}
	err := u.Check(dir, projectFile, lockName)
	if errors.As(err, new(*safedir.Foreign)) {
		return withHint(err, "git config --global --add safe.directory "+shellQuote(dir)+", if you trust them; to only look: aisync --project "+shellQuote(dir)+" plan")
	}
	return err
}

// safeDirectories are the values of safe.directory, as far as no repository
// sets them.
func (a *app) safeDirectories() []string {
	out, err := runner{a.env, a.gate}.Run(context.Background(), "/", "git", "config", "--show-scope", "--type=path", "-z", "--get-all", "safe.directory")
	if err != nil {
		return nil // there is no git, or no such key
	}
	var values []string
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if scope := fields[i]; scope == "system" || scope == "global" || scope == "command" {
			values = append(values, fields[i+1])
		}
	}
	return values
}

// hostPlaces is places for what is about the host or this machine: a project
// that may not be used counts as none.
func (a *app) hostPlaces() (places, error) {
	p, err := a.places()
	if p.refused != nil {
		return p, nil
	}
	return p, err
}
