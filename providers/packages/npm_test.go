package packages

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aisync.dev/aisync/internal/fakenpm"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// npmMachine is a machine with the real npm and a registry of its own.
func npmMachine(t *testing.T, o Options) (*machine, *fakenpm.Registry) {
	t.Helper()
	needs(t, "npm", "nodejs and npm")
	r := fakenpm.New()
	t.Cleanup(r.Close)
	run := runner{env: []string{"npm_config_registry=" + r.URL, "npm_config_fetch_retries=0", "npm_config_cache=" + t.TempDir()}}
	m := newMachine(t, o, run)
	write(t, filepath.Join(m.root, "usr/include/node/node_version.h"), []byte("#define NODE_MAJOR_VERSION 20\n#define NODE_MINOR_VERSION 9\n#define NODE_PATCH_VERSION 0\n"))
	return m, r
}

const tool reconcile.Address = "package:npm/@own/tool"

func TestNpmInstallsUpdatesAndRemovesInAPrefixOfItsOwn(t *testing.T) {
	m, r := npmMachine(t, Options{})
	r.Publish("@own/tool", "1.0.0", "tool", "")
	r.Publish("@own/tool", "1.1.0", "tool", "")
	if got := m.is(tool); got != "" {
		t.Fatalf("an empty prefix has %q", got)
	}
	must(t, m.apply(tool, "=1.0.0"))
	program := filepath.Join(m.root, "home", "me", NpmPrefix, "bin", "tool")
	out, err := exec.Command(program, "hello").Output()
	if err != nil || string(out) != "tool 1.0.0 hello\n" {
		t.Errorf("it prints %q, %v", out, err)
	}
	if v, ok := Version(m.read, "@own/tool"); v != "1.0.0" || !ok {
		t.Errorf("Version says %q, %v", v, ok)
	}
	// What a killed npm leaves in the way of the next one.
	left := filepath.Join(m.root, "home", "me", NpmPrefix, "lib/node_modules/@own/.tool-AbCd1234")
	write(t, filepath.Join(left, "package.json"), []byte("{}"))
	must(t, m.apply(tool, "=1.1.0"))
	if got := m.is(tool); got != "1.1.0" {
		t.Errorf("after the update there is %q", got)
	}
	if _, err := os.Stat(left); err == nil {
		t.Errorf("%s is still there", left)
	}
	must(t, m.apply(tool, ""))
	if entries, err := os.ReadDir(filepath.Join(m.root, "home", "me", NpmPrefix)); err != nil || len(entries) != 0 {
		t.Errorf("the empty prefix still holds %v, %v", entries, err)
	}
}

func TestKilledNpmInstallIsIncomplete(t *testing.T) {
	m, r := npmMachine(t, Options{})
	r.Publish("@own/tool", "1.0.0", "tool", "")
	must(t, m.apply(tool, "=1.0.0"))
	prefix := filepath.Join(m.root, "home", "me", NpmPrefix)
	main := filepath.Join(prefix, "lib/node_modules/@own/tool/main.js")
	must(t, os.Remove(main))
	write(t, filepath.Join(prefix, "unfinished-@own+tool"), nil)
	if got := m.is(tool); got != "" {
		t.Errorf("half a package counts as %q", got)
	}
	must(t, m.apply(tool, "=1.0.0"))
	if _, err := os.Stat(main); err != nil || m.is(tool) != "1.0.0" {
		t.Errorf("after another apply: %v, version %q", err, m.is(tool))
	}
	must(t, m.apply(tool, ""))
	if entries, err := os.ReadDir(prefix); err != nil || len(entries) != 0 {
		t.Errorf("the empty prefix still holds %v, %v", entries, err)
	}
}

func TestFailingRegistryKeepsInstalledPackage(t *testing.T) {
	m, r := npmMachine(t, Options{})
	r.Publish("@own/tool", "1.0.0", "tool", "")
	must(t, m.apply(tool, "=1.0.0"))
	r.Publish("@own/tool", "2.0.0", "tool", "")
	r.Cut(true)
	err := m.apply(tool, "=2.0.0")
	if err == nil || !strings.Contains(err.Error(), "@own/tool") || !strings.Contains(err.Error(), "tries again") {
		t.Errorf("a tarball that ends half-way: %v", err)
	}
	if got := m.is(tool); got != "1.0.0" {
		t.Errorf("after the failure there is %q", got)
	}
	r.Cut(false)
	must(t, m.apply(tool, "=2.0.0"))
	if got := m.is(tool); got != "2.0.0" {
		t.Errorf("after another apply there is %q", got)
	}
}

