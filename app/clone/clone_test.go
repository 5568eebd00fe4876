package clone

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSameRepository(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://example.org/me/machines.git", "https://example.org/me/machines", true},
		{"https://me:secret@example.org/me/machines.git", "https://example.org/me/machines.git", true},
		{"git@example.org:me/machines.git", "ssh://git@example.org/me/machines.git", true},
		{"/srv/machines.git", "file:///srv/machines.git", true},
		{"/srv/machines.git", "/srv/machines/", true},
		{"https://example.org/me/machines.git", "https://example.org/you/machines.git", false},
		{"https://example.org/me/machines.git", "ssh://git@example.org/me/machines.git", false},
		{"no remote", "/srv/machines.git", false},
	} {
		if same(c.a, c.b) != c.same {
			t.Errorf("same(%q, %q) is %v", c.a, c.b, !c.same)
		}
	}
}

func TestMergeLocks(t *testing.T) {
	line := func(name, commit string) string {
		return fmt.Sprintf(`{"kind":"bundle","name":%q,"values":{"commit":%q}}`+"\n", name, commit)
	}
	own := func(version, digest string) string {
		return fmt.Sprintf(`{"kind":"aisync","name":"oldest","values":{"version":%q}}`+"\n"+`{"kind":"catalog","name":"embedded","values":{"digest":%q}}`+"\n", version, digest)
	}
	const first = `{"format_version":1}` + "\n"
	for name, c := range map[string]struct{ base, here, there, want, both string }{
		"each adds one, side by side":   {"", line("a", "1"), line("b", "2"), line("a", "1") + line("b", "2"), ""},
		"both add the same":             {"", line("a", "1"), line("a", "1"), line("a", "1"), ""},
		"each moves another":            {line("a", "1") + line("b", "1"), line("a", "2") + line("b", "1"), line("a", "1") + line("b", "2"), line("a", "2") + line("b", "2"), ""},
		"one removes, the other keeps":  {line("a", "1") + line("b", "1"), line("a", "1"), line("a", "1") + line("b", "1"), line("a", "1"), ""},
		"both move one":                 {line("a", "1"), line("a", "2"), line("a", "3"), "", "bundle a at 2 / bundle a at 3"},
		"one removes, the other moves":  {line("a", "1"), "", line("a", "3"), "", "bundle a at none / bundle a at 3"},
		"two versions of aisync":        {own("v0.1.0", "x"), own("v0.3.0", "y"), own("v0.2.0", "z"), own("v0.3.0", "z"), ""},
		"without a common ancestor":     {"", line("a", "1"), line("a", "2"), "", "bundle a at 1 / bundle a at 2"},
		"a longer commit is cut at 12":  {"", line("a", strings.Repeat("0123456789", 4)), line("a", "2"), "", "bundle a at 012345678901 / bundle a at 2"},
		"what both have stays in order": {"", line("b", "1") + line("a", "1"), line("a", "1") + line("b", "1"), line("a", "1") + line("b", "1"), ""},
	} {
		text, both, err := mergeLocks([]byte(first+c.base), []byte(first+c.here), []byte(first+c.there))
		var got []string
		for _, b := range both {
			got = append(got, b.Here+" / "+b.There)
		}
		if err != nil || strings.Join(got, ", ") != c.both || c.both == "" && string(text) != first+c.want {
			t.Errorf("%s: %v\nboth %q\n%s", name, err, got, text)
		}
	}
	if _, _, err := mergeLocks(nil, []byte(first), []byte("<<<<<<< HEAD\n")); err == nil {
		t.Error("a damaged lock was merged")
	}
}

func TestErrorSaysWhatGitSaid(t *testing.T) {
	for output, want := range map[string]string{
		"Cloning into 'x'...\nHost key verification failed.\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n": "git clone: Host key verification failed; Could not read from remote repository",
		"me@example.org: Permission denied (publickey).\nfatal: Could not read from remote repository.\n":                                                                                        "git clone: me@example.org: Permission denied (publickey); Could not read from remote repository",
		"fatal: could not read Username for 'https://example.org': terminal prompts disabled\n":                                                                                                  "git clone: could not read Username for 'https://example.org': terminal prompts disabled",
		"remote: Invalid username or token.\nfatal: Authentication failed for 'https://me:hunter2@example.org/m.git/'\n":                                                                         "git clone: Invalid username or token; Authentication failed for 'https://example.org/m.git/'",
		"\n": "git clone: exit status 128",
	} {
		err := &Error{"clone", output, errors.New("exit status 128")}
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
		if Denied(err) != (output != "\n") {
			t.Errorf("%q: denied is %v", want, Denied(err))
		}
	}
}

