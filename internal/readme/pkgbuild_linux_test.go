package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The tree that the tests lie in becomes a package, by the program that makes
// packages for Arch. It refuses root, so root goes by another number for it.
func TestPKGBUILDBuilds(t *testing.T) {
	if _, err := exec.LookPath("makepkg"); err != nil {
		t.Skip("needs makepkg")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(in string, argv ...string) string {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "PKGEXT=.pkg.tar.gz", "PKGDEST="+dir, "AISYNC_OFFLINE=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", argv[0], err, out)
		}
		return string(out)
	}
	tree := filepath.Join(dir, "tree")
	run(".", "git", "clone", "-q", "../..", tree)
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"packaging/arch/PKGBUILD", "Makefile", "scripts/install"} { // as they are now
		b, err := os.ReadFile(filepath.Join(here, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, name), b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	makepkg := []string{"makepkg", "--nodeps"}
	if os.Getuid() == 0 {
		if err := exec.Command("unshare", "-U", "--map-user=1000", "--map-group=1000", "true").Run(); err != nil {
			t.Skip("makepkg refuses root, and this machine allows no user namespace:", err)
		}
		makepkg = append([]string{"unshare", "-U", "--map-user=1000", "--map-group=1000"}, makepkg...)
	}
	run(filepath.Join(tree, "packaging/arch"), makepkg...)

	packages, err := filepath.Glob(filepath.Join(dir, "aisync-*.pkg.tar.gz"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("packages %q, %v", packages, err)
	}
	run(dir, "bsdtar", "-xf", packages[0])
	version := strings.TrimSpace(run(dir, "./usr/bin/aisync", "version"))
	b, err := os.ReadFile(filepath.Join(dir, ".PKGINFO"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "pkgver = ")
	number, _, _ := strings.Cut(rest, "-1\n")
	if number == "" || !strings.Contains(version, number) || !strings.Contains(number, ".r") {
		t.Errorf("the package is %q, the program says %q", number, version)
	}
	for _, name := range []string{"usr/share/man/man1/aisync-doctor.1.gz", "usr/share/zsh/site-functions/_aisync"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
