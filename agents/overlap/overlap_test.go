package overlap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"src/lib", "conf.d"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "Makefile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"src", "src", true},
		{"src", "src/a.go", true},
		{"src", "src2", false},
		{"src/a", "src/b", false},
		{"src/**", "src/a/b.go", true},
		{"src/**", "src", true},
		{"src/**", "srcs/a", false},
		{"src/*", "src/lib/x.go", true},
		{"src/*.go", "src/a.go", true},
		{"src/*.go", "src/a.md", false},
		{"src/*.go", "src/lib", false},
		{"src/*.go", "src", true},
		{"**/*.go", "src/lib", true},
		{"**/*.go", "README.md", false},
		{"**/*.go", "Makefile", false},
		{"**/*.go", "new", true},
		{"**/*.go", "conf.d", true},
		{"**/*.go", "docs/*.md", false},
		{"**/*.go", "docs/**", true},
		{"src/*", "src/lib/*.go", true},
		{"src/**/test", "src/a/*/test", true},
		{"src/a*", "src/*b", true},
		{"src/a*c", "src/b*c", false},
		{"src/a?.go*", "src/ab.go*", true},
		{"app/[id]/page.tsx", "app/i/page.tsx", false},
		{"app/[id]/*", "app/[id]/page.tsx", true},
		{"**", "anything/at/all", true},
		{"**/a/**/b/**/c/**/d", "**/e/**/f/**/g/**/h.txt", true},
		{"conf*", "conf.d/x*", true},
	} {
		a, b := filepath.Join(root, c.a), filepath.Join(root, c.b)
		if Paths(a, b) != c.want || Paths(b, a) != c.want {
			t.Errorf("%s and %s: %v and %v, want %v", c.a, c.b, Paths(a, b), Paths(b, a), c.want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		claim, path string
		want        bool
	}{
		{"/p/src", "/p/src/a/b", true},
		{"/p/src/a", "/p/src", false},
		{"/p/src/**", "/p/src/a/b", true},
		{"/p/src/*", "/p/src/a/b", true},
		{"/p/src/*.go", "/p/src/a.go", true},
		{"/p/src/*.go", "/p/src/a.go/b", false},
		{"/p/**/*.go", "/p/a.go", true},
		{"/p/**/*.go", "/p/x/y/a.go", true},
		{"/p/**/*.go", "/p/x/y", false},
		{"/", "/p", true},
		{"/**", "/p", true},
	} {
		if Covers(c.claim, c.path) != c.want {
			t.Errorf("%s covers %s: want %v", c.claim, c.path, c.want)
		}
	}
}

func TestBase(t *testing.T) {
	for claim, want := range map[string]string{"/p/src/**": "/p/src", "/p/s*": "/p", "/*": "/", "/p/a": "/p/a", "/p/a*/b*": "/p"} {
		if got := Base(claim); got != want {
			t.Errorf("%s: %s, want %s", claim, got, want)
		}
	}
}

// A path that two claims cover makes them meet: else two agents would hold it.
func FuzzPathsCoversAgree(f *testing.F) {
	f.Add("src/**", "src/a*", "src/a/b")
	f.Add("*.go", "a.*", "a.go")
	f.Add("a/*/c", "a/**", "a/b/c")
	f.Fuzz(func(t *testing.T, a, b, path string) {
		clean := func(s string) string { return filepath.Clean("/no/such/folder/" + strings.ReplaceAll(s, "..", "")) }
		a, b, path = clean(a), clean(b), clean(path)
		if IsPattern(path) || strings.Contains(path, "?") || !IsPattern(a) || !IsPattern(b) {
			return
		}
		if Covers(a, path) && Covers(b, path) && !Paths(a, b) {
			t.Errorf("%q and %q both cover %q but do not meet", a, b, path)
		}
	})
}
