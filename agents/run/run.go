// Package run records runs of supervised work below .ilchul, so that after a
// crash or a week later it is known which workers live, which are kept on
// purpose and which are leaks. The append-only events.jsonl is authoritative;
// all other files are derived from it and rewritten where they are missing. The
// package starts, signals and deletes nothing. Call Init or Open, then Run.State
// and Run.Change; apply.go and rules.go hold the rules.
package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/internal/atomicfile"
)

// Dir is the folder of runs, in a workspace and in a home.
const Dir = ".ilchul"

// maxLease bounds a lease, whatever the config says.
const maxLease = 24 * time.Hour

// Check validates a file of .ilchul against its schema: kind is the file's name
// without .json. Its error names the place.
type Check func(kind, path string, text []byte) error

// Options are the dependencies of Open.
type Options struct {
	Home     string      // the user's; without it there is no ~/.ilchul
	Adapters []string    // known runtimes; "command", "manual" and the seed's claudeCode always are
	Check    Check       // required
	Clock    clock.Clock // nil: the machine's
	unsynced bool        // for tests, which lose no power
}

// Store is the .ilchul of one workspace.
type Store struct {
	Workspace string // absolute, without links
	Path      string // its .ilchul
	opts      Options
	root      *os.Root                    // confines every path: no link leads out of it
	hook      func(op, file string) error // before every change of a file; nil except in tests
	bare      bool                        // of a queue of tasks: a run is its events alone
}

// ErrNoStore reports that neither the folder nor one above it holds runs.
var ErrNoStore = errors.New("no .ilchul here or in a folder above")

// ErrNoRun reports an unknown run.
var ErrNoRun = errors.New("unknown run")

// Find returns the workspace of dir: the nearest folder upwards with an .ilchul.
// The home's .ilchul is the user's root, and no workspace.
func Find(dir, home string) (string, error) {
	dir, err := physical(dir)
	if err != nil {
		return "", err
	}
	if home != "" {
		if real, err := physical(home); err == nil {
			home = real
		}
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, Dir)); err == nil && at != home {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", ErrNoStore
		}
	}
}

func physical(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("folder %s: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("folder %s: %w", dir, err)
	}
	return real, nil
}

// Open opens the runs of a workspace, and changes nothing. It returns ErrNoStore
// where there are none.
func Open(workspace string, o Options) (*Store, error) {
	if o.Check == nil {
		return nil, errors.New("run.Open: no schema")
	}
	if o.Clock == nil {
		o.Clock = clock.Now
	}
	workspace, err := physical(workspace)
	if err != nil {
		return nil, err
	}
	s := &Store{Workspace: workspace, Path: filepath.Join(workspace, Dir), opts: o}
	info, err := os.Lstat(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNoStore
	case err != nil:
		return nil, fmt.Errorf("look at %s: %w", s.Path, err)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder, or is a link: runs must be in the workspace itself; move it away", s.Path)
	}
	if s.root, err = os.OpenRoot(s.Path); err != nil {
		return nil, fmt.Errorf("open %s: %w", s.Path, err)
	}
	return s, nil
}

// Init creates the .ilchul of a workspace or adds what is missing, and opens it.
// Existing files keep their bytes. It returns what it made.
func Init(workspace string, o Options) (s *Store, made []string, err error) {
	workspace, err = physical(workspace)
	if err != nil {
		return nil, nil, err
	}
	if home, err := physical(o.Home); o.Home != "" && err == nil && home == workspace {
		return nil, nil, fmt.Errorf("%s is the home, whose %s holds the user's defaults; run init in a project", workspace, Dir)
	}
	if err := os.Mkdir(filepath.Join(workspace, Dir), 0o700); err == nil {
		made = append(made, Dir+"/")
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, nil, fmt.Errorf("make %s: %w", Dir, err)
	}
	if s, err = Open(workspace, o); err != nil {
		return nil, made, err
	}
	for _, dir := range []string{"runs", "learning", "migrations"} {
		if err := s.root.Mkdir(dir, 0o700); err == nil {
			made = append(made, filepath.Join(Dir, dir)+"/")
		} else if !errors.Is(err, fs.ErrExist) {
			return s, made, fmt.Errorf("make %s: %w", dir, err)
		}
	}
	files, err := s.firstFiles()
	if err != nil {
		return s, made, err
	}
	for _, f := range files {
		if _, err := s.root.Lstat(f.name); err == nil {
			continue
		}
		if err := s.replace(s.root, f.name, f.text, true); err != nil {
			return s, made, err
		}
		made = append(made, filepath.Join(Dir, f.name))
	}
	return s, made, nil
}

