package fsys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMkdirAllSaysWhatItMadeAndRmdirTakesOnlyEmptyOnes(t *testing.T) {
	w := newWorld(t, nil)
	made, err := w.MkdirAll("/home/me/a/b", 0o700)
	if err != nil || !slices.Equal(made, []LogicalPath{"/home/me/a", "/home/me/a/b"}) {
		t.Fatal(made, err)
	}
	if fi, err := w.Lstat("/home/me/a/b"); err != nil || fi.Mode() != fs.ModeDir|0o700 {
		t.Fatal(fi, err)
	}
	if made, err = w.MkdirAll("/home/me/a/b", 0o700); len(made) != 0 || err != nil {
		t.Fatal(made, err)
	}
	if err := w.Rmdir("/home/me/a"); !errors.Is(err, ErrNotEmpty) {
		t.Fatal(err)
	}
	if err := errors.Join(w.Rmdir("/home/me/a/b"), w.Rmdir("/home/me/a")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(w.project, "f"), "")
	symlink(t, "nowhere", filepath.Join(w.project, "l"))
	if _, err := w.MkdirAll("f/x", 0o755); !errors.Is(err, ErrBlocked) {
		t.Fatal(err)
	}
	if _, err := w.MkdirAll("l/x", 0o755); !errors.Is(err, ErrBlocked) {
		t.Fatal(err)
	}
	if err := w.Rmdir("f"); !errors.Is(err, ErrBlocked) {
		t.Fatal(err)
	}
}

func TestMoveOverwritesNothingAndCopiesAcrossFileSystems(t *testing.T) {
	for _, across := range []bool{false, true} {
		t.Run(fmt.Sprint("across ", across), func(t *testing.T) {
			far := across
			w := newWorld(t, func(op Op) error {
				if op.Name == "rename" && far {
					far = false
					return syscall.EXDEV
				}
				return nil
			})
			from := filepath.Join(w.project, "a")
			put(t, from, "one")
			if err := os.Chmod(from, 0o750); err != nil {
				t.Fatal(err)
			}
			if err := w.Move("a", "/home/me/b"); err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(w.root, "home/me/b")
			if fi, _ := os.Stat(to); get(t, to) != "one" || fi.Mode() != 0o750 || names(t, w.project) != "" {
				t.Fatalf("%q %v, left: %s", get(t, to), fi.Mode(), names(t, w.project))
			}
			far = across
			put(t, from, "two")
			if err := w.Move("a", "/home/me/b"); !errors.Is(err, fs.ErrExist) || get(t, to) != "one" || get(t, from) != "two" {
				t.Fatal(err)
			}
			far = across
			symlink(t, "target", filepath.Join(w.project, "l"))
			if err := w.Move("l", "/home/me/l"); err != nil || look(t, filepath.Join(w.root, "home/me/l")) != "-> target" {
				t.Fatal(err)
			}
		})
	}
}

