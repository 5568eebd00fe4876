package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/providertest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// runner runs real programs.
type runner struct{ env []string }

func (r runner) Run(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), r.env...)
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w", shellquote.Join(argv), err)
	}
	return out, nil
}

// needs skips a test without a program.
func needs(t *testing.T, program, install string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("needs %s; install %s", program, install)
	}
}

// needsRoot skips a test that only root can run: package managers refuse others.
func needsRoot(t *testing.T, program string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skipf("needs root: %s refuses to install for anybody else", program)
	}
}

// archive is a tar.gz of files, by name and in order.
func archive(t *testing.T, files ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1])), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if strings.HasSuffix(f[0], "/") {
			h.Mode, h.Typeflag = 0o755, tar.TypeDir
		}
		must(t, w.WriteHeader(h))
		_, err := w.Write([]byte(f[1]))
		must(t, err)
	}
	must(t, w.Close())
	must(t, z.Close())
	return b.Bytes()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, b, 0o644))
}

// named are what the names of the suite stand for.
var named = map[string]string{"X": "1.0-1", "Y": "2.0-1", "Z": "3.0-1"}

// archRepositories makes one repository for each version of the package
// "tool", and returns the pacman.conf that names them.
func archRepositories(t *testing.T, dir string) string {
	conf := "[options]\nArchitecture = any\nSigLevel = Never\n"
	for _, name := range []string{"X", "Y", "Z"} {
		v := named[name]
		info := fmt.Sprintf("pkgname = tool\npkgbase = tool\npkgver = %s\npkgdesc = a tool\nbuilddate = 1700000000\npackager = nobody\nsize = 3\narch = any\n", v)
		pkg := archive(t, [2]string{".PKGINFO", info}, [2]string{"usr/", ""}, [2]string{"usr/share/", ""}, [2]string{"usr/share/tool", v + "\n"})
		file := "tool-" + v + "-any.pkg.tar.gz"
		repo := filepath.Join(dir, name)
		write(t, filepath.Join(repo, file), pkg)
		desc := fmt.Sprintf("%%FILENAME%%\n%s\n\n%%NAME%%\ntool\n\n%%BASE%%\ntool\n\n%%VERSION%%\n%s\n\n%%CSIZE%%\n%d\n\n%%ISIZE%%\n3\n\n%%SHA256SUM%%\n%x\n\n%%ARCH%%\nany\n\n%%BUILDDATE%%\n1700000000\n\n%%PACKAGER%%\nnobody\n\n",
			file, v, len(pkg), sha256.Sum256(pkg))
		write(t, filepath.Join(repo, "own"+strings.ToLower(name)+".db"), archive(t, [2]string{"tool-" + v + "/", ""}, [2]string{"tool-" + v + "/desc", desc}))
		conf += fmt.Sprintf("[own%s]\nServer = file://%s\n", strings.ToLower(name), repo)
	}
	return conf
}

