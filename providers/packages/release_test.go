package packages

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// entry is one file of an archive; a link where to is set.
type entry struct {
	name, text string
	mode       int64
	to         string
}

// server is what a release of llama.cpp holds, as far as it matters.
func server(says string) []entry {
	return []entry{
		{name: "llama/", mode: 0o755},
		{name: "llama/libx.so.1", text: "a library", mode: 0o644},
		{name: "llama/libx.so", to: "libx.so.1"},
		{name: "llama/llama-server", text: "#!/bin/sh\necho " + says + "\n", mode: 0o755},
		{name: "llama/share/doc/llama-server", text: "a page", mode: 0o644},
	}
}

func tarball(t *testing.T, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.text)), Typeflag: tar.TypeReg}
		switch {
		case e.to != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.to
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		must(t, w.WriteHeader(h))
		_, err := w.Write([]byte(e.text))
		must(t, err)
	}
	must(t, w.Close())
	must(t, z.Close())
	return b.Bytes()
}

// shelf is a server on loopback with files; it breaks off after some bytes
// where a test says so.
type shelf struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte
	cut   int // bytes after which nothing more is sent; 0: none
	sent  int // bytes
}

func newShelf(t *testing.T) *shelf {
	s := &shelf{files: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		b := s.files[r.URL.Path]
		s.mu.Unlock()
		if b == nil {
			http.NotFound(w, r)
			return
		}
		sum := sha256.Sum256(b)
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:4])+`"`)
		http.ServeContent(&short{w, s}, r, "", time.Time{}, bytes.NewReader(b))
	}))
	t.Cleanup(s.Close)
	return s
}

// short breaks connections off.
type short struct {
	http.ResponseWriter
	s *shelf
}

func (w *short) Write(b []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	n := len(b)
	if w.s.cut > 0 {
		n = max(0, min(n, w.s.cut-w.s.sent))
	}
	n, err := w.ResponseWriter.Write(b[:n])
	w.s.sent += n
	if n < len(b) {
		panic(http.ErrAbortHandler)
	}
	return n, err
}

func (s *shelf) put(name string, b []byte) Archive {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files["/"+name] = b
	sum := sha256.Sum256(b)
	return Archive{URL: s.URL + "/" + name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(b))}
}

type fetcher struct{ *fetch.Client }

func (f fetcher) Fetch(ctx context.Context, disk fsys.FS, name string, sources []string, size int64, sha256 string, part fsys.LogicalPath, progress func(done, total int64)) (string, error) {
	return "", f.Client.Fetch(ctx, fetch.Artifact{Name: name, Sources: sources, Size: size, SHA256: sha256}, disk, part, progress)
}

const llama reconcile.Address = "package:release/llama-server"

// releases is a machine to which releases can be brought.
func releases(t *testing.T, o Options) *machine {
	o.Cache = "/home/me/.cache/aisync"
	m := newMachine(t, o, runner{})
	c := fetch.New(fetch.Options{Retries: 1, Chunk: 64 << 10, Sleep: func(context.Context, time.Duration) error { return nil }})
	m.read.Reach = func(ctx context.Context, name string, sources []string, size int64, sha256 string) error {
		return c.Reach(ctx, fetch.Artifact{Name: name, Sources: sources, Size: size, SHA256: sha256})
	}
	return m
}

// wants is the change to a version of an archive, which is recorded as ours.
func (m *machine) wants(version string, a Archive) reconcile.Change {
	c := m.change(llama, exactly(releaseVersion(version, a)))
	c.Leaves[0].Want.Body = request{want: exactly(releaseVersion(version, a)), archive: a}
	c.Leaves[0].Last = &reconcile.LeafRecord{Provenance: reconcile.Created}
	return c
}

func (m *machine) bring(c reconcile.Change) error {
	m.t.Helper()
	client := fetch.New(fetch.Options{Retries: 1, Chunk: 64 << 10, Sleep: func(context.Context, time.Duration) error { return nil }})
	_, err := m.p.Apply(m.t.Context(), c, reconcile.WriteEnv{ReadEnv: m.read, FS: m.fs, Fetch: fetcher{client}})
	return err
}

// below lists all that is below a folder of the home, folders left out.
func (m *machine) below(dir string) []string {
	m.t.Helper()
	var out []string
	top := filepath.Join(m.root, "home/me", dir)
	must(m.t, filepath.WalkDir(top, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(top, p)
			out = append(out, rel)
		}
		return err
	}))
	return out
}