// Run is one run of a store. Any number of goroutines and processes may call its
// methods at once.
type Run struct {
	ID    string
	Path  string // its folder
	store *Store
	root  *os.Root
	mu    sync.Mutex
	cache *State // as of this process's last read
}

// Run opens a run; "" is the active one. It returns ErrNoRun if it does not
// exist.
func (s *Store) Run(id string) (*Run, error) {
	if id == "" {
		active, err := s.Active()
		if err != nil {
			return nil, err
		}
		if active == "" {
			return nil, fmt.Errorf("%w: no run is active", ErrNoRun)
		}
		id = active
	}
	if err := CheckID(id); err != nil {
		return nil, err
	}
	root, err := s.root.OpenRoot(filepath.Join("runs", id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoRun, id)
	}
	if err != nil {
		return nil, fmt.Errorf("open run %s: %w", id, err)
	}
	return &Run{ID: id, Path: filepath.Join(s.Path, "runs", id), store: s, root: root}, nil
}

// Runs lists the ids of all runs, sorted; odd are folders with an invalid id.
func (s *Store) Runs() (ids, odd []string, err error) {
	f, err := s.root.Open("runs")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read runs: %w", err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, nil, fmt.Errorf("read runs: %w", err)
	}
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."): // being created, or left by a crash
		case e.IsDir() && CheckID(e.Name()) == nil:
			ids = append(ids, e.Name())
		default:
			odd = append(odd, e.Name())
		}
	}
	slices.Sort(ids)
	slices.Sort(odd)
	return ids, odd, nil
}

// Close releases the run's files. Calling it is optional.
func (r *Run) Close() {
	r.root.Close()
	if r.store.bare { // it was opened for this run
		r.store.root.Close()
	}
}

// Store returns the run's store.
func (r *Run) Store() *Store { return r.store }

// Workspace returns the workspace of the run.
func (r *Run) Workspace() string { return r.store.Workspace }

// Now returns the time of the store's clock.
func (r *Run) Now() clock.Moment { return r.store.opts.Clock() }

var (
	idForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`) })
	nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`) })
)

// CheckID checks the id of a run, which is the name of a folder.
func CheckID(id string) error {
	if !idForm().MatchString(id) {
		return fmt.Errorf("run id %q: want 1 to 64 of a-z, 0-9, dot, underscore and hyphen, the first a letter or digit", id)
	}
	return nil
}

// checkName checks the id of a task or worker.
func checkName(name string) error {
	if !nameForm().MatchString(name) {
		return fmt.Errorf("id %q: want 1 to 128 letters, digits, dots, underscores and hyphens, the first a letter or digit", name)
	}
	return nil
}

// callHook lets tests intervene before every change of a file.
func (s *Store) callHook(op, file string) error {
	if s.hook == nil {
		return nil
	}
	return s.hook(op, file)
}

// replace replaces the content of name in one step. If synced, it survives a
// loss of power; else an older or empty file may be found after one.
func (s *Store) replace(root *os.Root, name string, text []byte, synced bool) error {
	if err := s.callHook("write", name); err != nil {
		return err
	}
	o := s.writing(root, name, synced)
	o.Hook = func() error { return s.callHook("rename", name) }
	if err := atomicfile.Write(name, text, o); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// writing returns the options for writing a file, under a temporary name that
// the next writer reuses if this one is killed.
func (s *Store) writing(root *os.Root, name string, synced bool) atomicfile.Options {
	o := atomicfile.Options{Root: root, Temp: "." + filepath.Base(name) + ".tmp", Survives: atomicfile.Content}
	if !synced || s.opts.unsynced {
		o.Survives = atomicfile.Nothing
	}
	return o
}

// maxFile bounds every file that is read as a whole.
const maxFile = 64 << 20

// read returns a file's content. A missing one is fs.ErrNotExist.
func read(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file", name)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("read %s: larger than %d MB", name, maxFile>>20)
	}
	return text, nil
}
