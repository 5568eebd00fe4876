package packages

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/reconcile"
)

// recorded answers for programs that cannot be had where the tests run: what
// their documentation shows, by the words of the command. A command that is
// not among them fails as a program that says no.
type recorded map[string]string

func (r recorded) Run(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	line := strings.Join(argv, " ")
	line = strings.TrimPrefix(line, "env LC_ALL=C ")
	if out, ok := r[line]; ok {
		return []byte(out), nil
	}
	_, err := exec.CommandContext(ctx, "false").Output()
	return nil, fmt.Errorf("%s: %w", line, err)
}

func TestManagersListInstalledPackages(t *testing.T) {
	said := recorded{
		"brew list --versions aider goose":     "aider 0.85.0 0.86.1\n",
		"uv tool list --color never --offline": "aider-chat v0.86.1\n- aider\nruff v0.12.0\n- ruff\n",
		"pipx list --json":                     `{"pipx_spec_version":"0.1","venvs":{"aider-chat":{"metadata":{"main_package":{"package":"aider-chat","package_version":"0.86.1"}}}}}`,
	}
	m := newMachine(t, Options{}, said)
	for _, x := range []struct {
		by    *manager
		names []string
		want  string
	}{
		{&brew, []string{"aider", "goose"}, "0.86.1"},
		{&uv, []string{"aider-chat", "goose"}, "0.86.1"},
		{&pipx, []string{"aider-chat", "goose"}, "0.86.1"},
	} {
		at, err := m.p.at(m.read)
		must(t, err)
		found, err := x.by.look(t.Context(), at, x.names)
		if err != nil || found[x.names[0]].version != x.want || found["goose"].version != "" {
			t.Errorf("%s: %v, %v", x.by.name, found, err)
		}
	}
}

func TestTheNewestOfAPythonProgram(t *testing.T) {
	m := newMachine(t, Options{}, recorded{
		`sh -c command -v "$0" uv`:   "/bin/uv\n",
		`sh -c command -v "$0" pipx`: "/bin/pipx\n",
		`sh -c echo "$0" | uv pip compile --quiet --no-deps --no-header --no-annotate - aider-chat`: "aider-chat==0.86.1\n",
		"python3 -m pip index versions aider-chat":                                                  "aider-chat (0.86.1)\nAvailable versions: 0.86.1, 0.86.0\n",
	})
	for _, via := range []string{"uv", "pipx"} {
		if v, err := m.p.Latest(t.Context(), m.read, via, "aider-chat", ""); v.Version != "0.86.1" || err != nil {
			t.Errorf("%s: %q, %v", via, v.Version, err)
		}
	}
	if _, err := m.p.Latest(t.Context(), m.read, "cargo", "x", ""); err == nil || !strings.Contains(err.Error(), "cargo, which knows the versions of x, is not in PATH") {
		t.Errorf("without cargo: %v", err)
	}
}

// Without root, sudo is used where it asks nothing; else the command is given
// to the person, and nothing is tried.
func TestRootNeverAsksForPassword(t *testing.T) {
	said := recorded{`sh -c command -v "$0" pacman`: "/bin/pacman\n"}
	// On the machine itself, not below a root: nothing of it is touched.
	at := place{Options: Options{EUID: 1000}, ReadEnv: reconcile.ReadEnv{FS: newMachine(t, Options{}, said).fs, Run: said}, by: &pacman}
	batch := []reconcile.Change{
		{Target: reconcile.Target{Resource: reconcile.Resource{Address: Address("pacman", "tmux")}}, Leaves: []reconcile.LeafChange{{Want: &reconcile.Leaf{Body: request{want: anyVersion}}}}},
		{Target: reconcile.Target{Resource: reconcile.Resource{Address: Address("pacman", "vim")}}, Leaves: []reconcile.LeafChange{{}}},
	}
	problems := at.preflight(t.Context(), &pacman, batch)
	if len(problems) != 2 || !strings.Contains(problems[0].Err.Error(), "needs root") ||
		!strings.Contains(problems[1].Hint, "sudo pacman -Sy --needed --noconfirm --noprogressbar tmux && sudo pacman -R --noconfirm --noprogressbar vim") {
		t.Errorf("problems %+v", problems)
	}
	said["sudo -n true"] = ""
	if problems := at.preflight(t.Context(), &pacman, batch); len(problems) > 0 {
		t.Errorf("with sudo: %+v", problems)
	}
	if got := strings.Join(at.command([]string{"pacman", "-S", "tmux"}), " "); got != "sudo -n env LC_ALL=C pacman -S tmux" {
		t.Errorf("runs %s", got)
	}
	if got := strings.Join(at.command([]string{"pacman", "-Q"}), " "); got != "env LC_ALL=C pacman -Q" {
		t.Errorf("looks with %s", got)
	}
}

