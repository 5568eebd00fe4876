package git

import (
	"errors"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repo is a repository of a test.
type repo struct {
	t   *testing.T
	dir string
}

// TestMain keeps the configuration of the machine out of the tests.
func TestMain(m *testing.M) {
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	os.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	os.Exit(m.Run())
}

func newRepo(t *testing.T) repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits a.md with text and returns the commit.
func (r repo) commit(text string) string {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "a.md"), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
	r.git("add", "-A")
	r.git("commit", "-qm", text)
	return r.git("rev-parse", "HEAD")
}

func (r repo) url() string { return "file://" + r.dir }

// clone wants the commit and text of s.
func clone(t *testing.T, s Source, commit, text string) {
	t.Helper()
	dst := filepath.Join(t.TempDir(), "out")
	id, err := Clone(t.Context(), s, dst)
	if err != nil || id != commit {
		t.Errorf("%s at %q: %q, %v; want %s", s.URL, s.Ref, id, err, commit)
		return
	}
	if got, err := os.ReadFile(filepath.Join(dst, "a.md")); err != nil || string(got) != text {
		t.Errorf("%s at %q holds %q, %v", s.URL, s.Ref, got, err)
	}
}

func TestARefBecomesTheCommitThatItIsNow(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	one := r.commit("one\n")
	r.git("tag", "light")
	r.git("tag", "-a", "-m", "x", "heavy")
	two := r.commit("two\n")
	r.git("checkout", "-q", "-b", "side/way")
	three := r.commit("three\n")
	r.git("checkout", "-q", "main")
	for ref, want := range map[string][2]string{
		"": {two, "two\n"}, "main": {two, "two\n"}, "refs/heads/main": {two, "two\n"}, "side/way": {three, "three\n"},
		"light": {one, "one\n"}, "heavy": {one, "one\n"}, "refs/tags/heavy": {one, "one\n"}, one: {one, "one\n"}, two[:12]: {two, "two\n"},
	} {
		clone(t, Source{URL: r.url(), Ref: ref}, want[0], want[1])
	}
	clone(t, Source{URL: r.url(), Ref: "main", Depth: 1}, two, "two\n")
	_, err := Clone(t.Context(), Source{URL: r.url(), Ref: "mian"}, t.TempDir())
	if !errors.Is(err, ErrNoRef) || !strings.Contains(err.Error(), "main, side/way") && !strings.Contains(err.Error(), "it has") {
		t.Errorf("unknown ref: %v", err)
	}
	r.git("tag", "side/way", one)
	_, err = Clone(t.Context(), Source{URL: r.url(), Ref: "side/way"}, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "refs/heads/side/way or ref=refs/tags/side/way") {
		t.Errorf("a branch and a tag of one name: %v", err)
	}
}

func TestARepositoryComesOverBothKindsOfHTTP(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	id := r.commit("over http\n")
	r.git("update-server-info")
	dumb := httptest.NewServer(http.FileServer(http.Dir(r.dir)))
	defer dumb.Close()
	clone(t, Source{URL: dumb.URL + "/.git", Ref: "main"}, id, "over http\n")

	core, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(strings.TrimSpace(string(core)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skip("no git-http-backend")
	}
	smart := httptest.NewServer(&cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1"}})
	defer smart.Close()
	clone(t, Source{URL: smart.URL + "/" + filepath.Base(r.dir) + "/.git"}, id, "over http\n")
}

func TestACommitThatAForcedPushTookAwayIsSaidToBeGone(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("one\n")
	was := r.commit("two\n")
	r.git("reset", "-q", "--hard", "HEAD~1")
	r.git("reflog", "expire", "--expire=now", "--all")
	clone(t, Source{URL: r.url(), Ref: was}, was, "two\n") // no branch leads there, but the host still has it
	r.git("gc", "-q", "--prune=now")
	_, err := Clone(t.Context(), Source{URL: r.url(), Ref: was}, t.TempDir())
	if !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), was[:12]) {
		t.Errorf("got %v", err)
	}
}

