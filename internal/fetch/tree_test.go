package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repository makes a git repository with a tag v1 and a later commit.
func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	must(t, os.MkdirAll(filepath.Join(dir, "rules/deep"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "rules/deep/a.md"), []byte("one"), 0o644))
	must(t, os.Symlink("deep/a.md", filepath.Join(dir, "rules/inside.md")))
	must(t, os.Symlink("../../../etc/passwd", filepath.Join(dir, "leads-out")))
	git("add", ".")
	git("commit", "-qm", "one")
	git("rm", "-q", "leads-out")
	git("commit", "-qm", "no link")
	git("tag", "v1")
	must(t, os.WriteFile(filepath.Join(dir, "rules/deep/a.md"), []byte("two"), 0o644))
	git("commit", "-qam", "two")
	return dir
}

func TestATreeOfGitHasTheFilesOfItsRef(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	for src, want := range map[string]string{
		"git::file://" + repo:                       "rules/deep/a.md=two",
		"git::file://" + repo + "?ref=v1":           "rules/deep/a.md=one",
		"git::file://" + repo + "//rules?ref=v1":    "deep/a.md=one inside.md=one",
		"git::file://" + repo + "//rules/d*?ref=v1": "a.md=one",
	} {
		dst := filepath.Join(t.TempDir(), "out")
		if err := quick(nil).Tree(t.Context(), src, dst); err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		for pair := range strings.SplitSeq(want, " ") {
			name, content, _ := strings.Cut(pair, "=")
			if got, err := os.ReadFile(filepath.Join(dst, name)); err != nil || string(got) != content {
				t.Errorf("%s: %s holds %q, %v", src, name, got, err)
			}
		}
		head, err := exec.Command("git", "-C", dst, "rev-parse", "HEAD").Output()
		commit, _ := exec.Command("git", "-C", repo, "rev-parse", map[bool]string{true: "v1", false: "HEAD"}[strings.Contains(src, "v1")]).Output()
		if err != nil || string(head) != string(commit) {
			t.Errorf("%s: at commit %q, %v; want %q", src, head, err, commit)
		}
		alone(t, dst)
	}
}

// alone checks that nothing but dst, if that, is in its folder.
func alone(t *testing.T, dst string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(dst))
	must(t, err)
	for _, e := range entries {
		if e.Name() != filepath.Base(dst) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestDisguisedSourceIsRefused(t *testing.T) {
	t.Parallel()
	repo := "git::file://" + repository(t)
	for src, want := range map[string]string{
		repo + "?ref=HEAD~2":                      "not the name of a commit",
		repo + "?ref=--orphan=x":                  "not the name of a commit",
		repo + "?ref=v9":                          "v9",
		repo + "?depth=x":                         `depth "x" is not a number`,
		repo + "?sshkey=QUJD":                     `"sshkey" is not allowed`,
		repo + "//../..":                          "",
		repo + "//none":                           "none",
		repo + "//rules/inside.md":                "not a folder",
		"git::ext::sh -c true":                    "",
		"git::--upload-pack=true":                 "invalid source",
		"git::ssh://-oProxyCommand=true/x":        "",
		"git::ssh://-oProxyCommand=true@host/x":   "invalid source",
		"https://example.org/a.tar.gz?checksum=x": `"checksum" is not allowed`,
		"https://example.org/page.html":           "unknown archive format",
		"https://example.org/a.gz":                "unknown archive format",
		"s3::https://s3.example.org/a.zip":        "",
		"file:///etc":                             "invalid source",
		"/etc":                                    "invalid source",
		"github.com/me/rules":                     "invalid source",
	} {
		dst := filepath.Join(t.TempDir(), "out")
		err := quick(nil).Tree(t.Context(), src, dst)
		contains(t, err, want)
		if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s made %s", src, dst)
		}
		alone(t, dst)
	}
}

