package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"aisync.dev/aisync/reconcile/fsys"
)

// projectFile is the spec that makes a folder a project.
const projectFile = "aisync.cue"

// places says where everything of one invocation lies.
type places struct {
	root         string           // physical, "" is /
	newRoot      bool             // root is not there yet: an empty machine, until an apply makes it
	home         fsys.LogicalPath // the person's
	config       string           // physical folder of the host specs
	configHome   fsys.LogicalPath // where that folder lies without --config
	configured   bool             // it was named by --config
	state, cache fsys.LogicalPath // aisync's own folders
	project      string           // physical folder of the project, "" outside one
	refused      error            // why the project here may not be used; then there is none
	uid, gid     int
	chown        bool // files belong to uid and gid, not to us
	gate         gate
}

// fsOptions are what package fsys needs to make these paths physical. The tag
// is part of the names of temp files.
func (p places) fsOptions(tag string) fsys.Options {
	return fsys.Options{Root: p.root, Home: p.home, Project: p.project, Tag: tag, Hook: fsys.Hook(p.gate), UID: p.uid, GID: p.gid, Chown: p.chown}
}

// physical is where a host path lies on this machine, links not resolved: for
// messages and for packages that take plain folders to read.
func (p places) physical(l fsys.LogicalPath) string {
	if l.Project() {
		return filepath.Join(p.project, string(l))
	}
	return filepath.Join(p.root, string(l))
}

// stateFile is a file of aisync's own state.
func (p places) stateFile(name string) fsys.LogicalPath { return p.state.Join(name) }

// places finds everything from the flags, the environment and the folders
// above this one. A project that may not be used is an error; see hostPlaces. It reads the root's passwd where --user asks for it.
func (a *app) places() (places, error) {
	p := places{gate: a.gate}
	cwd, err := a.cwd()
	if err != nil {
		return p, err
	}
	if a.g.root != "" {
		p.root, err = existingFolder(cwd, a.g.root)
		if errors.Is(err, fs.ErrNotExist) {
			p.root, p.newRoot, err = absolute(cwd, a.g.root), true, nil
		}
		if err != nil {
			return p, fmt.Errorf("--root: %w", err)
		}
	}
	if p.root == "/" {
		p.root = ""
	}
	if err := a.findHome(&p); err != nil {
		return p, err
	}
	own := a.g.user == "" // another user's folders are not ours to redirect
	p.ownFolders(a.env, own)
	if a.homeless && (p.closed(p.state) || p.closed(p.configHome)) {
		p.home = nowhere
		p.ownFolders(env{}, own)
	}
	if a.g.config != "" {
		p.configured = true
		if p.config, err = existingFolder(cwd, a.g.config); err != nil {
			return p, fmt.Errorf("--config: %w", err)
		}
	}
	if p.project, err = a.findProject(cwd); err == nil && p.project != "" {
		if err = a.trustedProject(p, p.project); err != nil {
			p.project, p.refused = "", err
		}
	}
	return p, err
}

// ownFolders sets aisync's own folders, from home and the environment.
func (p *places) ownFolders(e env, own bool) {
	p.state = p.xdg(e, own, "XDG_STATE_HOME", ".local/state").Join("aisync")
	p.cache = p.xdg(e, own, "XDG_CACHE_HOME", ".cache").Join("aisync")
	p.configHome = p.xdg(e, own, "XDG_CONFIG_HOME", ".config").Join("aisync")
	p.config = p.physical(p.configHome)
}

// closed reports whether dir is somebody else's, whom this user may not look at.
func (p places) closed(dir fsys.LogicalPath) bool {
	_, err := os.ReadDir(p.physical(dir))
	return errors.Is(err, fs.ErrPermission)
}

func (p places) xdg(e env, own bool, name, fallback string) fsys.LogicalPath {
	if dir := e.get(name); own && filepath.IsAbs(dir) {
		return fsys.LogicalPath(filepath.Clean(dir))
	}
	return p.home.Join(fallback)
}

// cwd is the folder the person stands in.
func (a *app) cwd() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working folder: %w", err)
	}
	return dir, nil
}

// findHome sets home and whose files are written.
func (a *app) findHome(p *places) error {
	if a.g.user != "" {
		return p.lookUp(a.g.user)
	}
	home := a.env.get("HOME")
	if a.homeless && !filepath.IsAbs(home) {
		home = nowhere
	}
	if !filepath.IsAbs(home) {
		return errors.New("HOME is not set to an absolute path; set it, or name a user: --user NAME")
	}
	p.home = fsys.LogicalPath(filepath.Clean(home))
	if os.Geteuid() != 0 || a.homeless {
		return nil
	}
	info, err := os.Stat(p.physical(p.home))
	if err != nil {
		return nil // made by the first apply, and root's then
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
		return fmt.Errorf("this is root in somebody else's home: %s belongs to user id %d, and would get files they cannot change; name the user: --user NAME", p.physical(p.home), st.Uid)
	}
	return nil
}

// lookUp reads home and ids of user from the root's own passwd.
func (p *places) lookUp(user string) error {
	file := filepath.Join(p.root, "/etc/passwd")
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("--user %s: %w", user, err)
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
			return fmt.Errorf("--user %s: the line in %s has no ids or no absolute home", user, file)
		}
		p.home, p.uid, p.gid = fsys.LogicalPath(filepath.Clean(field[5])), uid, gid
		p.chown = os.Geteuid() == 0
		if !p.chown && os.Geteuid() != uid {
			return fmt.Errorf("--user %s: only root may write files of another user", user)
		}
		return nil
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("--user %s: read %s: %w", user, file, err)
	}
	return fmt.Errorf("--user %s: %s has no such user", user, file)
}

// findProject returns --project, or the nearest folder upwards with an aisync.cue.
func (a *app) findProject(cwd string) (string, error) {
	if a.g.project != "" {
		dir, err := existingFolder(cwd, a.g.project)
		if err != nil {
			return "", fmt.Errorf("--project: %w", err)
		}
		if _, err := os.Stat(filepath.Join(dir, projectFile)); err != nil {
			return "", fmt.Errorf("--project: %s has no %s", dir, projectFile)
		}
		return dir, nil
	}
	dir, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, projectFile)); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", nil
		}
		dir = up
	}
}

// nowhere stands for a home that nobody has: nothing is there, and nothing is
// ever written there.
const nowhere = "/nonexistent"

// existingFolder makes dir absolute, with links resolved, so that one folder
// has one name.
func existingFolder(cwd, dir string) (string, error) {
	dir = absolute(cwd, dir)
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", missing(dir)
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(resolved)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	return resolved, err
}

func absolute(cwd, dir string) string {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(cwd, dir)
	}
	return filepath.Clean(dir)
}

// missing is a folder that somebody named and that is not there.
type missing string

func (m missing) Error() string        { return string(m) + " is not there" }
func (m missing) Is(target error) bool { return target == fs.ErrNotExist }

// short shows a physical path as a person would type it from cwd or home.
func (p places) short(cwd, path string) string {
	best := path
	if rel, err := filepath.Rel(cwd, path); err == nil && len(rel) < len(best) {
		best = rel
	}
	if rel, err := filepath.Rel(p.physical(p.home), path); err == nil && !strings.HasPrefix(rel, "..") && len(rel)+2 < len(best) {
		best = "~/" + rel
	}
	return best
}
