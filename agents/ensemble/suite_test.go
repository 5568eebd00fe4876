package ensemble

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"aisync.dev/aisync/agents/ensemble/page"
)

// TestMain is also the program ensemble, for the tests of others.
func TestMain(m *testing.M) {
	if os.Getenv("ENSEMBLE_AS_PROGRAM") == "" {
		os.Exit(m.Run())
	}
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(Run(Program{Args: os.Args[1:], Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Dir: dir, Page: page.Write}))
}

// original returns a copy of the original: of the checkout that PI_ENSEMBLE_PEER
// names, or of the snapshot that lies beside the repository.
func original(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("needs node: ", err)
	}
	dir := t.TempDir()
	if checkout := os.Getenv("PI_ENSEMBLE_PEER"); checkout != "" {
		if err := os.CopyFS(dir, os.DirFS(checkout)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	f, err := os.Open("../../../shared/world/pi-ensemble.tar.gz")
	if err != nil {
		t.Skip("needs the snapshot of pi-ensemble, which lies beside the repository, or a checkout that PI_ENSEMBLE_PEER names: ", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(files)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err == nil {
			err = os.WriteFile(name, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The tests of the original hold for our program, each of them.
func TestOriginalSuite(t *testing.T) {
	dir := original(t)
	shim, err := os.ReadFile("testdata/core.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lib/core.mjs"), shim, 0o644); err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Glob(filepath.Join(dir, "test/*.test.mjs"))
	if err != nil || len(tests) == 0 {
		t.Fatal("the original has no tests: ", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", append([]string{"--test", "--test-reporter=tap"}, tests...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "USER=pi", "ENSEMBLE_PROGRAM=" + program}
	out, err := cmd.CombinedOutput()
	written := 0
	for _, name := range tests {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		written += len(regexp.MustCompile(`(?m)^test\(`).FindAll(text, -1))
	}
	if want := fmt.Appendf(nil, "\n# pass %d\n", written); err != nil || written == 0 || !bytes.Contains(out, want) {
		t.Errorf("%v; %d tests are written\n%s", err, written, out)
	}
}
