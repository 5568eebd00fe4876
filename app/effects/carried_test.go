package effects

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestCarried(t *testing.T) {
	dir := t.TempDir()
	sh := func(script string) {
		t.Helper()
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	want := func(name string, carried bool) {
		t.Helper()
		if got := Carried(os.Environ(), dir)(name); got != carried {
			t.Errorf("%s: %v", name, got)
		}
	}
	sh("mkdir own sub && echo x > own/theirs && echo x > own/mine")
	want("own/mine", true) // no repository
	sh("git init -q . && git -C sub init -q && echo x > sub/mine && ln -s own linked && mkdir real && echo x > real/mine && ln -s real behind")
	want("own/mine", false) // nothing is committed
	sh("git add own/theirs behind && git commit -qm x && mkdir new && echo x > new/mine")
	want("own/mine", false)
	want("new/mine", false)
	want("own/theirs", true)
	want("linked/mine", true)
	want("behind/mine", true) // a link that came with the clone
	want("sub/mine", true)    // of another repository
	want("own/gone", true)
	if err := os.RemoveAll(filepath.Join(dir, "own")); err != nil {
		t.Fatal(err)
	}
	want("own/mine", true)
}
