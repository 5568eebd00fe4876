package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCompareRelatesACheckoutToACommit(t *testing.T) {
	r := newRepo(t)
	one := r.commit("one\n")
	two := r.commit("two\n")
	r.git("checkout", "-q", "-b", "side", one)
	side := r.commit("side\n")
	r.git("checkout", "-q", "--detach", two)
	dropped := r.commit("dropped\n") // on no branch
	r.git("checkout", "-q", "main")
	now, err := LastChange(t.Context(), r.dir)
	if err != nil || now.Commit != two || now.Top == "" {
		t.Fatalf("%+v, %v; want commit %s", now, err, two)
	}
	elsewhere := "0123456789012345678901234567890123456789"
	earlier, later := now.Date.Add(-time.Hour), now.Date.Add(time.Hour)
	for _, x := range []struct {
		name, head, id string
		date           time.Time
		want           Order
	}{
		{"the same commit", "main", two, now.Date, Contains},
		{"an ancestor", "main", one, later, Contains},
		{"a descendant", one, two, earlier, Before},
		{"another branch", "main", side, earlier, Beside},
		{"a commit of no branch", "side", dropped, earlier, After},
		{"a later commit of no branch", "side", dropped, later, Before},
		{"an unknown commit, earlier", "main", elsewhere, earlier, Unknown},
		{"an unknown commit, later", "main", elsewhere, later, Before},
		{"no commit at all", "main", "--all", later, Before},
	} {
		t.Run(x.name, func(t *testing.T) {
			r.git("checkout", "-q", x.head)
			c, err := LastChange(t.Context(), r.dir)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.Compare(t.Context(), r.dir, x.id, x.date); got != x.want || err != nil {
				t.Errorf("got %d, %v; want %d", got, err, x.want)
			}
		})
	}
}

func TestLastChangeIsOfTheFolder(t *testing.T) {
	r := newRepo(t)
	dir := filepath.Join(r.dir, "rules")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := LastChange(t.Context(), dir); err == nil {
		t.Error("a repository without a commit has a last change")
	}
	r.commit("one\n")
	if _, err := LastChange(t.Context(), dir); err == nil {
		t.Error("a folder that git does not carry has a last change")
	}
	if err := os.WriteFile(filepath.Join(dir, "b.md"), []byte("b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	two := r.commit("two\n")
	r.commit("three\n") // nothing in the folder
	if c, err := LastChange(t.Context(), dir); err != nil || c.Commit != two {
		t.Errorf("got %+v, %v; want %s", c, err, two)
	}
}

func TestDirtyComparesTheNamedFilesWithHEAD(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		r := newRepo(t)
		r.git("init", "-q", "-b", "main", "--object-format="+format, "sub")
		r.dir = filepath.Join(r.dir, "sub")
		write := func(name, text string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("other.txt", "other\n")
		if err := os.Symlink("a.md", filepath.Join(r.dir, "link.md")); err != nil {
			t.Fatal(err)
		}
		r.commit("one\n")
		check := func(why string, want bool, files ...string) {
			t.Helper()
			if got, err := Dirty(t.Context(), r.dir, files); got != want || err != nil {
				t.Errorf("%s, %s: %v, %v; want %v", format, why, got, err, want)
			}
		}
		check("as committed", false, "a.md", "link.md", "other.txt")
		write("a.md", "one\r\n")
		check("with line ends of a checkout", false, "a.md")
		write("a.md", "edited\n")
		check("edited", true, "a.md")
		check("edited through a link", true, "link.md")
		check("another file edited", false, "other.txt")
		write("new.md", "new\n")
		check("a new file", true, "new.md")
		if err := os.Remove(filepath.Join(r.dir, "other.txt")); err != nil {
			t.Fatal(err)
		}
		check("a file of HEAD removed", true)
	}
}