func TestASilentHostIsGivenUpWithAllThatTalksToIt(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, scheme := range []string{"http", "git"} {
		began := time.Now()
		_, err := Clone(t.Context(), Source{URL: scheme + "://" + l.Addr().String() + "/x.git", Stall: 300 * time.Millisecond}, filepath.Join(t.TempDir(), "out"))
		var stalled *StallError
		if !errors.As(err, &stalled) {
			t.Errorf("%s: %v", scheme, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: took %s", scheme, took)
		}
	}
}

func TestNothingOfTheMachineOrTheRepositoryRunsOrChangesBytes(t *testing.T) {
	home := t.TempDir()
	config := filepath.Join(home, "config")
	hooks := filepath.Join(home, "hooks")
	if err := os.Mkdir(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(home, "ran")
	for path, text := range map[string]string{
		filepath.Join(hooks, "post-checkout"): "#!/bin/sh\ntouch " + ran + "\n",
		config:                                "[core]\n\tautocrlf = true\n\thooksPath = " + hooks + "\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := newRepo(t)
	id := r.commit("one\r\ntwo\nthree")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_DIR", "/nowhere")
	clone(t, Source{URL: r.url()}, id, "one\r\ntwo\nthree")
	if _, err := os.Stat(ran); err == nil {
		t.Error("a hook was run")
	}
	_, err := Clone(t.Context(), Source{URL: "ext::touch " + ran}, filepath.Join(t.TempDir(), "out"))
	if err == nil || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("ext: %v", err)
	}
	_, err = Clone(t.Context(), Source{URL: "--upload-pack=touch " + ran}, filepath.Join(t.TempDir(), "out"))
	if err == nil {
		t.Error("an option was taken for a repository")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command was run")
	}
}

// A filter, such as git-lfs, is set up on one machine and not on another.
func TestAFilterOfTheMachineChangesNoBytes(t *testing.T) {
	r := newRepo(t)
	if err := os.WriteFile(filepath.Join(r.dir, ".gitattributes"), []byte("*.md filter=mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	id := r.commit("one\n")
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("[filter \"mine\"]\n\tsmudge = tr a-z A-Z\n\trequired = true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	clone(t, Source{URL: r.url()}, id, "one\n")
}

// What gets a person to a host is theirs: other addresses, ssh, a proxy, a
// program that knows passwords.
func TestAPersonsWayToAHostIsTaken(t *testing.T) {
	r := newRepo(t)
	id := r.commit("one\n")
	home := t.TempDir()
	config := filepath.Join(home, "config")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	set := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := func(name, text string) string {
		t.Helper()
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	set("[url \"" + r.url() + "\"]\n\tinsteadOf = https://example.invalid/rules\n")
	clone(t, Source{URL: "https://example.invalid/rules"}, id, "one\n")

	ssh := program("ssh", "while [ $# -gt 1 ]; do shift; done\neval \"$1\"\n")
	set("[core]\n\tsshCommand = " + ssh + "\n")
	clone(t, Source{URL: "ssh://example.invalid" + r.dir}, id, "one\n")
	set("")
	t.Setenv("GIT_SSH_COMMAND", ssh)
	clone(t, Source{URL: "ssh://example.invalid" + r.dir}, id, "one\n")

	r.git("update-server-info")
	files := http.FileServer(http.Dir(r.dir))
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if user, word, ok := q.BasicAuth(); !ok || user != "pat" || word != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, q)
	}))
	defer host.Close()
	set("[credential]\n\thelper = " + program("helper", "echo username=pat\necho password=secret\n") + "\n")
	clone(t, Source{URL: host.URL + "/.git"}, id, "one\n")

	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Host != "example.invalid" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		files.ServeHTTP(w, q)
	}))
	defer proxy.Close()
	set("[http]\n\tproxy = " + proxy.URL + "\n")
	clone(t, Source{URL: "http://example.invalid/.git"}, id, "one\n")
	set("")
	t.Setenv("http_proxy", proxy.URL)
	clone(t, Source{URL: "http://example.invalid/.git"}, id, "one\n")
}

func TestAnEmptyRepositoryAndNoneAreSaid(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	if _, err := Clone(t.Context(), Source{URL: r.url()}, filepath.Join(t.TempDir(), "out")); err == nil {
		t.Error("an empty repository has a commit")
	}
	_, err := Clone(t.Context(), Source{URL: "file:///nowhere/at/all"}, filepath.Join(t.TempDir(), "out"))
	if err == nil || !strings.Contains(err.Error(), "does not appear to be a git repository") && !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("got %v", err)
	}
}

func TestEveryVersionOfAFileIsFoundUnderAllItsNames(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("one\n")
	r.commit("two\r\nno end")
	if err := os.Mkdir(filepath.Join(r.dir, "new"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("mv", "a.md", "new/ä b.md")
	r.git("commit", "-qm", "renamed")
	r.git("checkout", "-q", "-b", "side", "HEAD~2")
	r.commit("aside\n")
	r.git("checkout", "-q", "main")
	all, err := History(t.Context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := Texts(t.Context(), r.dir, all)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i, v := range all {
		got[v.Path] += "|" + string(texts[i])
	}
	if len(all) != 4 || got["new/ä b.md"] != "|two\r\nno end" || !strings.Contains(got["a.md"], "|aside\n") || !strings.HasSuffix(got["a.md"], "|one\n") {
		t.Errorf("got %q", got)
	}
	below, err := History(t.Context(), filepath.Join(r.dir, "new"))
	if err != nil || len(below) != 1 || below[0].Path != "ä b.md" {
		t.Errorf("below new: %v, %v", below, err)
	}
	if _, err := History(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder without git has a history")
	}
}

// What lies in .git of an untrusted folder may name programs.
func TestLookingRunsNothingThatARepositoryNames(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("one\n")
	ran := filepath.Join(t.TempDir(), "ran")
	for _, key := range []string{"core.fsmonitor", "core.pager", "gpg.program", "diff.external", "core.sshCommand", "diff.x.textconv", "core.gitProxy"} {
		r.git("config", key, "touch "+ran)
	}
	r.git("config", "log.showSignature", "true")
	r.git("config", "extensions.partialClone", "origin")
	r.git("config", "remote.origin.url", "ext::touch "+ran)
	r.git("config", "remote.origin.promisor", "true")
	all, err := History(t.Context(), r.dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	_, err = Texts(t.Context(), r.dir, append(all, Version{"x", strings.Repeat("1", 40)}))
	if err == nil {
		t.Error("an object that is not there has a text")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program was run")
	}
}
