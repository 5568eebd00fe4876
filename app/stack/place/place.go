// Package place finds the places of one invocation: the person's home, the
// folder of host specs, aisync's state and cache, the project. It reads the
// disk and writes nothing. Call Find first.
package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/reconcile/fsys"
)

// SpecFile is the spec that makes a folder a project.
const SpecFile = "aisync.cue"

// LockFile is the file of pins beside a spec.
const LockFile = "aisync.lock"

// Nowhere stands for a home that does not exist: it is empty, and nothing is
// ever written there.
const Nowhere = "/nonexistent"

// Places are the places of one invocation.
type Places struct {
	Root         string           // physical, "" is /
	NewRoot      bool             // Root does not exist yet: an empty machine, until an apply makes it
	Home         fsys.LogicalPath // the person's
	Config       string           // physical folder of the host specs
	ConfigHome   fsys.LogicalPath // that folder, if Options name none
	Configured   bool             // Options name it
	State, Cache fsys.LogicalPath // folders of aisync
	Project      string           // physical folder of the project, "" outside one
	From         string           // folder of the nested spec that the project was found by, "" if by its own
	Refused      error            // why the project here must not be used; then Project is ""
	UID, GID     int
	Chown        bool // files belong to UID and GID, not to this process's user
	Hook         fsys.Hook

	// Owned refuses files below a project that belong to another user.
	Owned func(project string, files ...string) error
}

// Options are the places that a person or a command names.
type Options struct {
	Cwd  string // the working folder
	Env  environ.Env
	Root string // root of the host; it may not exist yet
	User string // a user of the root's passwd; "" the one who runs aisync
	// Config is the folder of the host specs, Project that of the project; ""
	// searches for them.
	Config, Project string
	// ProjectOnly is for a command without need of a home: one that is not set,
	// or not readable, counts as empty.
	ProjectOnly bool
	// AnyOwner is for a command that only reads a project that the person
	// named: its files may belong to another user.
	AnyOwner bool
	// Safe lists the folders of git's safe.directory.
	Safe func() []string
	Hook fsys.Hook
}

// InputError is an error in a place that Options name.
type InputError struct {
	Input string // "root", "config", "project", or "user NAME"
	Err   error
}

// Error begins with the input.
func (e *InputError) Error() string { return e.Input + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// ErrNoHome means that no home was found; Options.User names one.
var ErrNoHome = errors.New("HOME is not set to an absolute path")

// ForeignHomeError means that root would write into another user's home;
// Options.User names that user.
type ForeignHomeError struct {
	Home string
	UID  uint32
}

// Error names the home and its owner.
func (e *ForeignHomeError) Error() string {
	return fmt.Sprintf("this is root in another user's home: %s belongs to user id %d, and would get files that user cannot change", e.Home, e.UID)
}

// Find finds all places. If the project here must not be used, the error is
// also in Refused, and the other places are valid.
func Find(o Options) (Places, error) {
	p := Places{Hook: o.Hook}
	var err error
	if o.Root != "" {
		p.Root, err = ExistingFolder(o.Cwd, o.Root)
		if errors.Is(err, fs.ErrNotExist) {
			p.Root, p.NewRoot, err = Absolute(o.Cwd, o.Root), true, nil
		}
		if err != nil {
			return p, &InputError{"root", err}
		}
	}
	if p.Root == "/" {
		p.Root = ""
	}
	if err := p.findHome(o); err != nil {
		return p, err
	}
	own := o.User == "" // the environment describes this user's folders, not another's
	p.ownFolders(o.Env, own)
	if o.ProjectOnly && (p.closed(p.State) || p.closed(p.ConfigHome)) {
		p.Home = Nowhere
		p.ownFolders(environ.Env{}, own)
	}
	if o.Config != "" {
		p.Configured = true
		if p.Config, err = ExistingFolder(o.Cwd, o.Config); err != nil {
			return p, &InputError{"config", err}
		}
	}
	p.Owned = p.owned(o)
	var nested *NestedError
	if p.Project, p.From, err = Project(o.Cwd, o.Project); errors.As(err, &nested) {
		p.Refused = err
	} else if err == nil && p.Project != "" {
		if err = p.CheckOwner(o); err != nil {
			p.Project, p.Refused = "", err
		}
	}
	return p, err
}

// FSOptions are the options of package fsys for these paths. The tag becomes
// part of the names of temp files.
func (p Places) FSOptions(tag string) fsys.Options {
	return fsys.Options{Root: p.Root, Home: p.Home, Project: p.Project, Tag: tag, Hook: p.Hook, UID: p.UID, GID: p.GID, Chown: p.Chown}
}

// Physical is the place of a host path on this machine, links not resolved: for
// messages and for packages that read plain folders.
func (p Places) Physical(l fsys.LogicalPath) string {
	if l.Project() {
		return filepath.Join(p.Project, string(l))
	}
	return filepath.Join(p.Root, string(l))
}

// Expand is the physical path of ~/PATH or /PATH in a host's spec.
func (p Places) Expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return p.Physical(p.Home.Join(rest))
	}
	return path
}

// StateFile is a file of aisync's state.
func (p Places) StateFile(name string) fsys.LogicalPath { return p.State.Join(name) }

// Short is a physical path as a person would type it from cwd or home.
func (p Places) Short(cwd, path string) string {
	best := path
	if rel, err := filepath.Rel(cwd, path); err == nil && len(rel) < len(best) {
		best = rel
	}
	if rel, err := filepath.Rel(p.Physical(p.Home), path); err == nil && !strings.HasPrefix(rel, "..") && len(rel)+2 < len(best) {
		best = "~/" + rel
	}
	return best
}

// Anywhere is a physical path as a person would type it in any folder.
func (p Places) Anywhere(path string) string {
	if p.Root != "" || p.Chown {
		return path
	}
	if rel, err := filepath.Rel(string(p.Home), path); err == nil && filepath.IsLocal(rel) {
		return "~/" + rel
	}
	return path
}

// UserName is the name of the home's user, "" for root; named is the one that
// Options name.
func (p Places) UserName(named string) string {
	if named != "" {
		return named
	}
	uid := os.Getuid()
	if uid == 0 {
		return ""
	}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}

// ownFolders sets aisync's folders from home and the environment.
func (p *Places) ownFolders(e environ.Env, own bool) {
	p.State = p.xdg(e, own, "XDG_STATE_HOME", ".local/state").Join("aisync")
	p.Cache = p.xdg(e, own, "XDG_CACHE_HOME", ".cache").Join("aisync")
	p.ConfigHome = p.xdg(e, own, "XDG_CONFIG_HOME", ".config").Join("aisync")
	p.Config = p.Physical(p.ConfigHome)
}

// closed reports whether this user must not read dir.
func (p Places) closed(dir fsys.LogicalPath) bool {
	_, err := os.ReadDir(p.Physical(dir))
	return errors.Is(err, fs.ErrPermission)
}

func (p Places) xdg(e environ.Env, own bool, name, fallback string) fsys.LogicalPath {
	if dir := e.Get(name); own && filepath.IsAbs(dir) {
		return fsys.LogicalPath(filepath.Clean(dir))
	}
	return p.Home.Join(fallback)
}
