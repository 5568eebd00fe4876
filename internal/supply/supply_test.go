// Package supply proves what SECURITY.md says of how the program is made. It
// has tests alone.
package supply

import (
	"bytes"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/proof"
)

// Two people build the same bytes out of the same files, in other folders, with
// other homes. The long form shares nothing that was compiled before.
func TestBuildIsReproducible(t *testing.T) {
	proved := proof.Start(t, 11)
	cache := goEnv(t, "GOCACHE")
	first := build(t, cache)
	if os.Getenv("AISYNC_PROOF") == "full" {
		cache = t.TempDir()
	}
	second := build(t, cache)
	if first != second {
		t.Errorf("one build has the digest %x, another of the same files %x", first, second)
	}
	proved("builds", 2)
}

// build copies what git tracks into a folder of its own, makes the program
// there and returns its digest.
func build(t *testing.T, cache string) [sha256.Size]byte {
	t.Helper()
	dir := t.TempDir()
	files, err := exec.Command("git", "-C", "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("needs a clone of the project: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		copyFile(t, filepath.Join("../..", name), filepath.Join(dir, name))
	}
	cmd := exec.Command("make", "build", "VERSION=v0.0.0-proof")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOCACHE="+cache, "HOME="+t.TempDir(), "GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOPATH="+goEnv(t, "GOPATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	program, err := os.ReadFile(filepath.Join(dir, "bin/aisync"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(program, []byte(dir)) {
		t.Errorf("the program holds the folder that it was built in")
	}
	return sha256.Sum256(program)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return // tracked, and deleted in this clone
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// A tool without a version is another program tomorrow.
func TestToolsArePinned(t *testing.T) {
	proved := proof.Start(t, 11)
	versioned := regexp.MustCompile(`[a-z]+\.[a-z]+/[\w./-]+@[\w.-]*`)
	run := regexp.MustCompile(`\bgo (?:run|install) "?([\w.-]+\.[a-z]+/[\w./@-]+)`)
	pinned := regexp.MustCompile(`@(v\d+\.\d+\.\d+(-.*)?|[0-9a-f]{40})$`)
	files, err := filepath.Glob("../../scripts/*")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range append(files, "../../.ci/run", "../../Makefile", "../../action.yml") {
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tools := versioned.FindAllString(string(text), -1)
		for _, m := range run.FindAllStringSubmatch(string(text), -1) {
			tools = append(tools, m[1])
		}
		for _, tool := range tools {
			found++
			if !pinned.MatchString(tool) {
				t.Errorf("%s: %s is no version of its own", filepath.Base(file), tool)
			}
		}
	}
	sums, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	proved("tools", found, "checksums", bytes.Count(sums, []byte(" h1:")))
}
