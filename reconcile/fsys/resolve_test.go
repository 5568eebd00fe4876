package fsys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func symlink(t *testing.T, target, at string) {
	t.Helper()
	if err := os.Symlink(target, at); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, p string) {
	t.Helper()
	if err := os.MkdirAll(p, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestPathsResolveWithinTheirScope(t *testing.T) {
	w := newWorld(t, nil)
	home, out := filepath.Join(w.root, "home/me"), filepath.Join(filepath.Dir(w.root), "outside")
	mkdir(t, out)
	mkdir(t, filepath.Join(home, "dotfiles/claude/rules"))
	mkdir(t, filepath.Join(w.root, "var/lib"))
	mkdir(t, filepath.Join(w.root, "mnt"))
	mkdir(t, filepath.Join(w.project, "real"))
	symlink(t, "dotfiles/claude", filepath.Join(home, ".claude"))
	symlink(t, "/home/me/dotfiles", filepath.Join(home, "absolute"))
	symlink(t, "/mnt", filepath.Join(home, "away"))
	symlink(t, "../../../../../../mnt", filepath.Join(home, "up"))
	symlink(t, "/mnt/gone", filepath.Join(home, "dangling-away"))
	symlink(t, "gone", filepath.Join(home, "dangling"))
	symlink(t, "loop", filepath.Join(home, "loop"))
	symlink(t, "/var/lib", filepath.Join(w.root, "etc/state"))
	symlink(t, "real", filepath.Join(w.project, "inner"))
	symlink(t, filepath.Join(w.project, "real"), filepath.Join(w.project, "inner-absolute"))
	symlink(t, "../outside", filepath.Join(w.project, "outer"))
	symlink(t, out, filepath.Join(w.project, "outer-absolute"))
	symlink(t, "inner/../../outside", filepath.Join(w.project, "winding"))
	put(t, filepath.Join(w.project, "file"), "")

	for _, c := range []struct {
		in   LogicalPath
		want string // physical
		err  error
	}{
		{"/home/me/f", filepath.Join(home, "f"), nil},
		{"/home/me/.claude/rules/f", filepath.Join(home, "dotfiles/claude/rules/f"), nil},
		{"/home/me/absolute/claude/f", filepath.Join(home, "dotfiles/claude/f"), nil},
		{"/home/me/away/f", "", ErrEscapes},
		{"/home/me/up/f", "", ErrEscapes},
		{"/home/me/dangling-away/f", "", ErrEscapes},
		{"/home/me/dangling/f", "", fs.ErrNotExist},
		{"/home/me/away", filepath.Join(home, "away"), nil},
		{"/etc/state/f", filepath.Join(w.root, "var/lib/f"), nil},
		{"/etc/gone/deep/f", "", fs.ErrNotExist},
		{"inner/f", filepath.Join(w.project, "real/f"), nil},
		{"inner-absolute/g", filepath.Join(w.project, "real/g"), nil},
		{"outer/f", "", ErrEscapes},
		{"outer-absolute/f", "", ErrEscapes},
		{"winding/f", "", ErrEscapes},
		{"outer", filepath.Join(w.project, "outer"), nil},
		{"file/f", "", ErrBlocked},
		{"../f", "", ErrEscapes},
		{"..", "", ErrEscapes},
		{"a/../../f", "", ErrEscapes},
		{"/home/../../f", "", ErrEscapes},
		{"a//b", "", fs.ErrInvalid},
		{"./b", "", fs.ErrInvalid},
		{"", "", fs.ErrInvalid},
		{"a\x00b", "", fs.ErrInvalid},
	} {
		err := w.Replace(c.in, Content{Bytes: []byte("x")}, absent, nil)
		if c.err != nil {
			if !errors.Is(err, c.err) {
				t.Errorf("%q: got %v, want %v", c.in, err, c.err)
			}
			continue
		}
		got, perr := w.Physical(c.in)
		if got != c.want || perr != nil {
			t.Errorf("%q: physical %s, %v; want %s", c.in, got, perr, c.want)
		}
		if err != nil && !errors.Is(err, ErrBlocked) { // a link as the last element is in the way, not followed
			t.Errorf("%q: %v", c.in, err)
		}
	}
	if names(t, out)+names(t, filepath.Join(w.root, "mnt")) != "" {
		t.Fatal("something was written outside")
	}
	err := w.Replace("outer/f", Content{}, absent, nil)
	if !strings.Contains(err.Error(), filepath.Join(w.project, "outer")+" -> ../outside") {
		t.Errorf("the error does not name the link and its target: %v", err)
	}
	if _, err := w.Lstat("/home/me/loop/f"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a loop of links: %v", err)
	}
}

func TestAHomeBehindALinkIsStillAHome(t *testing.T) {
	w := newWorld(t, nil)
	if err := os.Rename(filepath.Join(w.root, "home"), filepath.Join(w.root, "moved")); err != nil {
		t.Fatal(err)
	}
	symlink(t, "/moved", filepath.Join(w.root, "home"))
	mkdir(t, filepath.Join(w.root, "moved/me/dot"))
	symlink(t, "/home/me/dot", filepath.Join(w.root, "moved/me/.claude"))
	if err := w.Replace("/home/me/.claude/f", Content{Bytes: []byte("x")}, absent, nil); err != nil {
		t.Fatal(err)
	}
	if get(t, filepath.Join(w.root, "moved/me/dot/f")) != "x" {
		t.Fatal("not there")
	}
}

func TestASwappedParentDoesNotRedirectAWrite(t *testing.T) {
	var w world
	swapped := false
	w = newWorld(t, func(op Op) error {
		if op.Name == "create" && !swapped {
			swapped = true
			dir := filepath.Join(w.project, "d")
			if err := os.Rename(dir, dir+"-moved"); err != nil {
				t.Error(err)
			}
			symlink(t, w.root, dir)
		}
		return nil
	})
	mkdir(t, filepath.Join(w.project, "d"))
	before := names(t, w.root)
	if err := w.Replace("d/f", Content{Bytes: []byte("x")}, absent, nil); err != nil {
		t.Fatal(err)
	}
	if names(t, w.root) != before || get(t, filepath.Join(w.project, "d-moved/f")) != "x" {
		t.Fatal("the write was redirected")
	}
	if err := w.Replace("d/g", Content{}, absent, nil); !errors.Is(err, ErrEscapes) {
		t.Fatalf("the next write must see the link: %v", err)
	}
}

// Nothing is there in both cases; only where a link is in the way is there
// something to repair.
func TestADanglingLinkOnTheWayIsToldFromNothing(t *testing.T) {
	w := newWorld(t, nil)
	home := filepath.Join(w.root, "home/me")
	mkdir(t, filepath.Join(home, "here"))
	mkdir(t, filepath.Join(w.project, "here"))
	symlink(t, "gone", filepath.Join(home, "lost"))
	symlink(t, "here", filepath.Join(home, "found"))
	symlink(t, "lost", filepath.Join(w.project, "lost-too"))
	symlink(t, "gone/deeper", filepath.Join(w.project, "lost"))
	for p, dangling := range map[LogicalPath]bool{
		"/home/me/lost/f": true, "/home/me/lost/deep/f": true, "lost/f": true, "lost-too/f": true, "lost/deep/er/f": true,
		"/home/me/lost": false, "/home/me/gone/f": false, "/home/me/here/f": false, "/home/me/found/f": false, "/home/me/found/gone/f": false,
		"gone": false, "gone/deep/f": false, "here/f": false, "here/gone/f": false,
	} {
		for name, look := range map[string]func() error{
			"Digest":  func() error { _, _, err := w.Digest(p); return err },
			"Open":    func() error { _, err := w.Open(p); return err },
			"ReadDir": func() error { _, err := w.ReadDir(p.Dir()); return err },
		} {
			err := look()
			if p == "/home/me/lost" && name != "ReadDir" {
				if !errors.Is(err, ErrBlocked) {
					t.Errorf("%s of the link itself: %v", name, err)
				}
				continue
			}
			if err == nil && name == "ReadDir" && !dangling {
				continue
			}
			if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDangling) != dangling {
				t.Errorf("%s of %s: dangling %v, want %v: %v", name, p, errors.Is(err, ErrDangling), dangling, err)
			}
		}
	}
}

func TestAFolderThatWasMadeAnewIsFoundAgain(t *testing.T) {
	w := newWorld(t, nil)
	for range 3 {
		if _, err := w.MkdirAll("d/e", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := w.Replace("d/e/f", Content{}, absent, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(w.project, "d")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWithoutAProjectARelativePathIsAnError(t *testing.T) {
	w := newWorld(t, nil)
	d, err := New(Options{Root: w.root, Home: "/home/me", Tag: tag})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Replace("a", Content{}, absent, nil); err == nil {
		t.Fatal("written somewhere")
	}
	for _, o := range []Options{{Root: "/no/such/root"}, {Project: "/no/such/project"}, {Home: "me"}, {Home: "/home/../x"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