// env is an environment in which git reads no configuration of this machine.
func env(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost"}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir, cmd.Env = dir, env(dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func allow(string) error { return nil }

// A server that refuses a token is named as such, and neither token nor half a clone
// is left.
func TestMakeWithWrongToken(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	defer s.Close()
	top := t.TempDir()
	dir := filepath.Join(top, "config", "aisync")
	mkdir(t, filepath.Dir(dir))
	url := strings.Replace(s.URL, "http://", "http://me:hunter2@", 1) + "/machines.git"
	_, err := Make(context.Background(), Source{URL: url}, dir, Options{Env: env(top)}, allow)
	if err == nil || !Denied(err) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v, denied %v", err, Denied(err))
	}
	if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// A clone over git's own protocol is fetched, merged and pushed to.
func TestFollowOverGitDaemon(t *testing.T) {
	top := t.TempDir()
	served := filepath.Join(top, "served")
	work := filepath.Join(top, "work")
	git(t, top, "init", "-q", "--bare", served+"/machines.git")
	git(t, top, "clone", "-q", served+"/machines.git", work)
	put(t, work, "a.cue", "package aisync\n")
	git(t, work, "add", ".")
	git(t, work, "commit", "-q", "-m", "one")
	git(t, work, "push", "-q", "origin", "HEAD:main")
	ctx := context.Background()
	url := daemon(t, served) + "/machines.git"
	dir := filepath.Join(top, "config", "aisync")
	mkdir(t, filepath.Dir(dir))
	made, err := Make(ctx, Source{URL: url}, dir, Options{Env: env(top)}, allow)
	if err != nil || !made.New {
		t.Fatal(made, err)
	}
	c := made.Clone
	put(t, work, "a.cue", "package aisync\n// two\n")
	git(t, work, "commit", "-q", "-a", "-m", "two")
	git(t, work, "push", "-q", "origin", "HEAD:main")
	put(t, dir, "b.cue", "package aisync\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "here")
	up, loose, err := c.Follows(ctx)
	if err != nil || loose != nil || up.Name() != "origin/main" {
		t.Fatal(up, loose, err)
	}
	if err := c.Fetch(ctx, up); err != nil {
		t.Fatal(err)
	}
	st, err := c.Compare(ctx, up)
	if err != nil || len(st.Behind) != 1 || len(st.Ahead) != 1 || len(st.Dropped) != 0 {
		t.Fatalf("%+v, %v", st, err)
	}
	before := git(t, dir, "rev-parse", "HEAD")
	r, err := c.Merge(ctx, up, st)
	if err != nil || len(r.Both) > 0 {
		t.Fatal(r, err)
	}
	if now := git(t, dir, "rev-parse", "HEAD"); now != before {
		t.Error("the clone moved before Take")
	}
	if err := r.Take(ctx); err != nil {
		t.Error(err)
	}
	r.Close()
	if err := c.Push(ctx, up); err != nil {
		t.Fatal(err)
	}
	if is, was := git(t, served+"/machines.git", "rev-parse", "main"), git(t, dir, "rev-parse", "HEAD"); is != was {
		t.Errorf("the server has %s, not %s", is, was)
	}
	if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) != 1 {
		t.Errorf("beside the clone there is %v", left)
	}
	// Someone else pushed first.
	git(t, work, "commit", "-q", "--allow-empty", "-m", "three")
	git(t, work, "pull", "-q", "--no-edit", "--no-rebase", "origin", "main")
	git(t, work, "push", "-q", "origin", "HEAD:main")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "late")
	if err := c.Push(ctx, up); !Moved(err) {
		t.Errorf("a push over another's commit: %v", err)
	}
}

// daemon serves the repositories below dir until the test ends.
func daemon(t *testing.T, dir string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	program := filepath.Join(strings.TrimSpace(git(t, dir, "--exec-path")), "git-daemon")
	if _, err := os.Stat(program); err != nil {
		t.Skip("git has no daemon here")
	}
	cmd := exec.Command(program, "--reuseaddr", "--listen=127.0.0.1", fmt.Sprintf("--port=%d", port), "--base-path="+dir, "--export-all", "--enable=receive-pack")
	cmd.Env = env(dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	at := fmt.Sprintf("127.0.0.1:%d", port)
	for range 200 {
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			return "git://" + at
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("git daemon does not answer")
	return ""
}

// The lock that aisync wrote here and that is not committed does not stand in the way
// of one that moves elsewhere; a killed process's folder is removed.
func TestTakeKeepsUncommittedPins(t *testing.T) {
	const first = `{"format_version":1}` + "\n"
	pin := func(name string) string {
		return `{"kind":"bundle","name":"` + name + `","values":{"commit":"1"}}` + "\n"
	}
	top := t.TempDir()
	work, bare := filepath.Join(top, "work"), filepath.Join(top, "machines.git")
	git(t, top, "init", "-q", "--bare", bare)
	git(t, top, "clone", "-q", bare, work)
	put(t, work, "a.cue", "package aisync\n")
	put(t, work, "aisync.lock", first+pin("m"))
	git(t, work, "add", ".")
	git(t, work, "commit", "-q", "-m", "one")
	git(t, work, "push", "-q", "origin", "HEAD:main")
	ctx := context.Background()
	dir := filepath.Join(top, "config", "aisync")
	mkdir(t, filepath.Join(top, "config", scratchName+"killed", "x"))
	made, err := Make(ctx, Source{URL: bare}, dir, Options{Env: env(top)}, allow)
	if err != nil {
		t.Fatal(err)
	}
	put(t, work, "aisync.lock", first+pin("m")+pin("z"))
	git(t, work, "commit", "-q", "-a", "-m", "two")
	git(t, work, "push", "-q", "origin", "HEAD:main")
	put(t, dir, "aisync.lock", first+pin("k")+pin("m"))
	c := made.Clone
	up, _, err := c.Follows(ctx)
	if err := errors.Join(err, c.Fetch(ctx, up)); err != nil {
		t.Fatal(err)
	}
	st, err := c.Compare(ctx, up)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Merge(ctx, up, st)
	if err != nil || len(r.Both) > 0 {
		t.Fatal(r, err)
	}
	defer r.Close()
	if err := r.Take(ctx); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "aisync.lock"))
	if want := first + pin("k") + pin("m") + pin("z"); err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
	if got := git(t, dir, "log", "-1", "--format=%s"); got != "two" {
		t.Errorf("the clone is at %q", got)
	}
}