// helloModule is a Go module in a folder that serves as a proxy.
func helloModule(t *testing.T, dir string, versions ...string) {
	t.Helper()
	list := ""
	for _, v := range versions {
		list += v + "\n"
		at := filepath.Join(dir, "example.org/hello/@v", v)
		mod := "module example.org/hello\n\ngo 1.20\n"
		write(t, at+".info", []byte(`{"Version":"`+v+`","Time":"2024-01-01T00:00:00Z"}`))
		write(t, at+".mod", []byte(mod))
		prefix := "example.org/hello@" + v + "/"
		write(t, at+".zip", zipped(t, map[string]string{prefix + "go.mod": mod, prefix + "cmd/hello/main.go": "package main\n\nfunc main() { println(\"hello\") }\n"}))
	}
	write(t, filepath.Join(dir, "example.org/hello/@v/list"), []byte(list))
}

func TestGoBuildsAProgramThatSaysWhatItIs(t *testing.T) {
	needs(t, "go", "go")
	proxy := t.TempDir()
	helloModule(t, proxy, "v1.0.0", "v1.1.0")
	cache := t.TempDir()
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", cache).Run() }) // module caches are read-only
	m := newMachine(t, Options{}, runner{env: []string{"GOPROXY=file://" + proxy, "GONOSUMDB=*", "GOSUMDB=off", "GOFLAGS=", "GOMODCACHE=" + cache, "GOTOOLCHAIN=local"}})
	const pkg = "example.org/hello/cmd/hello"
	a := Address("go", pkg)
	if v, err := m.p.Latest(t.Context(), m.read, "go", pkg, ""); v.Version != "1.1.0" || err != nil {
		t.Errorf("the newest is %q, %v", v.Version, err)
	}
	must(t, m.apply(a, "=1.0.0"))
	if got := m.is(a); got != "1.0.0" {
		t.Errorf("built %q", got)
	}
	must(t, m.apply(a, "=1.1.0"))
	if got := m.is(a); got != "1.1.0" {
		t.Errorf("then built %q", got)
	}
	must(t, m.apply(a, ""))
	binary := filepath.Join(m.root, "home/me/.local/bin/hello")
	if _, err := os.Stat(binary); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", binary, err)
	}
	write(t, binary, []byte("#!/bin/sh\n"))
	if o := m.change(a, anyVersion).Before; o.Presence != reconcile.Blocked || !strings.Contains(o.Reason, "was not built from") {
		t.Errorf("a script of the person's: %+v", o)
	}
}

// crates serves two versions of one program as a registry does.
func crates(t *testing.T) *httptest.Server {
	t.Helper()
	index := ""
	files := map[string][]byte{}
	for _, v := range []string{"1.0.0", "1.1.0"} {
		dir := "tinyprog-" + v + "/"
		crate := archive(t,
			[2]string{dir + "Cargo.toml", "[package]\nname = \"tinyprog\"\nversion = \"" + v + "\"\nedition = \"2021\"\n"},
			[2]string{dir + "Cargo.lock", "version = 3\n\n[[package]]\nname = \"tinyprog\"\nversion = \"" + v + "\"\n"},
			[2]string{dir + "src/main.rs", "fn main() {}\n"})
		index += fmt.Sprintf(`{"name":"tinyprog","vers":"%s","deps":[],"cksum":"%x","features":{},"yanked":false}`+"\n", v, sha256.Sum256(crate))
		files["/dl/tinyprog/"+v+"/download"] = crate
	}
	files["/ti/ny/tinyprog"] = []byte(index)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/config.json" {
			fmt.Fprintf(w, `{"dl":"http://%s/dl"}`, r.Host)
			return
		}
		b, ok := files[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(b) // a client that left
	}))
	t.Cleanup(s.Close)
	return s
}

// ownRegistry names the registry where cargo would ask its own: for info alone
// a replacement in its configuration does not count.
type ownRegistry struct{ runner }

func (r ownRegistry) Run(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	if slices.Contains(argv, "info") {
		argv = append(argv, "--registry", "own")
	}
	return r.runner.Run(ctx, dir, argv...)
}

func TestCargoBuildsAndForgetsAProgram(t *testing.T) {
	needs(t, "cargo", "cargo")
	if out, err := exec.Command("cargo", "--version").CombinedOutput(); err != nil { // rustup's, with no toolchain in this home
		t.Skipf("needs a cargo that runs; install cargo: %s", out)
	}
	home := t.TempDir()
	write(t, filepath.Join(home, "config.toml"), []byte("[source.crates-io]\nreplace-with = \"own\"\n\n[registries.own]\nindex = \"sparse+"+crates(t).URL+"/\"\n"))
	m := newMachine(t, Options{}, ownRegistry{runner{env: []string{"CARGO_HOME=" + home}}})
	a := Address("cargo", "tinyprog")
	if got := m.is(a); got != "" {
		t.Errorf("an empty home has %q", got)
	}
	if v, err := m.p.Latest(t.Context(), m.read, "cargo", "tinyprog", ""); v.Version != "1.1.0" || err != nil {
		t.Errorf("the newest is %q, %v", v.Version, err)
	}
	for _, want := range []string{"1.0.0", "1.1.0"} {
		must(t, m.apply(a, exactly(want)))
		if got := m.is(a); got != want {
			t.Errorf("built %q, want %s", got, want)
		}
	}
	must(t, m.apply(a, ""))
	if got := m.is(a); got != "" {
		t.Errorf("after its removal there is %q", got)
	}
}

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		must(t, err)
		_, err = w.Write([]byte(text))
		must(t, err)
	}
	must(t, z.Close())
	return b.Bytes()
}
