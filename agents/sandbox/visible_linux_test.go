package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plant makes a folder below dir, where this user may.
func plant(t *testing.T, dir string) string {
	t.Helper()
	at, err := os.MkdirTemp(dir, "aisync-test-")
	if err != nil {
		return ""
	}
	t.Cleanup(func() { os.RemoveAll(at) })
	write(t, filepath.Join(at, "project", "secret"), "of another project\n")
	if err := os.Chmod(at, 0o755); err != nil {
		t.Fatal(err)
	}
	return at
}

// Only what is shown is visible, wherever other projects and secrets lie.
func TestOnlyShownPlacesAreVisible(t *testing.T) {
	var planted []string
	for _, dir := range []string{"/", "/srv", "/opt", "/var/lib", "/usr/local/src", "/usr/src", "/usr", "/usr/local", "/mnt", "/home", "/root", "/var/tmp", "/tmp", "/dev/shm", "/etc", "/var/cache", "/data"} {
		if at := plant(t, dir); at != "" {
			planted = append(planted, at)
		}
	}
	t.Logf("%d places", len(planted))
	each(t, func(t *testing.T, b Box) {
		hidden := append(slices.Clone(planted), "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/ssh", "/etc/ssl/private", "/etc/sudoers", "/etc/environment", "/etc/fstab", "/etc/NetworkManager",
			"/boot", "/old_root", "/.old", "/var/lib/dpkg", "/var/log", "/sys/kernel/debug", "/sys/class", filepath.Dir(b.Home))
		for _, at := range hidden {
			if below(b.Tree, []string{at}) {
				if r := run(t, b, "ls "+at); strings.TrimSpace(r.Stdout) != filepath.Base(b.Home) {
					t.Errorf("%s shows %q", at, r.Stdout)
				}
				continue
			}
			if r := run(t, b, "ls -d "+at+" || cat "+at+"/project/secret"); r.Exit == 0 {
				t.Errorf("%s is visible", at)
			}
		}
		for dir, want := range map[string]string{
			"/":    "bin dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp usr var nix gnu " + strings.Split(b.Tree, "/")[1],
			"/var": "cache lib run tmp", "/root": ".cargo .pyenv .nvm go .local sdk .rustup", "/home": "", "/srv": "", "/mnt": "",
		} {
			r := run(t, b, "ls -A "+dir)
			for _, name := range strings.Fields(r.Stdout) {
				if !slices.Contains(strings.Fields(want), name) && !below(b.Tree, []string{filepath.Join(dir, name)}) && !onPath(filepath.Join(dir, name)) {
					t.Errorf("%s holds %s", dir, name)
				}
			}
		}
		if r := run(t, b, "ls /"); !strings.Contains(r.Stdout, "usr") || r.Exit != 0 {
			t.Errorf("%+v", r)
		}
		b.Show = []string{"/etc/fstab", "/"}
		if _, err := b.Run(t.Context(), Command{Argv: Shell("true")}); err == nil || !strings.Contains(err.Error(), "show /") {
			t.Errorf("--show /: %v", err)
		}
		for _, at := range planted[:min(2, len(planted))] {
			b.Show = []string{at + "/project"}
			if r := run(t, b, "cat "+at+"/project/secret && ! echo x 2>/dev/null >"+at+"/project/secret"); r.Exit != 0 || r.Stdout != "of another project\n" {
				t.Errorf("%s was shown: %+v", at, r)
			}
		}
	}, Namespaces, Bubblewrap)
}

// onPath reports whether a folder of PATH lies in at.
func onPath(at string) bool {
	return slices.ContainsFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool { return below(dir, []string{at}) })
}

// A hidden folder stays hidden inside a shown one, and a shown one inside that.
func TestDeepestPlaceDecides(t *testing.T) {
	each(t, func(t *testing.T, b Box) {
		for _, name := range []string{"src/repo/secret", "src/repo/.git/config", "src/other/text", "src/repo/trees/tree/own", "src/repo/trees/tree2/secret"} {
			write(t, filepath.Join(b.Home, name), name+"\n")
		}
		at := func(name string) string { return filepath.Join(b.Home, "src", name) }
		b.Tree, b.Show, b.Hide = at("repo/trees/tree"), []string{at(""), at("repo/.git")}, []string{at("repo"), at("repo/trees")}
		r := run(t, b, "cat own "+at("repo/.git/config")+" "+at("other/text")+" && ls -A "+at("repo")+" "+at("repo/trees")+" && echo x >made && ! echo x >"+at("other/text"))
		if r.Exit != 0 || strings.Contains(r.Stdout, "secret") || strings.Contains(r.Stdout, "tree2") || !strings.Contains(r.Stdout, "src/other/text\n") {
			t.Errorf("%+v", r)
		}
	}, Namespaces, Bubblewrap)
}

