package fsys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const tag = "t1"

// world is a root with a home, and a project beside it.
type world struct {
	root, project string
	*Disk
}

func newWorld(t testing.TB, hook Hook) world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := world{root: filepath.Join(top, "root"), project: filepath.Join(top, "project")}
	for _, p := range []string{"root/home/me", "root/etc", "project"} {
		if err := os.MkdirAll(filepath.Join(top, p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.Disk = w.with(t, hook)
	return w
}

func (w world) with(t testing.TB, hook Hook) *Disk {
	t.Helper()
	d, err := New(Options{Root: w.root, Home: "/home/me", Project: w.project, Tag: tag, Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func put(t testing.TB, p, s string) {
	t.Helper()
	if err := os.WriteFile(p, []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, p string) string {
	t.Helper()
	b, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t testing.TB, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func is(s string) Expect { return Expect{Digest: Digest([]byte(s))} }

var absent = Expect{Absent: true}

func TestReplaceMakesAndReplacesAFileAndHandsOverTheOldOne(t *testing.T) {
	w := newWorld(t, nil)
	at := filepath.Join(w.project, "a")
	if err := w.Replace("a", Content{Bytes: []byte("one")}, absent, nil); err != nil {
		t.Fatal(err)
	}
	if fi, _ := os.Stat(at); get(t, at) != "one" || fi.Mode() != 0o644 {
		t.Fatalf("got %q %v", get(t, at), fi.Mode())
	}
	var kept string
	err := w.Replace("a", Content{From: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("two")), nil }, Mode: 0o700},
		is("one"), func(old LogicalPath) error {
			kept = get(t, filepath.Join(w.project, string(old)))
			return w.Move(old, "kept")
		})
	if err != nil {
		t.Fatal(err)
	}
	fi, _ := os.Stat(at)
	if get(t, at) != "two" || fi.Mode() != 0o700 || kept != "one" || names(t, w.project) != "a kept" {
		t.Fatalf("got %q %v, kept %q, entries %s", get(t, at), fi.Mode(), kept, names(t, w.project))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

func TestReplaceKeepsModeOwnerAndAttributes(t *testing.T) {
	w := newWorld(t, nil)
	at := filepath.Join(w.project, "a")
	put(t, at, "one")
	if err := os.Chmod(at, 0o751); err != nil {
		t.Fatal(err)
	}
	xattr := true
	if err := unix.Setxattr(at, "user.note", []byte("mine"), 0); errors.Is(err, unix.ENOTSUP) {
		xattr = false
	} else if err != nil {
		t.Fatal(err)
	}
	root := os.Getuid() == 0
	if root {
		if err := os.Chown(at, 12, 34); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Replace("a", Content{Bytes: []byte("two")}, is("one"), nil); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(at, &st); err != nil {
		t.Fatal(err)
	}
	if st.Mode&0o7777 != 0o751 || root && (st.Uid != 12 || st.Gid != 34) {
		t.Fatalf("mode %o, owner %d:%d", st.Mode, st.Uid, st.Gid)
	}
	b := make([]byte, 10)
	if n, err := unix.Getxattr(at, "user.note", b); xattr && (err != nil || string(b[:n]) != "mine") {
		t.Fatalf("attribute: %q %v", b[:max(n, 0)], err)
	}
}

func TestNewEntriesBelongToTheUserThatRootWorksFor(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	w := newWorld(t, nil)
	d, err := New(Options{Root: w.root, Home: "/home/me", UID: 12, GID: 34, Chown: true, Tag: tag})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.MkdirAll("/home/me/d", 0o700)
	err = errors.Join(err, d.Replace("/home/me/f", Content{}, absent, nil), d.Symlink("/home/me/l", "f", absent, nil),
		d.Append("/home/me/j", []byte("x"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"d", "f", "l", "j"} {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(w.root, "home/me", p), &st); err != nil || st.Uid != 12 || st.Gid != 34 {
			t.Errorf("%s: owner %d:%d, %v", p, st.Uid, st.Gid, err)
		}
	}
	// What the machine itself reads stays root's.
	if _, err = d.MkdirAll("/etc/systemd/system/x.wants", 0o755); err == nil {
		err = errors.Join(d.Replace("/etc/systemd/system/u", Content{}, absent, nil), d.Symlink("/etc/systemd/system/x.wants/u", "../u", absent, nil))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"etc/systemd", "etc/systemd/system/u", "etc/systemd/system/x.wants/u"} {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(w.root, p), &st); err != nil || st.Uid != 0 || st.Gid != 0 {
			t.Errorf("%s: owner %d:%d, %v", p, st.Uid, st.Gid, err)
		}
	}
}

func TestSymlinkAndRemove(t *testing.T) {
	w := newWorld(t, nil)
	steps := []error{
		w.Symlink("l", "one", absent, nil),
		w.Symlink("l", "two", Expect{Digest: LinkDigest("one")}, nil),
	}
	if got, _ := w.Readlink("l"); got != "two" || errors.Join(steps...) != nil {
		t.Fatalf("link to %q, %v", got, errors.Join(steps...))
	}
	if err := w.Replace("l", Content{Bytes: []byte("file")}, Expect{Digest: LinkDigest("two")}, nil); err != nil {
		t.Fatal(err)
	}
	var kept string
	err := w.Remove("l", is("file"), func(old LogicalPath) error {
		kept = get(t, filepath.Join(w.project, string(old)))
		return nil
	})
	if err != nil || kept != "file" || names(t, w.project) != "" {
		t.Fatalf("%v, kept %q, entries %q", err, kept, names(t, w.project))
	}
	if err := w.Remove("l", absent, nil); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNotExpectedStaysAsItIs(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, at string)
		expect  Expect
		want    []error
	}{
		{"other bytes", func(t *testing.T, at string) { put(t, at, "other") }, is("one"), []error{ErrChanged}},
		{"a file where none was", func(t *testing.T, at string) { put(t, at, "other") }, absent, []error{ErrChanged}},
		{"gone", func(*testing.T, string) {}, is("one"), []error{ErrChanged}},
		{"a link", func(t *testing.T, at string) { _ = os.Symlink("/etc/passwd", at) }, is("one"), []error{ErrChanged, ErrBlocked}},
		{"a link where none was", func(t *testing.T, at string) { _ = os.Symlink("x", at) }, absent, []error{ErrChanged, ErrBlocked}},
		{"a folder", func(t *testing.T, at string) { _ = os.Mkdir(at, 0o755) }, is("one"), []error{ErrChanged, ErrBlocked}},
		{"a pipe", func(t *testing.T, at string) { _ = syscall.Mkfifo(at, 0o644) }, is("one"), []error{ErrChanged, ErrBlocked}},
		{"a file where a link was", func(t *testing.T, at string) { put(t, at, "x") }, Expect{Digest: LinkDigest("x")}, []error{ErrChanged, ErrBlocked}},
		{"nothing said", func(t *testing.T, at string) { put(t, at, "x") }, Expect{}, []error{fs.ErrInvalid}},
	} {
		t.Run(c.name, func(t *testing.T) {
			hook, writes := CountOps()
			w := newWorld(t, hook)
			c.prepare(t, filepath.Join(w.project, "a"))
			before := names(t, w.project)
			errs := map[string]error{
				"replace": w.Replace("a", Content{Bytes: []byte("new")}, c.expect, nil),
				"symlink": w.Symlink("a", "new", c.expect, nil),
			}
			if !c.expect.Absent {
				errs["remove"] = w.Remove("a", c.expect, nil)
			}
			for what, err := range errs {
				for _, want := range c.want {
					if !errors.Is(err, want) {
						t.Errorf("%s: got %v, want %v", what, err, want)
					}
				}
			}
			if names(t, w.project) != before || writes.Load() != 0 {
				t.Errorf("changed: %s, %d operations", names(t, w.project), writes.Load())
			}
		})
	}
}

func TestAChangeBetweenCheckAndExchangeIsPutBack(t *testing.T) {
	for _, what := range []string{"replace", "symlink", "remove"} {
		t.Run(what, func(t *testing.T) {
			var w world
			changed := false
			w = newWorld(t, func(op Op) error {
				if (op.Name == "exchange" || op.Name == "rename") && !changed {
					changed = true
					put(t, filepath.Join(w.project, "a"), "theirs")
				}
				return nil
			})
			put(t, filepath.Join(w.project, "a"), "one")
			keep := func(LogicalPath) error { t.Error("kept what was not expected"); return nil }
			err := map[string]func() error{
				"replace": func() error { return w.Replace("a", Content{Bytes: []byte("new")}, is("one"), keep) },
				"symlink": func() error { return w.Symlink("a", "new", is("one"), keep) },
				"remove":  func() error { return w.Remove("a", is("one"), keep) },
			}[what]()
			if !errors.Is(err, ErrChanged) || get(t, filepath.Join(w.project, "a")) != "theirs" || names(t, w.project) != "a" {
				t.Fatalf("%v, entries %s", err, names(t, w.project))
			}
		})
	}
}

func TestAFileThatAppearsIsNotOverwritten(t *testing.T) {
	var w world
	w = newWorld(t, func(op Op) error {
		if op.Name == "rename" {
			put(t, filepath.Join(w.project, "a"), "theirs")
		}
		return nil
	})
	err := w.Replace("a", Content{Bytes: []byte("new")}, absent, nil)
	if !errors.Is(err, ErrChanged) || get(t, filepath.Join(w.project, "a")) != "theirs" || names(t, w.project) != "a" {
		t.Fatalf("%v, entries %s", err, names(t, w.project))
	}
}

func TestAFailedKeepPutsTheOldEntryBack(t *testing.T) {
	w := newWorld(t, nil)
	put(t, filepath.Join(w.project, "a"), "one")
	no := errors.New("no room")
	keep := func(LogicalPath) error { return no }
	for _, err := range []error{
		w.Replace("a", Content{Bytes: []byte("new")}, is("one"), keep),
		w.Symlink("a", "new", is("one"), keep),
		w.Remove("a", is("one"), keep),
	} {
		if !errors.Is(err, no) || get(t, filepath.Join(w.project, "a")) != "one" || names(t, w.project) != "a" {
			t.Fatalf("%v, entries %s", err, names(t, w.project))
		}
	}
}

func TestALeftOverTempFileIsNeverOverwritten(t *testing.T) {
	w := newWorld(t, nil)
	put(t, filepath.Join(w.project, "a"), "one")
	temp := filepath.Join(w.project, string(TempName("a", tag)))
	put(t, temp, "perhaps the only copy")
	for _, err := range []error{
		w.Replace("a", Content{Bytes: []byte("new")}, is("one"), nil),
		w.Symlink("a", "new", is("one"), nil),
		w.Remove("a", is("one"), nil),
	} {
		if !errors.Is(err, fs.ErrExist) || get(t, temp) != "perhaps the only copy" || get(t, filepath.Join(w.project, "a")) != "one" {
			t.Fatal(err)
		}
	}
}

func TestWithoutExchangeTheFallBackSaysSo(t *testing.T) {
	w := newWorld(t, func(op Op) error {
		switch {
		case op.Name == "exchange":
			return syscall.EINVAL
		case op.Name == "link":
			return syscall.EPERM
		}
		return nil
	})
	put(t, filepath.Join(w.project, "a"), "one")
	var kept string
	err := w.Replace("a", Content{Bytes: []byte("two")}, is("one"), func(old LogicalPath) error {
		kept = get(t, filepath.Join(w.project, string(old)))
		return nil
	})
	if err != nil || kept != "one" || get(t, filepath.Join(w.project, "a")) != "two" || names(t, w.project) != "a" {
		t.Fatalf("%v, kept %q, entries %s", err, kept, names(t, w.project))
	}
	if got := w.Weaker(); len(got) != 1 || got[0] != w.project {
		t.Fatalf("weaker: %v", got)
	}
	if err := w.Replace("a", Content{Bytes: []byte("three")}, is("one"), nil); !errors.Is(err, ErrChanged) {
		t.Fatal(err)
	}
}

func TestTheFallBackKeepsNothingThatWasNotExpected(t *testing.T) {
	var w world
	w = newWorld(t, func(op Op) error {
		switch {
		case op.Name == "exchange":
			return syscall.ENOSYS
		case op.Name == "create" && strings.HasSuffix(op.Path, "-old"):
			put(t, filepath.Join(w.project, "a"), "two")
		}
		return nil
	})
	put(t, filepath.Join(w.project, "a"), "one")
	err := w.Replace("a", Content{Bytes: []byte("new")}, is("one"), func(LogicalPath) error {
		t.Error("kept what was not expected")
		return nil
	})
	if !errors.Is(err, ErrChanged) || get(t, filepath.Join(w.project, "a")) != "two" || names(t, w.project) != "a" {
		t.Fatalf("%v, entries %s", err, names(t, w.project))
	}
}

func TestDiscardKeepsAnotherFile(t *testing.T) {
	var w world
	w = newWorld(t, func(op Op) error {
		if op.Name != "fsync" {
			return nil
		}
		temp := filepath.Join(w.project, string(TempName("a", tag)))
		if err := os.Rename(temp, temp+"-moved"); err != nil {
			t.Error(err)
		}
		put(t, temp, "theirs")
		return syscall.EIO
	})
	err := w.Replace("a", Content{Bytes: []byte("new")}, absent, nil)
	if temp := filepath.Join(w.project, string(TempName("a", tag))); get(t, temp) != "theirs" || !strings.Contains(err.Error(), temp) {
		t.Fatal(err)
	}
}

func TestWithoutRenameNoReplaceNothingIsOverwrittenEither(t *testing.T) {
	for _, links := range []bool{true, false} {
		t.Run(fmt.Sprint("hard links ", links), func(t *testing.T) {
			lacking := 1
			w := newWorld(t, func(op Op) error {
				switch {
				case op.Name == "rename" && lacking > 0:
					lacking--
					return syscall.EINVAL
				case op.Name == "link" && !links:
					return syscall.EPERM
				}
				return nil
			})
			if err := w.Replace("a", Content{Bytes: []byte("one")}, absent, nil); err != nil {
				t.Fatal(err)
			}
			if len(w.Weaker()) != map[bool]int{true: 0, false: 1}[links] {
				t.Fatalf("weaker: %v", w.Weaker())
			}
			lacking = 1
			put(t, filepath.Join(w.project, "b"), "mine")
			if err := w.Move("a", "b"); !errors.Is(err, fs.ErrExist) || get(t, filepath.Join(w.project, "b")) != "mine" || names(t, w.project) != "a b" {
				t.Fatalf("%v, entries %s", err, names(t, w.project))
			}
		})
	}
}

func TestAHundredWritersInOneFolder(t *testing.T) {
	w := newWorld(t, nil)
	var wg sync.WaitGroup
	errs := make([]error, 100)
	for i := range errs {
		wg.Go(func() {
			p := LogicalPath(fmt.Sprintf("/home/me/f%03d", i))
			b := bytes.Repeat([]byte{byte(i)}, 100)
			errs[i] = errors.Join(w.Replace(p, Content{Bytes: []byte("x")}, absent, nil), w.Replace(p, Content{Bytes: b}, is("x"), nil))
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, w.Flush())...); err != nil {
		t.Fatal(err)
	}
	for i := range errs {
		if b, err := w.ReadFile(LogicalPath(fmt.Sprintf("/home/me/f%03d", i))); err != nil || !bytes.Equal(b, bytes.Repeat([]byte{byte(i)}, 100)) {
			t.Fatalf("file %d: %v", i, err)
		}
	}
	if n := len(strings.Fields(names(t, filepath.Join(w.root, "home/me")))); n != 100 {
		t.Fatalf("%d entries", n)
	}
}

func TestManyFoldersDoNotKeepManyHandles(t *testing.T) {
	open := func() int {
		runtime.GC()
		fds, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(fds)
	}
	w := newWorld(t, nil)
	before := open()
	for i := range 3 * maxFolders {
		dir := LogicalPath(fmt.Sprintf("/home/me/d%d", i))
		_, err := w.MkdirAll(dir, 0o755)
		if err = errors.Join(err, w.Replace(dir.Join("f"), Content{}, absent, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.folders.byPath); n > maxFolders {
		t.Fatalf("%d folders held", n)
	}
	if now := open(); now > before+maxFolders {
		t.Fatalf("%d open files, %d before", now, before)
	}
}

func TestTempNamesFitWhereTheirTargetFits(t *testing.T) {
	w := newWorld(t, nil)
	long := LogicalPath(strings.Repeat("n", 255))
	if err := errors.Join(w.Replace(long, Content{}, absent, nil), w.Replace(long, Content{Bytes: []byte("x")}, is(""), nil)); err != nil {
		t.Fatal(err)
	}
	other := LogicalPath(strings.Repeat("n", 254) + "m")
	if TempName(long, tag) == TempName(other, tag) {
		t.Fatal("two long names share a temp name")
	}
}
