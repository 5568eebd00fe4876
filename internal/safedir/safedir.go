// Package safedir decides whether files of another user may be used, by git's
// rules for repositories: safe.directory in git-config(1). It reads no
// configuration and runs nothing: the caller passes git's values. Call
// User.Check.
package safedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// User is the user of the files.
type User struct {
	UID  int // effective
	Also int // another trusted user, such as the one for whom root works; -1: none

	// Sudo is SUDO_UID: root also trusts the files of the user who called sudo.
	// This is git's rule; anything but a number counts as unset.
	Sudo string

	// Safe returns the values of safe.directory in git's protected
	// configuration, in order. It is called only if an owner differs.
	Safe func() []string
}

// Foreign reports a file of another user.
type Foreign struct {
	Path  string
	Owner int // user id
	UID   int // of the caller
	Dir   string
}

// Error names both users.
func (f *Foreign) Error() string {
	return fmt.Sprintf("%s belongs to %s, but this is %s: files of another user are not used", f.Path, name(f.Owner), name(f.UID))
}

// name returns a user's name and id.
func name(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("%s (user id %d)", u.Username, uid)
	}
	return fmt.Sprintf("user id %d", uid)
}

// Check returns a *Foreign for the first of names in the folder dir, or dir
// itself, that belongs to another user, either a link or its target. It ignores
// missing names, and returns nil if safe.directory contains dir.
func (u User) Check(dir string, names ...string) error {
	for _, name := range append([]string{""}, names...) {
		at := filepath.Join(dir, name)
		for _, stat := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
			info, err := stat(at)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return fmt.Errorf("find the owner of %s: %w", at, err)
			}
			st, ok := info.Sys().(*syscall.Stat_t)
			if !ok || u.owns(int(st.Uid)) {
				continue
			}
			if u.Safe != nil && Names(u.Safe(), dir) {
				return nil
			}
			return &Foreign{Path: at, Owner: int(st.Uid), UID: u.UID, Dir: dir}
		}
	}
	return nil
}

// owns reports whether u trusts files of uid.
func (u User) owns(uid int) bool {
	if uid == u.UID || u.Also >= 0 && uid == u.Also {
		return true
	}
	sudo, err := strconv.ParseUint(u.Sudo, 10, 32)
	return u.UID == 0 && err == nil && uint64(uid) == sudo
}

// Names reports whether values of safe.directory contain dir: its path, * for
// all, or a path that ends in /* for all below it. An empty value clears the
// earlier ones. Paths are compared with links resolved; git expands ~.
func Names(values []string, dir string) bool {
	dir = real(dir)
	safe := false
	for _, v := range values {
		switch below, all := strings.CutSuffix(v, "/*"); {
		case v == "":
			safe = false
		case v == "*":
			safe = true
		case all && filepath.IsAbs(v):
			safe = safe || strings.HasPrefix(dir+"/", strings.TrimSuffix(real(below+"/"), "/")+"/")
		case filepath.IsAbs(v):
			safe = safe || real(v) == dir
		}
	}
	return safe
}

func real(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	return filepath.Clean(p)
}
