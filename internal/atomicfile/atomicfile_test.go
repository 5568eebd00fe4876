package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// only checks that dir holds the files of want, by name and content, and no other.
func only(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(text)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds %v, want %v", dir, got, want)
	}
}

func TestWriteAndCreate(t *testing.T) {
	for name, o := range map[string]Options{
		"random name": {}, "fixed name": {Temp: ".x.tmp"}, "content": {Survives: Content}, "nothing": {Survives: Nothing}, "mark": {Temp: ".mark-*.tmp"},
	} {
		for _, confined := range []bool{false, true} {
			t.Run(fmt.Sprint(name, confined), func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "x")
				if confined {
					root, err := os.OpenRoot(dir)
					if err != nil {
						t.Fatal(err)
					}
					defer root.Close()
					o.Root, path = root, "x"
				}
				for _, text := range []string{"first", "", "second"} {
					if err := Write(path, []byte(text), o); err != nil {
						t.Fatal(err)
					}
					only(t, dir, map[string]string{"x": text})
				}
				if err := Create(path, []byte("third"), o); !errors.Is(err, fs.ErrExist) {
					t.Errorf("Create of a name that is taken: %v", err)
				}
				only(t, dir, map[string]string{"x": "second"})
				if err := Create(path+"2", []byte("third"), o); err != nil {
					t.Error(err)
				}
				only(t, dir, map[string]string{"x": "second", "x2": "third"})
				if err := Write(filepath.Join(filepath.Dir(path), "none", "x"), nil, o); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("without a folder: %v", err)
				}
			})
		}
	}
}

func TestModeIgnoresUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := t.TempDir()
	for asked, want := range map[fs.FileMode]fs.FileMode{0: 0o600, 0o644: 0o644, 0o664: 0o664, 0o400: 0o400} {
		path := filepath.Join(dir, "x")
		if err := Write(path, nil, Options{Mode: asked}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("asked for %o: %v %v", asked, info.Mode(), err)
		}
	}
}

func TestLinksAreReplacedNotFollowed(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	err := errors.Join(os.WriteFile(other, []byte("theirs"), 0o600), os.Symlink(other, filepath.Join(dir, "x")), os.Symlink(other, filepath.Join(dir, ".x.tmp")))
	if err != nil {
		t.Fatal(err)
	}
	if err := Create(filepath.Join(dir, "x"), []byte("ours"), Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a link: %v", err)
	}
	if err := Write(filepath.Join(dir, "x"), []byte("ours"), Options{Temp: ".x.tmp"}); err != nil {
		t.Fatal(err)
	}
	only(t, dir, map[string]string{"x": "ours"})
	if text, _ := os.ReadFile(other); string(text) != "theirs" {
		t.Errorf("what the links led to now holds %q", text)
	}
}

func TestRootConfinesWrites(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "way")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, path := range []string{"way/x", "../x"} {
		if err := Write(path, nil, Options{Root: root}); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	only(t, outside, nil)
}

func TestCreateTriesAnotherName(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := New(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("ours")); err != nil {
		t.Fatal(err)
	}
	if err := f.Create("a"); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if err := f.Create("b"); err != nil {
		t.Error(err)
	}
	if err := f.Create("c"); err == nil {
		t.Error("one file was named twice")
	}
	f.Discard()
	only(t, dir, map[string]string{"a": "theirs", "b": "ours"})
	if f, err = New(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	f.Discard()
	only(t, dir, map[string]string{"a": "theirs", "b": "ours"})
	(*File)(nil).Discard()
}

// plain is a file system that has no way to name a file but to make it.
type plain struct{ disk }

func (plain) renameNew(from, to string) error {
	return &os.LinkError{Op: "link", Old: from, New: to, Err: unix.EPERM}
}

func TestCreateWithoutHardLinks(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []error{nil, fs.ErrExist} {
		f, err := New(dir, Options{Mode: 0o640})
		if err != nil {
			t.Fatal(err)
		}
		f.in = plain{}
		if _, err := f.Write([]byte("text")); err != nil {
			t.Fatal(err)
		}
		if err := f.Create("x"); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		f.Discard()
		only(t, dir, map[string]string{"x": "text"})
		if info, err := os.Stat(filepath.Join(dir, "x")); err != nil || info.Mode() != 0o640 {
			t.Error(info.Mode(), err)
		}
	}
}

func TestTorn(t *testing.T) {
	for text, want := range map[string]bool{"": false, "\n": false, "a\n": false, "a": true, "a\nb": true} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := Torn(f); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestCreateIsExclusive(t *testing.T) {
	dir := t.TempDir()
	var wait sync.WaitGroup
	errs := make([]error, 8)
	for n := range errs {
		wait.Go(func() { errs[n] = Create(filepath.Join(dir, "x"), []byte{byte('0' + n)}, Options{Survives: Nothing}) })
	}
	wait.Wait()
	won := -1
	for n, err := range errs {
		switch {
		case err == nil && won < 0:
			won = n
		case !errors.Is(err, fs.ErrExist):
			t.Errorf("%d: %v", n, err)
		}
	}
	only(t, dir, map[string]string{"x": fmt.Sprint(won)})
}

// TestMain makes this a process that writes until it is killed, where it is told to.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ATOMICFILE_WRITES_IN"); dir != "" {
		for n := 0; ; n++ {
			text := bytes.Repeat([]byte{byte('a' + n%26)}, 200_000)
			err := Write(filepath.Join(dir, "x"), text, Options{Temp: os.Getenv("ATOMICFILE_TEMP"), Survives: Nothing})
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
	os.Exit(m.Run())
}

func TestKilledWriterLeavesWholeFile(t *testing.T) {
	for _, temp := range []string{"", ".x.tmp"} {
		dir := t.TempDir()
		for n := range 15 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "ATOMICFILE_WRITES_IN="+dir, "ATOMICFILE_TEMP="+temp)
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for began := time.Now(); n == 0 && time.Since(began) < 20*time.Second; time.Sleep(time.Millisecond) {
				if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
					break
				}
			}
			for range 20 { // and a reader meanwhile
				text, err := os.ReadFile(filepath.Join(dir, "x"))
				if err != nil || len(text) != 200_000 || len(bytes.Trim(text, string(text[:1]))) > 0 {
					t.Fatalf("%d bytes, %v", len(text), err)
				}
			}
			time.Sleep(time.Duration(n) * time.Millisecond)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if said.Len() > 0 {
				t.Fatal(said.String())
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil || temp != "" && len(entries) > 2 {
			t.Errorf("%d files, %v", len(entries), err)
		}
		for _, e := range entries {
			if e.Name() != "x" && !strings.HasPrefix(e.Name(), ".") {
				t.Errorf("left %s", e.Name())
			}
		}
	}
}