// arch makes a root a machine that has nothing installed.
func arch(t *testing.T, root, conf string) {
	t.Helper()
	write(t, filepath.Join(root, "etc", "pacman.conf"), []byte(conf))
	for _, dir := range []string{"var/lib/pacman/local", "var/lib/pacman/sync", "var/cache/pacman/pkg", "var/log", "tmp"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
}

func TestPacmanPassesProviderSuite(t *testing.T) {
	needs(t, "pacman", "pacman-package-manager")
	needsRoot(t, "pacman")
	repos := t.TempDir()
	conf := archRepositories(t, repos)
	run := runner{}
	pacmanIn := func(t *testing.T, b *providertest.Bench, args ...string) (string, error) {
		out, err := run.Run(context.Background(), "/", append([]string{"pacman", "--root", b.Root, "--config", filepath.Join(b.Root, "etc", "pacman.conf"), "--noconfirm"}, args...)...)
		return string(out), err
	}
	providertest.Run(t, func(t *testing.T) providertest.Suite {
		return providertest.Suite{
			Provider: New(Options{EUID: os.Geteuid()}), Address: Address("pacman", "tool"), Run: run, Stride: 29, Kept: []string{"var"},
			Prepare: func(t *testing.T, b *providertest.Bench) { arch(t, b.Root, conf) },
			Want: func(_ *providertest.Bench, v string) []reconcile.Leaf {
				return []reconcile.Leaf{{Body: request{want: exactly(strings.TrimSuffix(named[v], "-1"))}}}
			},
			Put: func(t *testing.T, b *providertest.Bench, v string) {
				args := []string{"-R", "tool"}
				if v != "" {
					args = []string{"-U", filepath.Join(repos, v, "tool-"+named[v]+"-any.pkg.tar.gz")}
				}
				if _, err := pacmanIn(t, b, args...); err != nil && v != "" {
					t.Fatal(complaintLine(err))
				}
			},
			Get: func(t *testing.T, b *providertest.Bench) string {
				out, _ := pacmanIn(t, b, "-Q", "tool") // fails where it is not there
				for name, v := range named {
					if strings.TrimSpace(out) == "tool "+v {
						return name
					}
				}
				return strings.TrimSpace(out)
			},
		}
	})
}

// machine is a root with a home, and what a command is handed there.
type machine struct {
	t    *testing.T
	root string
	run  reconcile.Runner
	read reconcile.ReadEnv
	fs   fsys.FS
	p    Provider
}

func newMachine(t *testing.T, o Options, run reconcile.Runner) *machine {
	t.Helper()
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "home", "me"), 0o755))
	disk, err := fsys.New(fsys.Options{Root: root, Home: "/home/me", Tag: "t"})
	must(t, err)
	return &machine{t: t, root: root, run: run, fs: disk, p: New(o), read: reconcile.ReadEnv{FS: disk, Home: "/home/me", Run: run}}
}

// change is what a plan makes of a want, "" for none, where a was made before.
func (m *machine) change(a reconcile.Address, want constraint) reconcile.Change {
	m.t.Helper()
	c := reconcile.Change{Target: reconcile.Target{Resource: reconcile.Resource{Address: a}}}
	l := reconcile.LeafChange{Decision: reconcile.Decision{Action: reconcile.Delete}}
	if want != "" {
		l.Want = &reconcile.Leaf{Body: request{want: want}}
		l.Action = reconcile.Update
		c.Target.Resource.Leaves = []reconcile.Leaf{*l.Want}
	}
	c.Leaves = []reconcile.LeafChange{l}
	c.Before = m.p.Observe(m.t.Context(), m.read, []reconcile.Target{c.Target})[0]
	return c
}

func (m *machine) apply(a reconcile.Address, want constraint) error {
	m.t.Helper()
	_, err := m.p.Apply(m.t.Context(), m.change(a, want), reconcile.WriteEnv{ReadEnv: m.read, FS: m.fs})
	return err
}

// is is the version that is there, "" for none.
func (m *machine) is(a reconcile.Address) string {
	m.t.Helper()
	return constraint(m.change(a, "").Before.Token).exact()
}

func TestPacmanTakesAnyVersionAndSaysWhichItCannotHave(t *testing.T) {
	needs(t, "pacman", "pacman-package-manager")
	needsRoot(t, "pacman")
	m := newMachine(t, Options{EUID: os.Geteuid()}, runner{})
	arch(t, m.root, archRepositories(t, t.TempDir()))
	a := Address("pacman", "tool")
	must(t, m.apply(a, anyVersion))
	if got := m.is(a); got != named["X"] { // of the first repository
		t.Errorf("installed %q", got)
	}
	must(t, m.apply(a, ">=2.5"))
	if got := m.is(a); got != named["Z"] {
		t.Errorf("at least 2.5 is %q", got)
	}
	if o := m.change(a, ">=2.0").Before; o.Live[""] != ">=2.0" {
		t.Errorf("version 3.0 stands for %q where 2.0 or newer is wanted", o.Live[""])
	}
	if err := m.apply(a, "=9"); err == nil || !strings.Contains(err.Error(), "tool=9") {
		t.Errorf("a version that no repository has: %v", err)
	}
	if err := m.apply(Address("pacman", "nothing"), anyVersion); err == nil || !strings.Contains(err.Error(), "target not found: nothing") {
		t.Errorf("a package that no repository has: %v", err)
	}
	must(t, m.apply(a, ""))
	if got := m.is(a); got != "" {
		t.Errorf("after its removal there is %q", got)
	}
}
