package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/fakenpm"
)

// bareSpec is a host that needs a program of each kind.
const bareSpec = `package aisync

hosts: me: {
	runtimes: {
		demo: install: via: "npm"
		paned: install: via: "npm"
	}
	packages: ["tree"]
	mcp: notes: {command: "npx", args: ["-y", "notes"]}
	tasks: {nightly: "02:00", repos: ["~/code/a"]}
}
catalog: runtimes: demo: {command: "demo", packages: npm: "@own/demo"}
catalog: runtimes: paned: {command: "paned", packages: npm: "paned", worker: substrate: "tmux"}
`

// What plan --packages names is all that a bare system needs: pacman installs it, and
// nothing else but its base, out of a repository made of this machine's programs;
// then aisync and the programs run inside.
func TestPlanPackagesNamesAllThatABareRootNeeds(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("needs root on Linux: pacman refuses to install for anybody else")
	}
	for _, program := range []string{"pacman", "bwrap", "ldd", "node", "npm", "tmux", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s", program)
		}
	}
	if out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "true").CombinedOutput(); err != nil {
		t.Skipf("bwrap does not work here: %s", out)
	}
	registry := fakenpm.New()
	t.Cleanup(registry.Close)
	registry.Publish("@own/demo", "1.0.0", "demo", ">=18")
	registry.Publish("paned", "1.0.0", "paned", "")

	root, repo := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	write("home/me/.config/aisync/me.cue", bareSpec)
	write("etc/passwd", "root:x:0:0::/root:/bin/sh\n")
	write("etc/pacman.conf", "[options]\nArchitecture = any\nSigLevel = Never\nCacheDir = "+root+"/var/cache/pacman/pkg\n[own]\nServer = file://"+repo+"\n")
	for _, dir := range []string{"var/lib/pacman/local", "var/lib/pacman/sync", "var/cache/pacman/pkg", "var/log", "tmp", "dev", "proc"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	aisync, err := exec.LookPath("aisync")
	must(t, err)
	plan := exec.Command(aisync, "--root", root, "--config", filepath.Join(root, "home/me/.config/aisync"), "plan", "--scope", "host", "--packages", "pacman")
	plan.Env = append(os.Environ(), "HOME=/home/me", "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_DATA_HOME=")
	plan.Stderr = os.Stderr
	out, err := plan.Output()
	must(t, err)
	names := strings.Fields(string(out))
	if want := []string{"bubblewrap", "git", "nodejs", "npm", "tmux", "tree"}; !slices.Equal(names, want) {
		t.Fatalf("plan --packages pacman prints %q, want %q", names, want)
	}

	archRepository(t, repo)
	if out, err := exec.Command("pacman", append([]string{"--root", root, "--config", filepath.Join(root, "etc/pacman.conf"), "--noconfirm", "-Sy", "base"}, names...)...).CombinedOutput(); err != nil {
		t.Fatalf("pacman: %v\n%s", err, out)
	}
	inside := func(argv ...string) string {
		t.Helper()
		box := []string{"--bind", root, "/", "--dev", "/dev", "--proc", "/proc", "--clearenv", "--chdir", "/"}
		for _, v := range []string{"HOME=/home/me", "PATH=/home/me/.local/bin:/usr/bin", "npm_config_registry=" + registry.URL, "USER=root", "LANG=C.UTF-8"} {
			name, value, _ := strings.Cut(v, "=")
			box = append(box, "--setenv", name, value)
		}
		out, err := exec.Command("bwrap", append(box, argv...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("inside, %q: %v\n%s", argv, err, out)
		}
		return string(out)
	}
	inside("aisync", "apply", "--yes", "--scope", "host")
	for _, program := range []string{"demo", "paned"} {
		if got := inside(program, "hello"); got != program+" 1.0.0 hello\n" {
			t.Errorf("inside, %s prints %q", program, got)
		}
	}
	for _, argv := range [][]string{{"node", "--version"}, {"npm", "--version"}, {"npx", "--version"}, {"git", "--version"}, {"tmux", "-V"}, {"bwrap", "--version"}, {"tree", "/home"}} {
		if inside(argv...) == "" {
			t.Errorf("inside, %q prints nothing", argv)
		}
	}
	if got := inside("aisync", "plan", "--scope", "host", "--packages", "pacman"); got != "" {
		t.Errorf("once all is installed it still names %q", got)
	}
}

// archRepository fills dir with a repository of this machine's programs, under the
// names of Arch. Their libraries are a package that all of them need.
func archRepository(t *testing.T, dir string) {
	t.Helper()
	sh, err := filepath.EvalSymlinks("/bin/sh")
	must(t, err)
	at := func(name string) string {
		p, err := exec.LookPath(name)
		must(t, err)
		return p
	}
	npm, err := filepath.EvalSymlinks(at("npm"))
	must(t, err)
	npm = filepath.Dir(filepath.Dir(npm))
	core, err := exec.Command("git", "--exec-path").Output()
	must(t, err)
	exe, err := os.Executable()
	must(t, err)
	// What a package has: by its place there, where it lies here.
	contents := map[string]map[string]string{
		"base": {
			"usr/lib/locale/C.utf8": "/usr/lib/locale/C.utf8", "usr/bin/sh": sh, "usr/bin/aisync": exe, "usr/bin/env": at("env"), "usr/bin/rm": at("rm"), "usr/bin/cat": at("cat"), "usr/bin/uname": at("uname"), "usr/bin/pacman": at("pacman"),
		},
		"nodejs":     {"usr/bin/node": at("node")},
		"npm":        {"usr/lib/node_modules/npm": npm},
		"git":        {"usr/bin/git": at("git"), strings.TrimPrefix(strings.TrimSpace(string(core)), "/") + "/git-remote-http": filepath.Join(strings.TrimSpace(string(core)), "git-remote-http")},
		"tmux":       {"usr/bin/tmux": at("tmux")},
		"bubblewrap": {"usr/bin/bwrap": at("bwrap")},
		"tree":       {"usr/bin/tree": at("ls")}, // stands for any package that the spec names
	}
	links := map[string]map[string]string{
		"npm":  {"usr/bin/npm": "../lib/node_modules/npm/bin/npm-cli.js", "usr/bin/npx": "../lib/node_modules/npm/bin/npx-cli.js"},
		"base": {"bin": "usr/bin"},
	}
	needs := map[string][]string{"npm": {"nodejs", "libs"}, "libs": nil}
	libs := map[string]string{}
	for _, files := range contents {
		for _, from := range files {
			out, _ := exec.Command("ldd", from).Output() // nothing of a script or a folder
			for _, word := range strings.Fields(string(out)) {
				if strings.HasPrefix(word, "/") && !strings.HasSuffix(word, ":") {
					libs[strings.TrimPrefix(word, "/")] = word
				}
			}
		}
	}
	contents["libs"] = libs
	var db bytes.Buffer
	z := gzip.NewWriter(&db)
	index := tar.NewWriter(z)
	for name, files := range contents {
		depends, special := needs[name], needs[name] == nil && name == "libs"
		if depends == nil && !special {
			depends = []string{"libs"}
		}
		info := fmt.Sprintf("pkgname = %s\npkgbase = %[1]s\npkgver = 1-1\npkgdesc = test\nbuilddate = 1700000000\npackager = nobody\nsize = 1\narch = any\n", name)
		desc := fmt.Sprintf("%%FILENAME%%\n%s-1-1-any.pkg.tar\n\n%%NAME%%\n%[1]s\n\n%%BASE%%\n%[1]s\n\n%%VERSION%%\n1-1\n\n%%ARCH%%\nany\n\n%%BUILDDATE%%\n1700000000\n\n%%PACKAGER%%\nnobody\n\n", name)
		for _, d := range depends {
			info += "depend = " + d + "\n"
		}
		if len(depends) > 0 {
			desc += "%DEPENDS%\n" + strings.Join(depends, "\n") + "\n\n"
		}
		f, err := os.Create(filepath.Join(dir, name+"-1-1-any.pkg.tar"))
		must(t, err)
		w := tar.NewWriter(f)
		entry(t, w, ".PKGINFO", 0o644, []byte(info))
		for to, from := range files {
			for i := range to { // as in packages of Arch
				if to[i] == '/' {
					must(t, w.WriteHeader(&tar.Header{Name: to[:i+1], Mode: 0o755, Typeflag: tar.TypeDir}))
				}
			}
			addTo(t, w, to, from)
		}
		for at, to := range links[name] {
			must(t, w.WriteHeader(&tar.Header{Name: at, Linkname: to, Typeflag: tar.TypeSymlink, Mode: 0o777}))
		}
		must(t, w.Close())
		must(t, f.Close())
		must(t, index.WriteHeader(&tar.Header{Name: name + "-1-1/", Typeflag: tar.TypeDir, Mode: 0o755}))
		entry(t, index, name+"-1-1/desc", 0o644, []byte(desc))
	}
	must(t, index.Close())
	must(t, z.Close())
	must(t, os.WriteFile(filepath.Join(dir, "own.db"), db.Bytes(), 0o644))
}

func entry(t *testing.T, w *tar.Writer, name string, mode int64, b []byte) {
	t.Helper()
	must(t, w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(b)), Typeflag: tar.TypeReg}))
	_, err := w.Write(b)
	must(t, err)
}

// addTo packs the file or folder from under the name to, without links to outside.
func addTo(t *testing.T, w *tar.Writer, to, from string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path) // what a link names
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if info.IsDir() {
			return w.WriteHeader(&tar.Header{Name: filepath.Join(to, rel) + "/", Mode: 0o755, Typeflag: tar.TypeDir})
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		must(t, w.WriteHeader(&tar.Header{Name: filepath.Join(to, rel), Mode: int64(info.Mode().Perm()), Size: info.Size(), Typeflag: tar.TypeReg}))
		_, err = io.Copy(w, f)
		return err
	}))
}
