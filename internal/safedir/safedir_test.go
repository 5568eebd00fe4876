package safedir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestNamesMatchesGit(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "p"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(dir, "p")
	for _, c := range []struct {
		values []string
		want   bool
	}{
		{nil, false}, {[]string{"*"}, true}, {[]string{p}, true}, {[]string{p + "/"}, true}, {[]string{filepath.Join(dir, "l", "p")}, true},
		{[]string{dir}, false}, {[]string{dir + "/*"}, true}, {[]string{p + "/*"}, true}, {[]string{dir + "/q/*"}, false}, {[]string{dir + "/l/*"}, true},
		{[]string{"/*"}, true}, {[]string{"*", ""}, false}, {[]string{p, "", "/elsewhere"}, false}, {[]string{"", p}, true},
		{[]string{"p"}, false}, {[]string{"."}, false}, {[]string{p + "q"}, false}, {[]string{dir + "/p*"}, false},
	} {
		if got := Names(c.values, p); got != c.want {
			t.Errorf("%q: %v", c.values, got)
		}
	}
}

func TestCheckFolderFilesAndLinks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	const other = 65534
	for name, give := range map[string]func(dir string) error{
		"":          func(string) error { return nil },
		"folder":    func(dir string) error { return os.Chown(dir, other, -1) },
		"file":      func(dir string) error { return os.Chown(filepath.Join(dir, "a"), other, -1) },
		"link":      func(dir string) error { return os.Lchown(filepath.Join(dir, "l"), other, -1) },
		"link's":    func(dir string) error { return os.Chown(filepath.Join(dir, "far"), other, -1) },
		"elsewhere": func(dir string) error { return os.Chown(filepath.Join(dir, "x"), other, -1) },
	} {
		dir := t.TempDir()
		for _, f := range []string{"a", "far", "x"} {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Symlink("far", filepath.Join(dir, "l")), give(dir)); err != nil {
			t.Fatal(err)
		}
		want := name != "" && name != "elsewhere"
		var foreign *Foreign
		for _, u := range []struct {
			who  User
			want bool
		}{
			{User{Also: -1}, want}, {User{Also: other}, false}, {User{Also: -1, Sudo: "65534"}, false}, {User{Also: -1, Sudo: "65534x"}, want},
			{User{Also: -1, Sudo: "-1"}, want}, {User{Also: -1, Safe: func() []string { return []string{dir} }}, false},
			{User{Also: -1, Safe: func() []string { return []string{"/elsewhere"} }}, want},
		} {
			err := u.who.Check(dir, "a", "l", "missing")
			if errors.As(err, &foreign) != u.want || err != nil && !u.want {
				t.Errorf("%s, %+v: %v", name, u.who, err)
			}
		}
	}
	// SUDO_UID counts for root alone.
	dir := t.TempDir()
	var foreign *Foreign
	if err := (User{UID: 7, Also: -1, Sudo: "0"}).Check(dir); !errors.As(err, &foreign) || foreign.Owner != 0 {
		t.Error(err)
	}
}