// A commit may turn a folder into a link out of the repository: what is not committed
// in that folder here is not written there, nor removed there.
func TestMergeFollowsNoLinkOut(t *testing.T) {
	top := t.TempDir()
	work, bare, outside := filepath.Join(top, "work"), filepath.Join(top, "machines.git"), filepath.Join(top, "outside")
	mkdir(t, outside)
	put(t, outside, "own.md", "outside\n")
	git(t, top, "init", "-q", "--bare", bare)
	git(t, top, "clone", "-q", bare, work)
	put(t, work, "a.cue", "package aisync\n")
	mkdir(t, filepath.Join(work, "bundle"))
	put(t, filepath.Join(work, "bundle"), "x.md", "1\n")
	git(t, work, "add", ".")
	git(t, work, "commit", "-q", "-m", "one")
	git(t, work, "push", "-q", "origin", "HEAD:main")
	ctx := context.Background()
	mkdir(t, filepath.Join(top, "config"))
	dir := filepath.Join(top, "config", "aisync")
	made, err := Make(ctx, Source{URL: bare}, dir, Options{Env: env(top)}, allow)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "bundle"), "own.md", "here\n")
	git(t, work, "rm", "-q", "-r", "bundle")
	if err := os.Symlink(outside, filepath.Join(work, "bundle")); err != nil {
		t.Fatal(err)
	}
	git(t, work, "add", ".")
	git(t, work, "commit", "-q", "-m", "a link")
	git(t, work, "push", "-q", "origin", "HEAD:main")
	c := made.Clone
	up, _, err := c.Follows(ctx)
	if err := errors.Join(err, c.Fetch(ctx, up)); err != nil {
		t.Fatal(err)
	}
	st, err := c.Compare(ctx, up)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Merge(ctx, up, st); err == nil {
		t.Error("the link was followed")
	}
	for file, want := range map[string]string{filepath.Join(outside, "own.md"): "outside\n", filepath.Join(dir, "bundle", "own.md"): "here\n", filepath.Join(dir, "bundle", "x.md"): "1\n"} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) != 1 {
		t.Errorf("beside the clone there is %v", left)
	}
}

// A merge needs a name; without one nothing moves, and the error says so.
func TestMergeWithoutName(t *testing.T) {
	top := t.TempDir()
	work, bare := filepath.Join(top, "work"), filepath.Join(top, "machines.git")
	git(t, top, "init", "-q", "--bare", bare)
	git(t, top, "clone", "-q", bare, work)
	put(t, work, "a.cue", "package aisync\n")
	git(t, work, "add", ".")
	git(t, work, "commit", "-q", "-m", "one")
	git(t, work, "push", "-q", "origin", "HEAD:main")
	mkdir(t, filepath.Join(top, "config"))
	dir := filepath.Join(top, "config", "aisync")
	ctx := context.Background()
	nobody := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.useConfigOnly", "GIT_CONFIG_VALUE_0=true"}
	made, err := Make(ctx, Source{URL: bare}, dir, Options{Env: nobody}, allow)
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "here")
	git(t, work, "commit", "-q", "--allow-empty", "-m", "there")
	git(t, work, "push", "-q", "origin", "HEAD:main")
	c := made.Clone
	up, _, err := c.Follows(ctx)
	if err := errors.Join(err, c.Fetch(ctx, up)); err != nil {
		t.Fatal(err)
	}
	st, err := c.Compare(ctx, up)
	if err != nil {
		t.Fatal(err)
	}
	before := git(t, dir, "rev-parse", "HEAD")
	if _, err := c.Merge(ctx, up, st); !Nameless(err) {
		t.Errorf("error %v", err)
	}
	if now := git(t, dir, "rev-parse", "HEAD"); now != before {
		t.Error("the clone moved")
	}
}
