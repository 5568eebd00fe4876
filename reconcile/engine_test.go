package reconcile_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/dir"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/link"
	. "aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

const (
	home  fsys.LogicalPath = "/home/me"
	state fsys.LogicalPath = "/state"
)

// machine is a home and projects in temporary folders.
type machine struct {
	*testing.T
	root    string
	project string // folder of the project at hand, "" outside of one
	head    string // folder with what git's HEAD holds of it, "" without git
	hook    fsys.Hook
	applies int
}

func newMachine(t *testing.T) *machine {
	m := &machine{T: t, root: tempDir(t)}
	m.write("~/", "")
	return m
}

// tempDir is in memory where there is such a place: the tests sync thousands
// of times, and are not about a loss of power.
func tempDir(t *testing.T) string {
	d, err := os.MkdirTemp("/dev/shm", "reconcile-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(d) })
	return d
}

// at is where a name (~/x, or x in the project) lies.
func (m *machine) at(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(m.root, string(home), rest)
	}
	return filepath.Join(m.project, name)
}

func (m *machine) write(name, text string) {
	m.Helper()
	p := m.at(name)
	err := os.MkdirAll(filepath.Dir(p), 0o755)
	if strings.HasSuffix(name, "/") {
		err = os.MkdirAll(p, 0o755)
	} else if err == nil {
		err = os.WriteFile(p, []byte(text), 0o644)
	}
	if err != nil {
		m.Fatal(err)
	}
}

// read returns a file's text, a link as "-> target", and "" for nothing.
func (m *machine) read(name string) string {
	if to, err := os.Readlink(m.at(name)); err == nil {
		return "-> " + to
	}
	b, _ := os.ReadFile(m.at(name))
	return string(b)
}

// session is what one command has in its hands.
type session struct {
	engine Engine
	store  *Store
	env    WriteEnv
	id     string
	opt    ApplyOptions
}

func (m *machine) open() session {
	m.Helper()
	m.applies++
	id := fmt.Sprintf("apply%04d", m.applies)
	disk, err := fsys.New(fsys.Options{Root: m.root, Home: home, Project: m.project, Tag: id, Hook: m.hook})
	if err != nil {
		m.Fatal(err)
	}
	store, err := OpenStore(disk, state)
	if err != nil {
		m.Fatal(err)
	}
	if m.project != "" {
		var lock *Lock
		if b, err := disk.ReadFile("aisync.lock"); err == nil {
			if lock, err = ParseLock("aisync.lock", b); err != nil {
				m.Fatal(err)
			}
		}
		store.UseLock(m.owner(), "aisync.lock", lock)
	}
	now := func() time.Time { return time.Unix(1e9, 0) }
	return session{
		engine: Engine{Providers: []Provider{file.Provider{}, link.Provider{}, dir.Provider{}}},
		store:  store, id: id,
		env: WriteEnv{FS: disk, ReadEnv: ReadEnv{FS: disk, Home: home, Contents: store.Contents, Backup: store.Backup, Head: m.atHead, Clock: now}},
		opt: ApplyOptions{ID: id, Command: "test"},
	}
}

// atHead is ReadEnv.Head.
func (m *machine) atHead(p fsys.LogicalPath) ([]byte, bool) {
	if m.head == "" {
		return nil, false
	}
	at := filepath.Join(m.head, string(p))
	if to, err := os.Readlink(at); err == nil {
		return []byte(to), true
	}
	b, err := os.ReadFile(at)
	return b, err == nil
}

// owner owns what the project at hand declares.
func (m *machine) owner() Owner { return ProjectOwner(m.project) }

// plan is what one command plans of decls for owners.
func (m *machine) plan(s session, in Input) *Plan {
	m.Helper()
	p, err := s.engine.Plan(m.Context(), s.env.ReadEnv, s.store, in)
	if err != nil {
		m.Fatal(err)
	}
	return p
}

