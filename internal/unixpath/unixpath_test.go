package unixpath

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzPaths compares the functions with those of path/filepath.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"", "/", ".", "..", "a", "/a/b", "../a", "a/../..", "/a//b/./c/", "/..", "a/b/", "../../b", "//"} {
		for _, u := range []string{"", "/", "..", "b", "/a", "/a/c", "../b"} {
			f.Add(s, u)
		}
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsRune(a+b, 0) {
			return
		}
		if got, want := IsLocal(a), filepath.IsLocal(a); got != want {
			t.Errorf("IsLocal(%q): %v, want %v", a, got, want)
		}
		got, err := Rel(a, b)
		want, wanted := filepath.Rel(a, b)
		if (err == nil) != (wanted == nil) || err == nil && got != want {
			t.Errorf("Rel(%q, %q): %q %v, want %q %v", a, b, got, err, want, wanted)
		}
		abs, err := Abs(a)
		if want, wanted := filepath.Abs(a); abs != want || err != nil || wanted != nil {
			t.Errorf("Abs(%q): %q %v, want %q %v", a, abs, err, want, wanted)
		}
		if Join(a, b) != filepath.Join(a, b) || Base(a) != filepath.Base(a) || Dir(a) != filepath.Dir(a) || Ext(a) != filepath.Ext(a) || Clean(a) != filepath.Clean(a) || IsAbs(a) != filepath.IsAbs(a) {
			t.Errorf("%q, %q", a, b)
		}
	})
}

func TestLinksAndTrees(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"a/b", "x"} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"a/up": "..", "a/abs": dir + "/x", "x/rel": "../a/b", "loop": "loop", "gone": "nowhere", "x/two": "../a/up/a/b"} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a/b", "a/up/a", "a/abs", "x/rel", "x/two/..", "loop", "gone", "a/up/..", "x/rel/../../x", ".", "..", "../..", "nothing", "a/abs/rel"} {
		for _, name := range []string{name, dir + "/" + name} {
			got, err := EvalSymlinks(name)
			want, wanted := filepath.EvalSymlinks(name)
			if (err == nil) != (wanted == nil) || err == nil && got != want {
				t.Errorf("%s: %q %v, want %q %v", name, got, err, want, wanted)
			}
		}
	}
	walk := func(walk func(string, fs.WalkDirFunc) error, root string) (seen []string) {
		err := walk(root, func(name string, d fs.DirEntry, err error) error {
			seen = append(seen, name)
			if err != nil {
				seen = append(seen, "error")
			}
			if name == dir+"/a/b" {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return seen
	}
	for _, root := range []string{dir, dir + "/a", dir + "/a/up", dir + "/none", dir + "/gone", "x", "file"} {
		if got, want := walk(WalkDir, root), walk(filepath.WalkDir, root); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", root, got, want)
		}
	}
}

func TestLinksResolveLikeKernel(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"a/b/c", "d e"} {
		if err := os.MkdirAll(filepath.Join(top, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name, "x"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"up": "a/b/../b/c", "a/b/abs": filepath.Join(top, "d e"), "a/back": "../up/..", "chain": "a/back", "dangling": "nowhere", "self": "self",
		"ping": "pong", "pong": "ping", "root": "/", "a/dot": "././b//c/",
	} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"", "a", "up", "up/x", "a/b/abs", "a/b/abs/x", "a/back", "a/back/c", "chain", "chain/c/x", "a/dot", "root", "root/tmp",
		"dangling", "self", "ping/x", "d e/x/y", "missing/x", "a/b/c/x"} {
		want, wantErr := filepath.EvalSymlinks(filepath.Join(top, name))
		got, err := EvalSymlinks(filepath.Join(top, name))
		if (err != nil) != (wantErr != nil) || got != want {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, err, want, wantErr)
		}
	}
	if got, err := EvalSymlinks("/"); got != "/" || err != nil {
		t.Errorf("/: %q, %v", got, err)
	}
}