func (m *machine) runs() string {
	out, err := exec.Command(filepath.Join(m.root, string(ReleaseProgram("/home/me", "llama-server")))).CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

func TestAReleaseIsUnpackedLinkedUpdatedAndDropped(t *testing.T) {
	s, m := newShelf(t), releases(t, Options{})
	one, two := s.put("1.tar.gz", tarball(t, server("one"))), s.put("2.tar.gz", tarball(t, server("two")))
	must(t, m.bring(m.wants("b1", one)))
	v1, v2 := "b1-"+one.SHA256[:12], "b2-"+two.SHA256[:12]
	if got := m.is(llama); got != v1 || m.runs() != "one" {
		t.Fatalf("installed %q, which says %q", got, m.runs())
	}
	if got := m.below(".cache/aisync"); len(got) != 0 {
		t.Errorf("the cache still has %v", got)
	}
	must(t, m.bring(m.wants("b1", one))) // twice is once
	must(t, m.bring(m.wants("b2", two)))
	if got := m.is(llama); got != v2 || m.runs() != "two" {
		t.Errorf("after the update there is %q, which says %q", got, m.runs())
	}
	want := []string{"bin/llama-server", v2 + "/llama/libx.so", v2 + "/llama/libx.so.1", v2 + "/llama/llama-server", v2 + "/llama/share/doc/llama-server"}
	slices.Sort(want)
	got := m.below(ReleaseFolder + "/llama-server")
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("there is\n%v, want\n%v", got, want)
	}
	must(t, m.apply(llama, ""))
	if entries, err := os.ReadDir(filepath.Join(m.root, "home/me", ReleaseFolder)); err != nil || len(entries) != 0 {
		t.Errorf("after it was dropped there is %v, %v", entries, err)
	}
}

func TestAProgramThatIsGoneOrCannotRunIsBroughtAnew(t *testing.T) {
	s, m := newShelf(t), releases(t, Options{})
	a := s.put("1.tar.gz", tarball(t, server("one")))
	must(t, m.bring(m.wants("b1", a)))
	program, err := filepath.EvalSymlinks(filepath.Join(m.root, string(ReleaseProgram("/home/me", "llama-server"))))
	must(t, err)
	for name, spoil := range map[string]func() error{
		"removed":        func() error { return os.Remove(program) },
		"not executable": func() error { return os.Chmod(program, 0o644) },
	} {
		must(t, spoil())
		if got := m.is(llama); got != "" {
			t.Errorf("%s: it counts as %q", name, got)
		}
		must(t, m.bring(m.wants("b1", a)))
		if m.runs() != "one" {
			t.Errorf("%s: after another apply it says %q", name, m.runs())
		}
	}
}

// What lies there and is not recorded as aisync's own belongs to others, and
// is put back when the spec drops what replaced it.
func TestForeignReleaseVersionIsKeptAndRestored(t *testing.T) {
	s, m := newShelf(t), releases(t, Options{})
	one, two := s.put("1.tar.gz", tarball(t, server("one"))), s.put("2.tar.gz", tarball(t, server("two")))
	must(t, m.bring(m.wants("b1", one)))
	c := m.wants("b2", two)
	c.Leaves[0].Last = nil // forced
	must(t, m.bring(c))
	back := m.change(llama, "")
	back.Leaves[0].Action = reconcile.PutBack
	back.Leaves[0].Last = &reconcile.LeafRecord{Provenance: reconcile.Replaced, Prior: reconcile.BackupID(exactly("b1-" + one.SHA256[:12]))}
	must(t, m.bring(back))
	if m.runs() != "one" {
		t.Errorf("what was put back says %q", m.runs())
	}
}