// try is one whole command: recover, plan, apply.
func (m *machine) try(in Input, more ...func(*ApplyOptions)) (*Plan, Result, error) {
	m.Helper()
	s := m.open()
	if _, err := s.engine.Recover(m.Context(), s.env, s.store); err != nil {
		return nil, Result{}, fmt.Errorf("recover: %w", err)
	}
	for _, f := range more {
		f(&s.opt)
	}
	p := m.plan(s, in)
	res, err := s.engine.Apply(m.Context(), s.env, s.store, p, s.opt)
	if err == nil && len(res.Failed) > 0 {
		err = res.Failed[0].Err
	}
	return p, res, err
}

// apply is a command that must succeed.
func (m *machine) apply(in Input, more ...func(*ApplyOptions)) *Plan {
	m.Helper()
	p, _, err := m.try(in, more...)
	if err != nil {
		m.Fatal(err)
	}
	return p
}

// undo is a rollback of the apply id, the last one where that is "".
func (m *machine) undo(id string, c Choice) error {
	m.Helper()
	s := m.open()
	if _, err := s.engine.Recover(m.Context(), s.env, s.store); err != nil {
		return err
	}
	p, entry, err := s.engine.RollbackPlan(m.Context(), s.env.ReadEnv, s.store, id, c)
	if err != nil {
		return err
	}
	s.opt.RollbackOf = entry.ID
	res, err := s.engine.Apply(m.Context(), s.env, s.store, p, s.opt)
	if err == nil && len(res.Failed) > 0 {
		err = res.Failed[0].Err
	}
	return err
}

// settled checks that in asks for nothing more, and that an apply of it does
// not touch the file system at all.
func (m *machine) settled(in Input) {
	m.Helper()
	hook, ops := fsys.CountOps()
	m.hook = hook
	p := m.apply(in)
	m.hook = nil
	for _, c := range p.Changes {
		if c.Action != None {
			m.Errorf("still %s %s: %s", c.Action, c.Target.Resource.Address, c.Meaning())
		}
	}
	if ops.Load() != 0 {
		m.Errorf("the second apply wrote %d times", ops.Load())
	}
}

// tree is everything in home and project but the lock, with modes.
func (m *machine) tree() string {
	m.Helper()
	var out strings.Builder
	for _, base := range []string{m.at("~/"), m.project} {
		if base == "" {
			continue
		}
		err := filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() == "aisync.lock" {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%s %s", strings.TrimPrefix(p, base), info.Mode())
			if to, err := os.Readlink(p); err == nil {
				fmt.Fprintf(&out, " -> %s", to)
			} else if b, err := os.ReadFile(p); err == nil {
				fmt.Fprintf(&out, " %q", b)
			}
			out.WriteByte('\n')
			return nil
		})
		if err != nil {
			m.Fatal(err)
		}
	}
	return out.String()
}

func whole(a Address, o Owner, text string) Declaration {
	return Declaration{Target: a, Owner: o, Leaves: []Leaf{{Body: file.Whole([]byte(text), 0o644), Origin: []Position{{File: "a.cue", Line: 1}}}}}
}

func key(a Address, o Owner, k LeafKey, json string) Declaration {
	return Declaration{Target: a, Owner: o, Leaves: []Leaf{{Key: k, Own: Member, Body: file.Value(merge.Value(json))}}}
}

func line(a Address, o Owner, text string) Declaration {
	return Declaration{Target: a, Owner: o, Leaves: []Leaf{{Key: LeafKey(merge.LineKey(text)), Own: Member, Body: file.Line("")}}}
}

func linked(a Address, o Owner, to string) Declaration {
	return Declaration{Target: a, Owner: o, Leaves: []Leaf{{Body: link.To(to)}}}
}

func folder(a Address, o Owner) Declaration {
	return Declaration{Target: a, Owner: o, Leaves: []Leaf{{Body: dir.Folder()}}}
}

// want is the input of a plan of owners' declarations.
func want(owners []Owner, decls ...Declaration) Input {
	return Input{Owners: owners, Declarations: decls}
}

// with is in, under a choice.
func with(in Input, c Choice) Input { in.Choice = c; return in }

var host = []Owner{HostOwner}

// ignoresX is a git that does not carry what lies below x.
func ignoresX(_ context.Context, paths []fsys.LogicalPath) map[fsys.LogicalPath]bool {
	out := map[fsys.LogicalPath]bool{}
	for _, p := range paths {
		out[p] = strings.HasPrefix(string(p), "x/")
	}
	return out
}
