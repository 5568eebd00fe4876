package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/reconcile/fsys"
)

// tree makes files in a folder of the test, with links resolved.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindFollowsTheEnvironment(t *testing.T) {
	home := tree(t, map[string]string{"p/aisync.cue": "", "p/deep/er/x": ""})
	p, err := Find(Options{Cwd: filepath.Join(home, "p/deep/er"), Env: environ.Env{"HOME": home, "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "not/absolute"}})
	if err != nil {
		t.Fatal(err)
	}
	if p.Home != fsys.LogicalPath(home) || p.State != "/s/aisync" || p.Cache != p.Home.Join(".cache/aisync") || p.Config != home+"/.config/aisync" || p.Configured {
		t.Errorf("%+v", p)
	}
	if p.Project != home+"/p" {
		t.Errorf("project %s", p.Project)
	}
	if got := p.Short(home+"/p", home+"/p/x"); got != "x" {
		t.Error(got)
	}
	if got := p.Short("/elsewhere", home+"/.config/aisync"); got != "~/.config/aisync" {
		t.Error(got)
	}
}

func TestFindBelowARoot(t *testing.T) {
	root := tree(t, map[string]string{"etc/passwd": "root:x:0:0::/root:/bin/sh\nada:x:1000:1001::/home/ada:/bin/sh\nbad:x:a:b::/home/bad:\n"})
	cwd := tree(t, nil)
	p, err := Find(Options{Cwd: cwd, Env: environ.Env{"HOME": "/home/me", "XDG_STATE_HOME": "/s"}, Root: root, User: "ada"})
	if os.Geteuid() == 0 {
		if err != nil || p.UID != 1000 || p.GID != 1001 || !p.Chown || p.Home != "/home/ada" {
			t.Errorf("%+v %v", p, err)
		}
		if p.State != "/home/ada/.local/state/aisync" {
			t.Errorf("the environment of another user counts: %s", p.State)
		}
		if got := p.Physical(p.Home); got != root+"/home/ada" {
			t.Error(got)
		}
	} else if err == nil || err.Error() != "user ada: only root may write files of another user" {
		t.Errorf("%v", err)
	}
	for user, want := range map[string]string{"eve": "has no such user", "bad": "has no ids or no absolute home"} {
		_, err := Find(Options{Cwd: cwd, Root: root, User: user})
		if input := new(InputError); !errors.As(err, &input) || input.Input != "user "+user || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", user, err)
		}
	}
}

func TestARootThatIsNotThereIsAnEmptyMachine(t *testing.T) {
	cwd := tree(t, map[string]string{"aisync.cue": "x"})
	p, err := Find(Options{Cwd: cwd, Env: environ.Env{"HOME": "/"}, Root: "new", ProjectOnly: true})
	if err != nil || !p.NewRoot || p.Root != cwd+"/new" {
		t.Fatalf("%+v %v", p, err)
	}
	r, err := p.Reader("t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadFile("/etc/passwd"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the machine is not empty: %v", err)
	}
	if b, err := r.ReadFile("aisync.cue"); err != nil || string(b) != "x" {
		t.Errorf("the project is not seen: %q %v", b, err)
	}
	for name, err := range map[string]error{
		"lstat":    func() error { _, err := r.Lstat("/x"); return err }(),
		"open":     func() error { _, err := r.Open("/x"); return err }(),
		"digest":   func() error { _, _, err := r.Digest("/x"); return err }(),
		"readdir":  func() error { _, err := r.ReadDir("/"); return err }(),
		"readlink": func() error { _, err := r.Readlink("/x"); return err }(),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := r.Physical("/x"); err != nil || got != cwd+"/new/x" {
		t.Errorf("%s %v", got, err)
	}
}

func TestFindSaysWhichInputIsWrong(t *testing.T) {
	dir := tree(t, map[string]string{"file": ""})
	env := environ.Env{"HOME": dir}
	for want, o := range map[string]Options{
		"config: " + dir + "/none does not exist":     {Config: "none"},
		"config: " + dir + "/file is not a folder":    {Config: "file"},
		"project: " + dir + "/none does not exist":    {Project: "none"},
		"project: " + dir + " has no aisync.cue":      {Project: "."},
		"root: " + dir + "/file is not a folder":      {Root: "file"},
		"HOME is not set to an absolute path":         {Env: environ.Env{"HOME": "rel"}},
		"user me: open " + dir + "/none/etc/passwd: ": {Root: "none", User: "me"},
	} {
		o.Cwd = dir
		if o.Env == nil {
			o.Env = env
		}
		if _, err := Find(o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestACommandForAProjectNeedsNoHome(t *testing.T) {
	dir := tree(t, map[string]string{"aisync.cue": ""})
	p, err := Find(Options{Cwd: dir, Env: environ.Env{}, ProjectOnly: true})
	if err != nil || p.Home != Nowhere || p.Project != dir {
		t.Errorf("%+v %v", p, err)
	}
}

func TestARefusedProjectLeavesTheOtherPlacesValid(t *testing.T) {
	dir := tree(t, map[string]string{"aisync.cue": ""})
	if err := os.Symlink("/dev/zero", filepath.Join(dir, LockFile)); err != nil {
		t.Fatal(err)
	}
	p, err := Find(Options{Cwd: dir, Env: environ.Env{"HOME": dir}})
	if err == nil || p.Refused == nil || p.Project != "" || p.Home != fsys.LogicalPath(dir) {
		t.Errorf("%+v %v", p, err)
	}
}

func TestExpand(t *testing.T) {
	p := Places{Root: "/mnt", Home: "/home/me"}
	for in, want := range map[string]string{"~/x/y": "/mnt/home/me/x/y", "/etc/x": "/etc/x"} {
		if got := p.Expand(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
	if got := p.UserName("ada"); got != "ada" {
		t.Error(got)
	}
	if got := p.StateFile("x"); got != "x" {
		t.Error(got)
	}
}

func TestProjectOfANestedSpec(t *testing.T) {
	top := tree(t, map[string]string{
		"root/aisync.cue":                `project: name: "root"`,
		"root/packages/api/aisync.cue":   `project: {name: "api", extends: "../.."}`,
		"root/packages/api/src/x.go":     "",
		"root/packages/wrong/aisync.cue": `project: {name: "wrong", extends: ".."}`,
		"root/packages/sub/aisync.cue":   `project: {name: "sub", extends: "../.."}`,
		"root/packages/sub/.git/HEAD":    "",
		"root/packages/own/aisync.cue":   `project: name: "own"`,
		"alone/aisync.cue":               `project: {name: "alone", extends: ".."}`,
	})
	for _, c := range []struct{ cwd, named, want, from, problem string }{
		{"root", "", "root", "", ""},
		{"root/packages/api/src", "", "root", "root/packages/api", ""},
		{"alone", "../root/packages/api", "root", "root/packages/api", ""},
		{"root/packages/own", "", "root/packages/own", "", ""},
		{"root/packages/wrong", "", "", "", `write extends: "../.."`},
		{"root/packages/sub", "", "", "", "in the same git work tree"},
		{"alone", "", "", "", "no folder above"},
	} {
		dir, from, err := Project(filepath.Join(top, c.cwd), c.named)
		want, wantFrom := c.want, c.from
		if want != "" {
			want = filepath.Join(top, want)
		}
		if wantFrom != "" {
			wantFrom = filepath.Join(top, wantFrom)
		}
		if dir != want || from != wantFrom || (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s %s: %q, %q, %v", c.cwd, c.named, dir, from, err)
		}
	}
}