func TestNpmProblemsAreReportedBeforehand(t *testing.T) {
	m, r := npmMachine(t, Options{})
	r.Publish("old", "1.0.0", "old", "")
	r.Publish("old", "2.0.0", "old", ">=99")
	r.Publish("fine", "1.0.0", "fine", "^20.0.0 || >=4")
	batch := []reconcile.Change{
		m.change(Address("npm", "old"), "=2.0.0"), m.change(Address("npm", "fine"), "=1.0.0"),
		m.change(Address("npm", "fine2"), "=1.0.0"), m.change(Address("npm", "missing"), "=7.0.0"),
	}
	r.Publish("fine2", "1.0.0", "fine2", "")
	got := map[reconcile.Address]string{}
	hints := ""
	for _, p := range m.p.Preflight(t.Context(), m.read, batch) {
		got[p.Address] = p.Err.Error()
		var h interface{ Hint() string }
		if errors.As(p.Err, &h) {
			hints += h.Hint()
		}
	}
	if len(got) != 2 {
		t.Errorf("problems %v", got)
	}
	if says := got[Address("npm", "old")]; !strings.Contains(says, "old 2.0.0 needs node >=99, and this machine has 20.9.0") {
		t.Errorf("old: %q", says)
	}
	if says := got[Address("npm", "missing")]; !strings.Contains(says, "missing") {
		t.Errorf("missing: %q", says)
	}
	if !strings.Contains(hints, `node: "99"`) {
		t.Errorf("the hint is %q", hints)
	}
	// A Node that comes with the same apply is the one that counts.
	r.Publish(nodePackages["linux/amd64"], "120.0.0", "node", "")
	batch = append(batch[:1], m.change(Address("npm", nodePackages["linux/amd64"]), "=120.0.0"))
	if p := m.p.Preflight(t.Context(), m.read, batch); len(p) > 0 {
		t.Errorf("with a newer node: %v", p)
	}
	for _, v := range []string{"120.21.0", "120.9.0", "121.0.0"} {
		r.Publish(nodePackages["linux/amd64"], v, "node", "")
	}
	if v, err := m.p.Latest(t.Context(), m.read, "npm", nodePackages["linux/amd64"], "120"); v.Version != "120.21.0" || err != nil {
		t.Errorf("the newest of 120 is %q, %v", v.Version, err)
	}
	if v, err := m.p.Latest(t.Context(), m.read, "npm", "old", ""); v.Version != "2.0.0" || err != nil {
		t.Errorf("the newest is %q, %v", v.Version, err)
	}
}

// dangling are the links below the home that point to nothing.
func (m *machine) dangling() []string {
	m.t.Helper()
	var out []string
	must(m.t, filepath.WalkDir(filepath.Join(m.root, "home/me"), func(path string, d os.DirEntry, err error) error {
		must(m.t, err)
		if _, err := os.Stat(path); err != nil {
			out = append(out, path)
		}
		return nil
	}))
	return out
}

// Of what a person or a kill took away, either half is put back.
func TestBrokenNpmProgramIsIncomplete(t *testing.T) {
	m, r := npmMachine(t, Options{})
	r.Publish("@own/tool", "1.0.0", "tool", "")
	prefix := filepath.Join(m.root, "home/me", NpmPrefix)
	for _, lost := range []string{"bin/tool", "lib/node_modules/@own/tool/main.js"} {
		must(t, m.apply(tool, "=1.0.0"))
		must(t, os.Remove(filepath.Join(prefix, lost)))
		if got := m.is(tool); got != "" {
			t.Errorf("without %s it counts as %q", lost, got)
		}
		must(t, m.apply(tool, "=1.0.0"))
		out, err := exec.Command(filepath.Join(prefix, "bin/tool")).Output()
		if err != nil || string(out) != "tool 1.0.0 \n" || len(m.dangling()) > 0 {
			t.Errorf("without %s, after another apply: %q, %v, dangling %v", lost, out, err, m.dangling())
		}
	}
}

func TestReleaseWithoutTheProgramIsRefused(t *testing.T) {
	m, r := npmMachine(t, Options{})
	r.Publish("@own/tool", "1.0.0", "tool", "")
	must(t, m.apply(tool, "=1.0.0"))
	r.Publish("@own/tool", "2.0.0", "utensil", "")
	c := m.change(tool, "=2.0.0")
	c.Leaves[0].Want.Body = request{want: "=2.0.0", program: "tool"}
	problems := m.p.Preflight(t.Context(), m.read, []reconcile.Change{c})
	if len(problems) != 1 || problems[0].Err.Error() != "@own/tool 2.0.0 has no program tool, only utensil" {
		t.Errorf("problems %v", problems)
	}
	// Where the registry does not say it, the link to it is not made.
	if _, err := m.p.Apply(t.Context(), c, reconcile.WriteEnv{ReadEnv: m.read, FS: m.fs}); err == nil || !strings.Contains(err.Error(), "npm installed @own/tool 2.0.0, which has no program tool") {
		t.Errorf("applied: %v", err)
	}
	if got := m.dangling(); len(got) > 0 {
		t.Errorf("dangling %v", got)
	}
}

