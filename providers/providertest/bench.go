package providertest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

const (
	home     fsys.LogicalPath = "/home/me"
	stateDir fsys.LogicalPath = "/home/me/.local/state/aisync"
	lockFile fsys.LogicalPath = "aisync.lock"
)

// Bench is a machine with a home and a project, both in temporary folders.
type Bench struct {
	Suite
	Root    string // physical folder that stands for /
	Project string // physical folder of the project
	applies int
	now     time.Time // of all applies: two calls of one change note the same
}

// NewBench makes an empty machine.
func NewBench(t *testing.T, s Suite) *Bench {
	t.Helper()
	b := &Bench{Suite: s, Root: tempDir(t), Project: tempDir(t), now: time.Now()}
	if err := os.MkdirAll(filepath.Join(b.Root, string(home)), 0o755); err != nil {
		t.Fatal(err)
	}
	if s.Prepare != nil {
		s.Prepare(t, b)
	}
	return b
}

// tempDir is t.TempDir in memory, if possible: the cases sync thousands of
// times, and do not test a loss of power.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "providertest-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Path is the physical path of the suite's address.
func (b *Bench) Path() string {
	p := b.Address.Path(home)
	if p.Project() {
		return filepath.Join(b.Project, string(p))
	}
	return filepath.Join(b.Root, string(p))
}

// Home is the logical path of ~.
func (b *Bench) Home() fsys.LogicalPath { return home }

func (b *Bench) inProject() bool { return b.Suite.Project || b.Address.InProject() }

func (b *Bench) owner() reconcile.Owner {
	if b.inProject() {
		return reconcile.ProjectOwner(b.Project)
	}
	return reconcile.HostOwner
}

// session is what one command works with.
type session struct {
	engine reconcile.Engine
	store  *reconcile.Store
	env    reconcile.WriteEnv
	id     string
}

// open starts a command; hook sees its writes.
func (b *Bench) open(t *testing.T, hook fsys.Hook) session {
	t.Helper()
	b.applies++
	id := fmt.Sprintf("apply%04d", b.applies) // ids sort by time
	disk, err := fsys.New(fsys.Options{Root: b.Root, Home: home, Project: b.Project, Tag: id, Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	store, err := reconcile.OpenStore(disk, stateDir)
	if err != nil {
		t.Fatal(err)
	}
	if b.inProject() {
		var lock *reconcile.Lock
		if text, err := disk.ReadFile(lockFile); err == nil {
			if lock, err = reconcile.ParseLock(string(lockFile), text); err != nil {
				t.Fatal(err)
			}
		}
		store.UseLock(b.owner(), lockFile, lock)
	}
	read := reconcile.ReadEnv{FS: disk, Home: home, Run: b.Suite.Run, Contents: store.Contents, Backup: store.Backup, Clock: func() time.Time { return b.now }}
	return session{
		engine: reconcile.Engine{Providers: []reconcile.Provider{b.Provider}},
		store:  store,
		env:    reconcile.WriteEnv{ReadEnv: read, FS: disk, Fetch: b.Fetch},
		id:     id,
	}
}

// plan plans want, one of the names; "" wants nothing.
func (b *Bench) plan(t *testing.T, s session, want string, c reconcile.Choice) *reconcile.Plan {
	t.Helper()
	in := reconcile.Input{Owners: []reconcile.Owner{b.owner()}, Choice: c}
	if want != "" {
		in.Declarations = []reconcile.Declaration{{Target: b.Address, Owner: b.owner(), Format: b.Format, Leaves: b.Want(b, want), Local: b.Suite.Project}}
	}
	p, err := s.engine.Plan(t.Context(), s.env.ReadEnv, s.store, in)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	if len(p.Conflicts) > 0 || len(p.Unsupported) > 0 {
		t.Fatalf("plan: %+v %+v", p.Conflicts, p.Unsupported)
	}
	return p
}

// apply plans and applies as one command, and recovers first if necessary.
func (b *Bench) apply(t *testing.T, want string, c reconcile.Choice, hook fsys.Hook) (*reconcile.Plan, error) {
	t.Helper()
	s := b.open(t, hook)
	if s.store.Unfinished() {
		if _, err := s.engine.Recover(t.Context(), s.env, s.store); err != nil {
			return nil, fmt.Errorf("recover: %w", err)
		}
	}
	p := b.plan(t, s, want, c)
	return p, b.run(t.Context(), s, p, "")
}

func (b *Bench) run(ctx context.Context, s session, p *reconcile.Plan, rollbackOf string) error {
	res, err := s.engine.Apply(ctx, s.env, s.store, p, reconcile.ApplyOptions{ID: s.id, Command: "test", RollbackOf: rollbackOf})
	if err == nil && len(res.Failed) > 0 {
		err = res.Failed[0].Err
	}
	return err
}

// must is apply for a case that cannot fail.
func (b *Bench) must(t *testing.T, want string, c reconcile.Choice) *reconcile.Plan {
	t.Helper()
	p, err := b.apply(t, want, c, nil)
	if err != nil {
		t.Fatalf("apply %q: %v", want, err)
	}
	return p
}

// records are the records of the suite's address.
func (b *Bench) records(t *testing.T) []reconcile.Record {
	t.Helper()
	return b.open(t, nil).store.On(b.Address)
}

// snapshot is everything but aisync's own files, with modes.
func (b *Bench) snapshot(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, base := range []string{b.Root, b.Project} {
		err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(base, path)
			switch {
			case slices.Contains(b.Kept, rel) && base == b.Root:
				return filepath.SkipDir
			case "/"+rel == "/home/me/.local", rel == string(lockFile):
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			case strings.HasPrefix(rel, ".git/") && rel != ".git/config":
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%s %s", rel, info.Mode())
			switch {
			case info.Mode()&fs.ModeSymlink != 0:
				to, _ := os.Readlink(path)
				fmt.Fprintf(&out, " -> %s", to)
			case info.Mode().IsRegular():
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				fmt.Fprintf(&out, " %q", text)
			}
			out.WriteByte('\n')
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// bookkeeping reports whether a physical path is one of the engine's own files.
func (b *Bench) bookkeeping(path string) bool {
	own := filepath.Join(b.Root, string(stateDir))
	return strings.HasPrefix(path, own) || strings.HasPrefix(own, path) || strings.Contains(filepath.Base(path), string(lockFile))
}
