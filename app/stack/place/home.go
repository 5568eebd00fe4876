package place

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"aisync.dev/aisync/reconcile/fsys"
)

// findHome sets the home and the owner of files.
func (p *Places) findHome(o Options) error {
	if o.User != "" {
		if err := p.lookUp(o.User); err != nil {
			return &InputError{"user " + o.User, err}
		}
		return nil
	}
	home := o.Env.Get("HOME")
	if o.ProjectOnly && !filepath.IsAbs(home) {
		home = Nowhere
	}
	if !filepath.IsAbs(home) {
		return ErrNoHome
	}
	p.Home = fsys.LogicalPath(filepath.Clean(home))
	if os.Geteuid() != 0 || o.ProjectOnly {
		return nil
	}
	info, err := os.Stat(p.Physical(p.Home))
	if err != nil {
		return nil // the first apply makes it, for root
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
		return &ForeignHomeError{p.Physical(p.Home), st.Uid}
	}
	return nil
}

// lookUp reads home and ids of user from the root's passwd.
func (p *Places) lookUp(user string) error {
	file := filepath.Join(p.Root, "/etc/passwd")
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		field := strings.Split(lines.Text(), ":")
		if len(field) < 7 || field[0] != user {
			continue
		}
		uid, err1 := strconv.Atoi(field[2])
		gid, err2 := strconv.Atoi(field[3])
		if err1 != nil || err2 != nil || !filepath.IsAbs(field[5]) {
			return fmt.Errorf("the line in %s has no ids or no absolute home", file)
		}
		p.Home, p.UID, p.GID = fsys.LogicalPath(filepath.Clean(field[5])), uid, gid
		p.Chown = os.Geteuid() == 0
		if !p.Chown && os.Geteuid() != uid {
			return errors.New("only root may write files of another user")
		}
		return nil
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return fmt.Errorf("%s has no such user", file)
}