// A Node out of npm stays while an installed program needs it.
func TestNodeThatAProgramNeedsIsNotTakenAway(t *testing.T) {
	m, r := npmMachine(t, Options{})
	node := Address("npm", nodePackages["linux/amd64"])
	for _, v := range []string{"24.1.0", "20.1.0"} {
		r.Publish(nodePackages["linux/amd64"], v, "node", "")
	}
	r.Publish("@own/tool", "1.0.0", "tool", ">=22.19")
	must(t, m.apply(node, "=24.1.0"))
	must(t, m.apply(tool, "=1.0.0"))
	for name, x := range map[string]struct {
		batch []reconcile.Change
		want  string
	}{
		"removed":         {[]reconcile.Change{m.change(node, "")}, "@own/tool 1.0.0 needs node >=22.19, and this machine has 20.9.0"},
		"older":           {[]reconcile.Change{m.change(node, "=20.1.0")}, "@own/tool 1.0.0 needs node >=22.19, and this machine has 20.1.0"},
		"removed with it": {[]reconcile.Change{m.change(node, ""), m.change(tool, "")}, ""},
	} {
		got := ""
		for _, p := range m.p.Preflight(t.Context(), m.read, x.batch) {
			got += p.Err.Error()
		}
		if got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

func TestMachineNode(t *testing.T) {
	needs(t, "node", "nodejs")
	here, err := exec.Command("node", "--version").Output()
	must(t, err)
	home, first := t.TempDir(), t.TempDir()
	fake := func(dir, version string) {
		write(t, filepath.Join(dir, "node"), []byte("#!/bin/sh\necho "+version+"\n"))
		must(t, os.Chmod(filepath.Join(dir, "node"), 0o755))
	}
	fake(filepath.Join(home, ".local/bin"), "v99.0.0")
	disk, err := fsys.New(fsys.Options{Root: "/", Home: fsys.LogicalPath(home), Tag: "t"})
	must(t, err)
	at := func(path string) Node {
		read := reconcile.ReadEnv{FS: disk, Home: fsys.LogicalPath(home), Run: runner{env: []string{"PATH=" + path}}}
		return New(Options{}).Node(t.Context(), read)
	}
	if got := at(home + "/.local/bin:" + os.Getenv("PATH")); got != (Node{strings.TrimPrefix(strings.TrimSpace(string(here)), "v"), true}) {
		t.Errorf("behind aisync's own link: %+v", got)
	}
	fake(first, "v18.1.2")
	if got := at(first + ":" + os.Getenv("PATH")); got != (Node{"18.1.2", true}) {
		t.Errorf("the first in PATH: %+v", got)
	}
}

func TestInstallingNeedsTheNetworkAndLookingDoesNot(t *testing.T) {
	m, r := npmMachine(t, Options{})
	r.Publish("@own/tool", "1.0.0", "tool", "")
	must(t, m.apply(tool, "=1.0.0"))
	m.p = New(Options{Offline: true})
	asked := len(r.Asked())
	problems := m.p.Preflight(t.Context(), m.read, []reconcile.Change{m.change(tool, "=2.0.0"), m.change(Address("npm", "gone"), "")})
	if len(problems) != 1 || !errors.Is(problems[0].Err, reconcile.ErrOffline) || problems[0].Address != tool {
		t.Errorf("problems %v", problems)
	}
	if got := r.Asked(); len(got) != asked {
		t.Errorf("the registry was asked for %v", got[asked:])
	}
}

func TestNpmInstallsForTheUserThatRootWorksFor(t *testing.T) {
	needs(t, "npm", "nodejs and npm")
	needs(t, "setpriv", "util-linux")
	needsRoot(t, "setpriv")
	const nobody = 65534
	m, r := npmMachine(t, Options{UID: nobody, GID: nobody, Chown: true})
	disk, err := fsys.New(fsys.Options{Root: m.root, Home: "/home/me", Tag: "t", UID: nobody, GID: nobody, Chown: true})
	must(t, err)
	m.fs, m.read.FS = disk, disk
	must(t, os.Chown(filepath.Join(m.root, "home", "me"), nobody, nobody))
	// The folders of a test are root's alone.
	for dir := m.root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	m.read.Run = runner{env: []string{"npm_config_registry=" + r.URL, "npm_config_cache=" + filepath.Join(m.root, "home/me/.npm")}}
	r.Publish("@own/tool", "1.0.0", "tool", "")
	must(t, m.apply(tool, "=1.0.0"))
	err = filepath.WalkDir(filepath.Join(m.root, "home", "me"), func(path string, d os.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid != nobody {
			t.Errorf("%s belongs to %d", path, uid)
		}
		return nil
	})
	must(t, err)
	if got := m.is(tool); got != "1.0.0" {
		t.Errorf("installed %q", got)
	}
}
