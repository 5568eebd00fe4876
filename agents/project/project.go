// Package project finds the root of a project of agents and the shared files
// below it. It reads the file system and writes nothing. Call Root.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"aisync.dev/aisync/internal/unixpath"
)

// Places below a root, slash-separated.
const (
	Protocols  = ".ai/protocols.org"       // what makes a folder a project
	Singleton  = ".ai/session-context.org" // the primary's context
	Contexts   = ".ai/session-context.d"   // one context an agent with an id
	Sessions   = ".ai/sessions"            // archived contexts
	Inbox      = "inbox"                   // people's
	FromAgents = "inbox/from-agents"       // agents'
)

// Root returns the root of the project that holds dir, absolute and without
// links: the nearest folder upwards with .ai/protocols.org, else the top of the
// git work tree (linked work trees and submodules have their .git), else dir.
func Root(dir string) (string, error) {
	dir, err := Physical(dir)
	if err != nil {
		return "", err
	}
	for _, mark := range []string{Protocols, ".git"} {
		for at := dir; ; at = path.Dir(at) {
			_, err := os.Lstat(path.Join(at, mark))
			if err == nil {
				return at, nil
			}
			if !errors.Is(err, fs.ErrNotExist) && !isNotFolder(err) {
				return "", fmt.Errorf("look for the project of %s: %w", dir, err)
			}
			if at == path.Dir(at) {
				break
			}
		}
	}
	return dir, nil
}

// Physical returns the absolute path of a folder without links.
func Physical(dir string) (string, error) {
	abs := path.Clean(dir)
	if !path.IsAbs(dir) {
		here, err := os.Getwd()
		if err != nil {
			return "", fmt.Errorf("folder %s: %w", dir, err)
		}
		abs = path.Join(here, dir)
	}
	real, err := unixpath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("folder %s: %w", dir, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("folder %s: %w", dir, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", dir)
	}
	return real, nil
}

// Is reports whether dir is the root of a project.
func Is(dir string) bool {
	info, err := os.Stat(path.Join(dir, Protocols))
	return err == nil && info.Mode().IsRegular()
}

// Holds reports whether path is root or below it, by whole names: /a/project-2
// is not below /a/project. Both are absolute and clean.
func Holds(root, path string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// Name is what the project is called: the name of its folder.
func Name(root string) string { return path.Base(root) }