func TestATreeWithALinkThatLeadsOutIsRefused(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	out, err := exec.Command("git", "-C", dir, "rev-parse", "HEAD~2").Output()
	must(t, err)
	dst := filepath.Join(t.TempDir(), "out")
	err = quick(nil).Tree(t.Context(), "git::file://"+dir+"?ref="+strings.TrimSpace(string(out)), dst)
	contains(t, err, "leads-out leads out of the source", "etc/passwd")
	alone(t, dst)
}

func TestAnExistingFolderIsNotTouched(t *testing.T) {
	dst := t.TempDir()
	if err := quick(nil).Tree(t.Context(), "git::file:///nowhere", dst); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}

// packed is a .tar.gz of pairs of name and content.
func packed(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	w := tar.NewWriter(zip)
	for i := 0; i < len(pairs); i += 2 {
		must(t, w.WriteHeader(&tar.Header{Name: pairs[i], Mode: 0o755, Size: int64(len(pairs[i+1]))}))
		_, err := w.Write([]byte(pairs[i+1]))
		must(t, err)
	}
	must(t, errors.Join(w.Close(), zip.Close()))
	return buf.Bytes()
}

func TestAnArchiveIsUnpackedWithItsExecBits(t *testing.T) {
	s := serve(t, &server{data: packed(t, "top/hooks/check.sh", "#!/bin/sh\n", "top/rules/a.md", "one")})
	for _, src := range []string{s.URL + "/x.tar.gz//top", s.URL + "/x//*?archive=tgz"} {
		dst := filepath.Join(t.TempDir(), "out")
		must(t, quick(nil).Tree(t.Context(), src, dst))
		info, err := os.Stat(filepath.Join(dst, "hooks/check.sh"))
		must(t, err)
		if info.Mode().Perm() != 0o755 {
			t.Errorf("mode %v", info.Mode())
		}
		alone(t, dst)
	}
}

func TestAnArchiveCannotEscape(t *testing.T) {
	s := serve(t, &server{data: packed(t, "ok", "1", "../../escaped", "2")})
	dst := filepath.Join(t.TempDir(), "out")
	contains(t, quick(nil).Tree(t.Context(), s.URL+"/x.tar.gz", dst), "..")
	alone(t, dst)
	if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
		t.Error("half of an archive was kept")
	}
}

func TestAnArchiveThatIsTooLargeLeavesNothing(t *testing.T) {
	s := serve(t, &server{data: packed(t, "a.md", strings.Repeat("x", 2000))})
	c := quick(nil)
	c.treeLimits.Bytes = 1000
	dst := filepath.Join(t.TempDir(), "out")
	contains(t, c.Tree(t.Context(), s.URL+"/x.tar.gz", dst), "too large")
	alone(t, dst)
}

func TestAGitHostThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	c := quick(nil)
	c.stall = 100 * time.Millisecond
	dst := filepath.Join(t.TempDir(), "out")
	contains(t, c.Tree(t.Context(), "git::http://me:secret@"+l.Addr().String()+"/x.git", dst), "no output", "git::http://127.0.0.1")
	alone(t, dst)
}

func TestAServerCannotSendATreeElsewhere(t *testing.T) {
	s := serve(t, &server{first: answer(9, 200, "X-Terraform-Get", "git::file:///")})
	dst := filepath.Join(t.TempDir(), "out")
	if err := quick(nil).Tree(t.Context(), s.URL+"/x.tar.gz", dst); err == nil {
		t.Error("an empty archive was unpacked")
	}
	alone(t, dst)
}

func TestAFileOfARepositoryIsASource(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	store, physical := disk(t, nil)
	a := artifact([]byte("one"), "git::file://"+repo+"//rules/deep/a.md?ref=v1")
	err := quick(nil).Fetch(t.Context(), a, store, part, nil)
	holds(t, err, physical, []byte("one"))
	a.Sources[0] = "git::file://" + repo
	must(t, err)
	contains(t, quick(nil).Fetch(t.Context(), a, store, part+"2", nil), "no file named")
}