func TestWrongArchiveIsNotUnpacked(t *testing.T) {
	for name, x := range map[string]struct {
		entries []entry
		ending  string
		change  func(*shelf, *Archive)
		want    string
	}{
		"another sha256":                        {change: func(_ *shelf, a *Archive) { a.SHA256 = strings.Repeat("0", 64) }, want: "sha256 mismatch"},
		"another archive under the same URL":    {change: func(s *shelf, _ *Archive) { s.put("1.tar.gz", tarball(t, server("TWO"))) }, want: "bytes, but 244 are pinned"},
		"an archive that is gone":               {change: func(s *shelf, a *Archive) { a.URL += ".tar.gz" }, want: "answered 404"},
		"a file that leads out":                 {entries: []entry{{name: "../../../../evil", text: "x", mode: 0o755}}, want: "leads out of the archive"},
		"an absolute file":                      {entries: []entry{{name: "/evil", text: "x", mode: 0o755}}, want: "must be a relative path below the archive's top"},
		"a link that leads out":                 {entries: []entry{{name: "llama-server", to: "/bin/sh"}}, want: "leads out of the archive"},
		"a program behind a link that is a lie": {entries: []entry{{name: "x", to: ".."}, {name: "x/llama-server", text: "x", mode: 0o755}}, want: "unpack"},
		"no program":                            {entries: []entry{{name: "README", text: "x", mode: 0o644}}, want: "the archive has no program llama-server, but README"},
		"no archive at all":                     {change: func(s *shelf, a *Archive) { *a = s.put("1.tar.gz", []byte("<html>sign in</html>")) }, want: "unpack"},
		"half an archive": {change: func(s *shelf, a *Archive) {
			b := tarball(t, server("one"))
			*a = s.put("1.tar.gz", b[:len(b)/2])
		}, want: "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := newShelf(t), releases(t, Options{})
			if x.entries == nil {
				x.entries = server("one")
			}
			a := s.put("1.tar.gz", tarball(t, x.entries))
			if x.change != nil {
				x.change(s, &a)
			}
			old := s.put("0.tar.gz", tarball(t, server("old")))
			must(t, m.bring(m.wants("b0", old)))
			err := m.bring(m.wants("b1", a))
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v\ndoes not say %s", err, x.want)
			}
			if m.runs() != "old" || m.is(llama) != "b0-"+old.SHA256[:12] {
				t.Errorf("what was there says %q", m.runs())
			}
			for _, p := range m.below(ReleaseFolder) {
				if strings.HasPrefix(p, "llama-server/b1") || strings.Contains(p, "/.") {
					t.Errorf("%s was left", p)
				}
			}
		})
	}
}

func TestAProgramNeedsNoBitToBeExecuted(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b) // as it is packed on Windows
	f, err := z.Create("build/bin/llama-server")
	must(t, err)
	_, err = f.Write([]byte("#!/bin/sh\necho zipped\n"))
	must(t, err)
	must(t, z.Close())
	s, m := newShelf(t), releases(t, Options{})
	must(t, m.bring(m.wants("b1", s.put("1.zip", b.Bytes()))))
	if m.runs() != "zipped" {
		t.Errorf("it says %q", m.runs())
	}
}

func TestADownloadOfAReleaseGoesOnWhereItWas(t *testing.T) {
	s, m := newShelf(t), releases(t, Options{})
	big := append(server("one"), entry{name: "weights", text: noise(1 << 20), mode: 0o644})
	a := s.put("1.tar.gz", tarball(t, big))
	s.cut = 300 << 10
	if err := m.bring(m.wants("b1", a)); err == nil {
		t.Fatal("an answer that breaks off was taken for whole")
	}
	s.mu.Lock()
	first := s.sent
	s.cut, s.sent = 0, 0
	s.mu.Unlock()
	must(t, m.bring(m.wants("b1", a)))
	if m.runs() != "one" {
		t.Errorf("it says %q", m.runs())
	}
	s.mu.Lock() // the answer may not be at its end, though its reader is
	defer s.mu.Unlock()
	if s.sent >= int(a.Size) {
		t.Errorf("%d bytes of %d were sent again, after %d", s.sent, a.Size, first)
	}
}

// noise is text that does not compress.
func noise(n int) string {
	var b strings.Builder
	for sum := sha256.Sum256(nil); b.Len() < n; sum = sha256.Sum256(sum[:]) {
		b.Write(sum[:])
	}
	return b.String()
}