func TestAppendAddsAndRefusesLinks(t *testing.T) {
	hook, ops := CountOps()
	w := newWorld(t, hook)
	for _, s := range []string{"one\n", "two\n"} {
		if err := w.Append("log", []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fi, _ := os.Stat(filepath.Join(w.project, "log"))
	if get(t, filepath.Join(w.project, "log")) != "one\ntwo\n" || fi.Mode() != 0o600 || ops.Load() != 5 {
		t.Fatal(get(t, filepath.Join(w.project, "log")), fi.Mode(), ops.Load())
	}
	symlink(t, "log", filepath.Join(w.project, "l"))
	if err := w.Append("l", nil, 0o600); !errors.Is(err, ErrBlocked) {
		t.Fatal(err)
	}
	failing, _ := FailAt(1, fmt.Errorf("half: %w", io.ErrShortWrite))
	if err := w.with(t, failing).Append("log", []byte("12"), 0o600); !errors.Is(err, io.ErrShortWrite) || !strings.HasSuffix(get(t, filepath.Join(w.project, "log")), "two\n1") {
		t.Fatal(err)
	}
}

func TestAPartIsOpenedAgainAndPublishedByMove(t *testing.T) {
	w := newWorld(t, nil)
	for i, want := range []string{"ab", "abab"} {
		f, err := w.OpenPart("model.part")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(0, io.SeekEnd); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("ab"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil || get(t, filepath.Join(w.project, "model.part")) != want {
			t.Fatal(i, err)
		}
	}
	if err := w.Move("model.part", "model"); err != nil || names(t, w.project) != "model" {
		t.Fatal(err)
	}
}

func TestChmodRefusesLinks(t *testing.T) {
	w := newWorld(t, nil)
	put(t, filepath.Join(w.project, "f"), "")
	symlink(t, "f", filepath.Join(w.project, "l"))
	if err := w.Chmod("f", 0o711); err != nil {
		t.Fatal(err)
	}
	if err := w.Chmod("l", 0o777); !errors.Is(err, ErrBlocked) {
		t.Fatal(err)
	}
	if fi, _ := w.Lstat("f"); fi.Mode() != 0o711 {
		t.Fatal(fi.Mode())
	}
}

func TestFlushSyncsEachChangedFolderOnce(t *testing.T) {
	var synced []string
	fail := true
	w := newWorld(t, nil)
	d := w.with(t, func(op Op) error {
		if op.Name != "fsyncdir" {
			return nil
		}
		if fail {
			return syscall.EIO
		}
		synced = append(synced, op.Path)
		return nil
	})
	for i := range 3 {
		if err := d.Replace(LogicalPath(fmt.Sprint("f", i)), Content{}, absent, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Flush(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	fail = false
	if err := errors.Join(d.Flush(), d.Flush()); err != nil || !slices.Equal(synced, []string{w.project}) {
		t.Fatal(synced, err)
	}
}

func TestReadersSeeWhatIsThereAndFollowNoLink(t *testing.T) {
	w := newWorld(t, nil)
	put(t, filepath.Join(w.project, "b"), "bytes")
	mkdir(t, filepath.Join(w.project, "a"))
	symlink(t, "b", filepath.Join(w.project, "l"))
	symlink(t, "a", filepath.Join(w.project, "la"))
	put(t, filepath.Join(w.project, "a/x"), "")

	if b, err := w.ReadFile("b"); string(b) != "bytes" || err != nil {
		t.Error(b, err)
	}
	f, err := w.Open("b")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "bytes" || err != nil {
		t.Error(b, err)
	}
	if _, err := f.WriteString("x"); err == nil {
		t.Error("a file that was opened for reading can be written")
	}
	for _, p := range []LogicalPath{"l", "a"} {
		_, err := w.ReadFile(p)
		_, oerr := w.Open(p)
		if !errors.Is(err, ErrBlocked) || !errors.Is(oerr, ErrBlocked) {
			t.Error(p, err, oerr)
		}
	}
	for _, p := range []LogicalPath{"gone", "gone/deep"} {
		_, err := w.ReadFile(p)
		_, lerr := w.Lstat(p)
		if !errors.Is(err, fs.ErrNotExist) || !errors.Is(lerr, fs.ErrNotExist) {
			t.Error(p, err, lerr)
		}
	}
	if to, err := w.Readlink("l"); to != "b" || err != nil {
		t.Error(to, err)
	}
	if _, err := w.Readlink("b"); !errors.Is(err, ErrBlocked) {
		t.Error(err)
	}
	list := func(p LogicalPath) string {
		entries, err := w.ReadDir(p)
		if err != nil {
			t.Error(err)
		}
		var out []string
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return strings.Join(out, " ")
	}
	if got := list(".") + "|" + list("la"); got != "a b l la|x" {
		t.Error(got)
	}
	for p, want := range map[LogicalPath]fs.FileMode{".": fs.ModeDir | 0o755, "/": fs.ModeDir | 0o755, "a": fs.ModeDir | 0o755, "b": 0o644} {
		if fi, err := w.Lstat(p); err != nil || fi.Mode() != want || fi.Name() != p.Base() {
			t.Error(p, fi, err)
		}
	}
	for p, want := range map[LogicalPath]string{"b": Digest([]byte("bytes")), "l": LinkDigest("b")} {
		if got, err := DigestAt(w, p); got != want || err != nil {
			t.Error(p, got, err)
		}
	}
}

func TestReadOnlyHasNoWayToWrite(t *testing.T) {
	w := newWorld(t, nil)
	r := ReadOnly(w.Disk)
	if _, ok := r.(FS); ok {
		t.Error("it is an FS")
	}
	if _, ok := r.(interface {
		Append(LogicalPath, []byte, fs.FileMode) error
	}); ok {
		t.Error("it can append")
	}
	if _, err := r.Lstat("."); err != nil {
		t.Error(err)
	}
}

func TestWritableNamesTheFolderTheReasonAndAFix(t *testing.T) {
	w := newWorld(t, nil)
	for _, p := range []LogicalPath{"f", "gone/deep/f", "/home/me/f"} {
		if err := w.Writable(p); err != nil {
			t.Error(err)
		}
	}
	var st unix.Stat_t
	st.Mode, st.Uid = 0o555, 7
	for err, want := range map[error][]string{
		unix.EROFS:  {"/x", "read-only file system", "mount it writable"},
		unix.EACCES: {"/x", "user 5", "owner 7", "0555", "chown 5 /x"},
	} {
		got := notWritable("/x", &st, 5, err)
		for _, part := range want {
			if !strings.Contains(got.Error(), part) {
				t.Errorf("%v lacks %q", got, part)
			}
		}
		if !errors.Is(got, err) {
			t.Errorf("%v does not wrap %v", got, err)
		}
	}
}
