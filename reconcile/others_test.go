package reconcile_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"aisync.dev/aisync/providers/file"
	. "aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// reads counts which files of the state are read.
type reads struct {
	fsys.FS
	mu     sync.Mutex // record files are read side by side
	files  []string
	opened []*os.File
}

func (r *reads) ReadFile(p fsys.LogicalPath) ([]byte, error) {
	r.note(p)
	return r.FS.ReadFile(p)
}

func (r *reads) Open(p fsys.LogicalPath) (*os.File, error) {
	r.note(p)
	f, err := r.FS.Open(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened = append(r.opened, f)
	return f, err
}

func (r *reads) note(p fsys.LogicalPath) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = append(r.files, string(p))
}

// of returns how many files were read below a folder of the state.
func (r *reads) of(folder string) int {
	return len(slices.DeleteFunc(slices.Clone(r.files), func(p string) bool { return !strings.HasPrefix(p, string(state)+"/"+folder) }))
}

// counted is a session whose store counts what it reads.
func (m *machine) counted() (session, *reads) {
	m.Helper()
	s := m.open()
	r := &reads{FS: s.env.FS}
	store, err := OpenStore(r, state)
	if err != nil {
		m.Fatal(err)
	}
	if m.project != "" {
		store.UseLock(m.owner(), "aisync.lock", nil)
	}
	s.store, s.env.Contents, s.env.Backup = store, store.Contents, store.Backup
	return s, r
}

// projects applies n projects, each with files of its own and a key in a file
// that all of them share, and returns their folders.
func (m *machine) projects(n int) []string {
	m.Helper()
	var dirs []string
	for i := range n {
		m.project = filepath.Join(m.root, fmt.Sprintf("p%d", i))
		m.write("x/", "")
		m.apply(m.trusted(3))
		dirs = append(dirs, m.project)
	}
	return dirs
}

// trusted asks for n files in the project at hand, and for its key in config.
func (m *machine) trusted(n int) Input {
	in := want([]Owner{m.owner()}, key(config, m.owner(), LeafKey("/projects/"+filepath.Base(m.project)), `"trusted"`))
	for i := range n {
		in.Declarations = append(in.Declarations, whole(Address(fmt.Sprintf("file:x/%d", i)), m.owner(), "text"))
	}
	return in
}

func TestPlanReadsNoRecordsOfOtherProjects(t *testing.T) {
	m := newMachine(t)
	m.project = m.projects(12)[5]
	s, r := m.counted()
	p := m.plan(s, m.trusted(3))
	if len(p.Changes) != 4 || slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Action != None }) {
		t.Errorf("planned %v", p.Changes)
	}
	if n := r.of("records/"); n != 1 {
		t.Errorf("read %d record files beside 11 other projects, want its own:\n%s", n, strings.Join(r.files, "\n"))
	}
	i := slices.IndexFunc(p.Changes, func(c Change) bool { return c.Target.Resource.Address == config })
	if n := len(p.Changes[i].Target.Others); n != 11 {
		t.Errorf("%d keys of %s are known to be others', want 11", n, config)
	}
}

func TestApplyReadsNoRecordsOfOtherProjects(t *testing.T) {
	m := newMachine(t)
	m.project = m.projects(12)[5]
	s, r := m.counted()
	p := m.plan(s, m.trusted(4))
	if _, err := s.engine.Apply(t.Context(), s.env, s.store, p, s.opt); err != nil {
		t.Fatal(err)
	}
	if n := r.of("records/"); n != 1 {
		t.Errorf("read %d record files:\n%s", n, strings.Join(r.files, "\n"))
	}
}

func TestContentsAsksOwnTextsFirstAndKeepsNoOthersOpen(t *testing.T) {
	m := newMachine(t)
	dirs := m.projects(12)
	m.project = dirs[3]
	m.apply(want([]Owner{m.owner()}, whole("file:x/own", m.owner(), "of p3 alone")))
	own := file.Whole([]byte("of p3 alone"), 0o644).Fingerprint()
	s, r := m.counted()
	s.store.Records(m.owner())
	if b, ok := s.store.Contents(own); !ok || string(b) != "of p3 alone" {
		t.Errorf("%q, %v", b, ok)
	}
	for _, p := range r.files {
		if strings.Contains(p, "/contents/") && p != r.files[len(r.files)-1] {
			t.Errorf("opened %s", p)
		}
	}
	m.project = dirs[5]
	s, r = m.counted()
	if b, ok := s.store.Contents(own); !ok || string(b) != "of p3 alone" {
		t.Errorf("what another project wrote: %q, %v", b, ok)
	}
	if _, ok := s.store.Contents("sha256:0"); ok || r.of("contents/") != 13 {
		t.Errorf("%v, %d opened, want each of 12 once and one again", ok, r.of("contents/"))
	}
	open := 0
	for _, f := range r.opened {
		if _, err := f.Stat(); err == nil {
			open++
		}
	}
	if open != 1 {
		t.Errorf("%d files are held open, want the one that was read", open)
	}
}