// The programs that PATH names run, with what they need from around them.
func TestProgramsOfPathRun(t *testing.T) {
	for name, line := range map[string]string{
		"go": "printf 'package main\\nfunc main() { println(1) }\\n' >m.go && gofmt -l m.go && go list fmt && go tool compile -p main m.go", "node": "node -e 'require(\"fs\"); require(\"https\")'", "git": "git init -q . && git status",
		"python3": "python3 -c 'import ssl, json; ssl.create_default_context()'", "gcc": "printf '#include <stdio.h>\\nint main(void) { puts(\"x\"); return 0; }\\n' >a.c && gcc -o a a.c && ./a", "perl": "perl -MPOSIX -e 1", "java": "java -version",
		"npm": "npm --version", "make": "make --version", "cargo": "cargo --version", "emacs": "emacs --batch --eval '(princ 1)'", "bash": "bash -c 'id -un'",
	} {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("no %s here", name)
			continue
		}
		outside := exec.Command("sh", "-c", line) // such as rustup's cargo without a toolchain
		outside.Dir = t.TempDir()
		if out, err := outside.CombinedOutput(); err != nil {
			t.Logf("%s does not work here: %v\n%s", name, err, out)
			continue
		}
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b Box) {
				b.Home = os.Getenv("HOME")
				b.Show = Toolchains(b.Home)
				if r := run(t, b, line); r.Exit != 0 {
					t.Errorf("%s: %+v", line, r)
				}
			}, Namespaces, Bubblewrap)
		})
	}
}

// Version managers, environments, packages and links in PATH are followed to
// the programs; repositories are not shown for a link that leads into them.
func TestPathIsFollowed(t *testing.T) {
	each(t, func(t *testing.T, b Box) {
		at := func(name string) string { return filepath.Join(b.Home, name) }
		program := func(name, text string) {
			if err := os.Chmod(write(t, at(name), text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		link := func(to, from string) {
			if err := os.MkdirAll(filepath.Dir(at(from)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, at(from)); err != nil {
				t.Fatal(err)
			}
		}
		// As pyenv: a shim that runs the version.
		program("pyenv/shims/snake", "#!/bin/sh\nexec "+at("pyenv/versions/3/bin/snake")+"\n")
		program("pyenv/versions/3/bin/snake", "#!/bin/sh\ncat "+at("pyenv/versions/3/lib/text")+"\n")
		write(t, at("pyenv/versions/3/lib/text"), "snake\n")
		// As nvm's current, and npm: a link to a folder, and to a package's script.
		program("nvm/versions/20/bin/knot", "#!/bin/sh\necho knot\n")
		link("versions/20", "nvm/current")
		program("nvm/versions/20/lib/node_modules/tie/cli", "#!"+at("nvm/current/bin/knot")+"\n")
		write(t, at("nvm/versions/20/lib/node_modules/dep/secret"), "dep\n")
		link("../lib/node_modules/tie/cli", "nvm/versions/20/bin/tie")
		// A tool at its own place, behind two links, and one behind a script's first line.
		program("apps/tool-1.2/bin/tool", "#!/bin/sh\ncat "+at("apps/tool-1.2/lib/text")+"\n")
		write(t, at("apps/tool-1.2/lib/text"), "tool\n")
		write(t, at("apps/tool-1.2/secret"), "x")
		link("tool-1.2", "apps/tool")
		link(at("apps/tool/bin/tool"), "bin/tool")
		program("elsewhere/bin/speak", "#!/bin/sh\necho spoken\n")
		program("bin/scripted", "#!"+at("elsewhere/bin/speak")+"\n")
		// Inside the hidden repository: an environment counts, its sources do not.
		program("repo/.venv/bin/vpy", "#!/bin/sh\ncat "+at("repo/.venv/pyvenv.cfg")+"\n")
		write(t, at("repo/.venv/pyvenv.cfg"), "venv\n")
		program("repo/bin/own", "#!/bin/sh\necho own\n")
		write(t, at("repo/lib/secret"), "x")
		write(t, at("lib/secret"), "x")
		link(at("repo/bin/own"), "bin/owned")
		link(at("repo/lib"), "bin/folder")
		b.Hide = []string{at("repo")}
		path := "PATH=" + strings.Join([]string{at("pyenv/shims"), at("nvm/current/bin"), at("bin"), at("repo/.venv/bin"), at("repo/bin"), b.Home, "/", "relative", at("missing"), os.Getenv("PATH")}, ":")
		in := func(line string) Result {
			r, err := b.Run(t.Context(), Command{Argv: Shell(line), Env: []string{path}})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		for line, want := range map[string]string{"snake": "snake\n", "knot": "knot\n", "tie": "knot\n", "tool": "tool\n", "scripted": "spoken\n", "vpy": "venv\n"} {
			if r := in(line); r.Exit != 0 || r.Stdout != want {
				t.Errorf("%s: %+v", line, r)
			}
		}
		for _, name := range []string{"repo/lib", "repo/bin", "apps/tool-1.2/secret", "lib"} {
			if r := in("ls " + at(name)); r.Exit == 0 {
				t.Errorf("%s is visible", name)
			}
		}
		for _, line := range []string{"own", "owned", "sh " + at("repo/bin/own") + " || exit 127", at("repo/bin/own"), "exec env own"} {
			if r := in(line); r.Exit != 127 || !strings.Contains(r.Stderr, "--show "+at("repo/bin")+"\n") || !strings.Contains(r.Stderr, at("repo/bin/own")+" is not visible in the sandbox") {
				t.Errorf("%s: %+v", line, r)
			}
		}
		if r := in("no-such-program"); r.Exit != 127 || strings.Contains(r.Stderr, "--show") {
			t.Errorf("a program that is nowhere: %+v", r)
		}
	}, Namespaces, Bubblewrap)
}