func TestAnApplyThatIsKilledLeavesTheOldProgram(t *testing.T) {
	for _, op := range []string{"create", "rename", "symlink", "exchange", "fsyncdir"} {
		s, m := newShelf(t), releases(t, Options{})
		one, two := s.put("1.tar.gz", tarball(t, server("one"))), s.put("2.tar.gz", tarball(t, server("two")))
		must(t, m.bring(m.wants("b1", one)))
		disk := m.fs
		dead, err := fsys.New(fsys.Options{Root: m.root, Home: "/home/me", Tag: "t", Hook: func(o fsys.Op) error {
			if o.Name == op {
				return syscall.EIO
			}
			return nil
		}})
		must(t, err)
		m.fs, m.read.FS = dead, dead
		c := m.wants("b2", two)
		failed := m.bring(c)
		if says := m.runs(); says != "one" && says != "two" {
			t.Errorf("%s: after %v it says %q", op, failed, says)
		}
		m.fs, m.read.FS = disk, disk
		// What a kill in the middle of unpacking leaves.
		write(t, filepath.Join(m.root, "home/me", ReleaseFolder, "llama-server/.b2-half/llama-server"), []byte("half"))
		c = m.wants("b2", two)
		must(t, m.bring(c))
		if m.runs() != "two" {
			t.Errorf("%s: after another apply it says %q", op, m.runs())
		}
		if c := m.wants("b2", two); c.Before.Token == "" {
			t.Errorf("%s: it does not count as there", op)
		}
	}
}

func TestReleaseProblemsAreReportedBeforehand(t *testing.T) {
	s, m := newShelf(t), releases(t, Options{})
	a := s.put("1.tar.gz", tarball(t, server("one")))
	ask := func(a Archive) error {
		t.Helper()
		for _, p := range m.p.Preflight(t.Context(), m.read, []reconcile.Change{m.wants("b1", a)}) {
			return p.Err
		}
		return nil
	}
	must(t, ask(a))
	if err := ask(Archive{URL: a.URL}); !errors.Is(err, errNotPinned) {
		t.Errorf("with nothing pinned: %v", err)
	}
	larger := a
	larger.Size++
	if err := ask(larger); err == nil || !strings.Contains(err.Error(), "bytes, but") {
		t.Errorf("with another size: %v", err)
	}
	m.p = New(Options{Offline: true, Cache: "/home/me/.cache/aisync"})
	if err := ask(a); !errors.Is(err, reconcile.ErrOffline) {
		t.Errorf("offline: %v", err)
	}
	// What aisync lock has fetched is enough to install it on a plane.
	cached := filepath.Join(m.root, string(ReleaseArchive("/home/me/.cache/aisync", a.SHA256)))
	write(t, cached, s.files["/1.tar.gz"])
	s.Close()
	must(t, ask(a))
	must(t, m.bring(m.wants("b1", a)))
	if m.runs() != "one" {
		t.Errorf("it says %q", m.runs())
	}
	// A drop needs no network.
	if p := m.p.Preflight(t.Context(), m.read, []reconcile.Change{m.change(llama, "")}); len(p) > 0 {
		t.Errorf("a drop: %v", p)
	}
}

func TestACachedArchiveThatRottedIsFetchedAgain(t *testing.T) {
	s, m := newShelf(t), releases(t, Options{})
	a := s.put("1.tar.gz", tarball(t, server("one")))
	write(t, filepath.Join(m.root, string(ReleaseArchive("/home/me/.cache/aisync", a.SHA256))), []byte("rot"))
	must(t, m.bring(m.wants("b1", a)))
	if m.runs() != "one" {
		t.Errorf("it says %q", m.runs())
	}
}

func TestBlockedReleaseKeepsFiles(t *testing.T) {
	s, m := newShelf(t), releases(t, Options{})
	a := s.put("1.tar.gz", tarball(t, server("one")))
	at := filepath.Join(m.root, string(ReleaseProgram("/home/me", "llama-server")))
	write(t, at, []byte("mine"))
	c := m.wants("b1", a)
	if c.Before.Presence != reconcile.Blocked {
		t.Errorf("it is %v, %s", c.Before.Presence, c.Before.Reason)
	}
	if err := m.bring(c); !errors.Is(err, reconcile.ErrStale) {
		t.Errorf("an apply: %v", err)
	}
	if b, err := os.ReadFile(at); string(b) != "mine" {
		t.Errorf("it holds %q, %v", b, err)
	}
}

func TestAReleaseThatCannotBeLookedAtIsUnknown(t *testing.T) {
	s, m := newShelf(t), releases(t, Options{})
	must(t, m.bring(m.wants("b1", s.put("1.tar.gz", tarball(t, server("one"))))))
	for _, look := range []string{"Readlink", "Lstat"} {
		r := m.read
		r.FS = crash.FailReads(m.fs, "/home/me", syscall.EIO, look)
		target := reconcile.Target{Resource: reconcile.Resource{Address: llama}}
		if got := m.p.Observe(t.Context(), r, []reconcile.Target{target})[0]; got.Presence != reconcile.Unknown {
			t.Errorf("%s fails: %+v", look, got)
		}
	}
}