func TestKeyOfAProjectGoesAloneFromASharedFile(t *testing.T) {
	m := newMachine(t)
	dirs := m.projects(3)
	m.project = dirs[1]
	m.apply(want([]Owner{m.owner()}))
	got := m.read("~/.codex/config.toml")
	if strings.Contains(got, "p1") || !strings.Contains(got, "p0") || !strings.Contains(got, "p2") {
		t.Errorf("after p1 let go:\n%s", got)
	}
	for _, m.project = range []string{dirs[0], dirs[2]} {
		m.apply(want([]Owner{m.owner()}))
	}
	if got := m.read("~/.codex/config.toml"); got != "" {
		t.Errorf("after all let go:\n%s", got)
	}
}

func TestRecordIndexIsOnlyACache(t *testing.T) {
	at := func(m *machine) string { return filepath.Join(m.root, string(state), "records.index") }
	rewrite := func(m *machine, old, new string) {
		b, err := os.ReadFile(at(m))
		if err != nil {
			m.Fatal(err)
		}
		if err := os.WriteFile(at(m), []byte(strings.Replace(string(b), old, new, 1)), 0o600); err != nil {
			m.Fatal(err)
		}
	}
	for name, damage := range map[string]func(m *machine){
		"as an older version leaves it": func(m *machine) { _ = os.Remove(at(m)) },
		"empty":                         func(m *machine) { _ = os.Truncate(at(m), 0) },
		"cut":                           func(m *machine) { _ = os.Truncate(at(m), 400) },
		"of a newer version":            func(m *machine) { rewrite(m, `"format_version":1`, `"format_version":2`) },
		"with other words":              func(m *machine) { rewrite(m, "p1", "p9") },
		"a folder":                      func(m *machine) { _ = os.Remove(at(m)); _ = os.Mkdir(at(m), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.project = m.projects(3)[1]
			damage(m)
			s, _ := m.counted()
			if on := s.store.On(config); len(on) != 3 {
				t.Errorf("%d owners of %s are known, want 3", len(on), config)
			}
			if name == "a folder" {
				return
			}
			m.apply(m.trusted(3))
			if _, r := m.counted(); r.of("records/") != 0 {
				t.Errorf("after the next apply %d record files are read", r.of("records/"))
			}
		})
	}
}

func TestRecordFileThatChangedBehindTheIndexIsRead(t *testing.T) {
	m := newMachine(t)
	dirs := m.projects(3)
	m.project = dirs[0]
	_, r := m.counted()
	files, err := filepath.Glob(filepath.Join(m.root, string(state), "records/*.json"))
	if err != nil || len(files) != 3 || r.of("records/") != 0 {
		t.Fatalf("%v: %v, %d read", files, err, r.of("records/"))
	}
	for _, p := range files { // another version of aisync lets go of the key of p2
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		var f map[string]any
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		if f["owner"] != "project:"+dirs[2] {
			continue
		}
		f["records"] = []any{}
		if b, err = json.Marshal(f); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := m.counted()
	if on := s.store.On(config); len(on) != 2 {
		t.Errorf("%d owners of %s are known, want 2", len(on), config)
	}
}

// What is known by the index is what is known without it, whatever several
// owners do with what they share.
func TestRecordIndexSaysWhatTheRecordsSay(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := newMachine(t)
		shared := []Address{config, "file:~/whole", "file:~/.claude.json"}
		for range 12 {
			m.project = filepath.Join(m.root, fmt.Sprintf("p%d", r.IntN(4)))
			m.write("x/", "")
			in := want([]Owner{m.owner()}, whole("file:x/1", m.owner(), fmt.Sprint(r.IntN(3))))
			if r.IntN(4) == 0 {
				in.Owners[0] = HostOwner
				in.Declarations = nil
			}
			o := in.Owners[0]
			for _, a := range shared[:r.IntN(4)] {
				if a == "file:~/whole" {
					in.Declarations = append(in.Declarations, whole(a, o, "same"))
					continue
				}
				in.Declarations = append(in.Declarations, key(a, o, LeafKey(fmt.Sprintf("/k%d", r.IntN(3))), fmt.Sprint(1)))
			}
			if _, _, err := m.try(with(in, Choice{Adopt: true})); err != nil {
				t.Fatal(err)
			}
			by := m.open().store
			index := filepath.Join(m.root, string(state), "records.index")
			kept, err := os.ReadFile(index)
			if err != nil {
				continue // nothing is on record yet
			}
			if err := os.Remove(index); err != nil {
				t.Fatal(err)
			}
			without := m.open().store
			if err := os.WriteFile(index, kept, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, a := range append(shared, "file:x/1") {
				if x, y := by.On(a), without.On(a); !reflect.DeepEqual(x, y) {
					t.Fatalf("seed %d: on %s\n%+v\nwithout the index\n%+v", seed, a, x, y)
				}
			}
		}
	}
}
