package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The person for whom an installer works; no such ids are on this machine.
const annID, annGroup = 4321, 4322

// newSystem makes a system that was never booted: users, a home, a server program and
// a spec.
func newSystem(t *testing.T, aisync, source string) string {
	t.Helper()
	mnt := t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		name = filepath.Join(mnt, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("etc/passwd", fmt.Sprintf("root:x:0:0::/root:/bin/sh\nann:x:%d:%d:Ann:/home/ann:/bin/sh\n", annID, annGroup), 0o644)
	put("etc/hostname", "velox\n", 0o644)
	put("etc/os-release", "ID=arch\n", 0o644)
	put("run/.keep", "", 0o644)
	put("tmp/.keep", "", 0o644)
	put("usr/bin/ollama", "#!/bin/sh\necho started >/started\n", 0o755)
	put("usr/bin/claude", "#!/bin/sh\n", 0o755)
	b, err := os.ReadFile(aisync)
	if err != nil {
		t.Fatal(err)
	}
	put("usr/bin/aisync", string(b), 0o755)
	put("home/ann/rules/agent-rules/brief.md", "# Brief\n\nBe brief.\n", 0o644)
	put("home/ann/.config/aisync/host.cue", strings.ReplaceAll(installerSpec, "SOURCE", source), 0o644)
	err = filepath.WalkDir(filepath.Join(mnt, "home/ann"), func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, annID, annGroup)
	})
	if err != nil {
		t.Fatal(err)
	}
	return mnt
}

const installerSpec = `package aisync

hosts: velox: {
	match: {}
	runtimes: claude: {}
	bundles: core: {source: "~/rules", parts: ["rules"]}
	packages: ["tmux"]
	models: tiny: {}
	services: local: {kind: "ollama", port: 11999, models: ["tiny"]}
}
catalog: models: tiny: {
	license: "MIT"
	context: 2048
	quants: F32: files: [{path: "tiny.gguf", size: 483136, sha256: "59a6a710d9e58c690949b25c2e6f3f0fcb4d57393c2c1e1ebcf773869ecd5bcd", sources: ["SOURCE/tiny.gguf"]}]
}
`

// treeBelow is what lies below mnt and was not there at the beginning: path to
// owner, kind and content. State, cache and the store's own books are left out:
// they hold times.
func treeBelow(t *testing.T, mnt string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(mnt, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(mnt, name)
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		text := fmt.Sprintf("%d:%d %s", st.Uid, st.Gid, info.Mode())
		if strings.HasPrefix(rel, "home/ann/.local/state/") || strings.HasPrefix(rel, "home/ann/.local/share/llm/models/tmp/") || strings.HasPrefix(rel, "usr/bin") {
			out[rel] = fmt.Sprintf("%d:%d", st.Uid, st.Gid)
			return nil
		}
		switch {
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(name)
			out[rel] = text + " -> " + to
			return err
		case d.Type().IsRegular() && info.Size() < 100_000:
			b, err := os.ReadFile(name)
			out[rel] = text + "\n" + string(b)
			return err
		}
		out[rel] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An installer runs aisync for a person, as root, before the machine has ever
// been booted: the files are theirs, what shall run is enabled and not started,
// and it makes no difference whether that is done from outside or from inside.
func TestInstallerPreparesUnbootedSystem(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may write the files of another user, or change the root")
	}
	aisync := filepath.Join(t.TempDir(), "aisync")
	build := exec.Command("go", "build", "-o", aisync, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	source := httptest.NewServer(http.FileServer(http.Dir("../../golden/contract/models")))
	defer source.Close()

	run := func(want int, argv ...string) string {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = []string{"HOME=/root", "PATH=/usr/bin:/bin", "LANG=C"}
		cmd.Dir = "/"
		var out, complaint bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &complaint
		err := cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Fatalf("%q: exit code %d, want %d (%v)\n%s%s", argv[1:], got, want, err, out.Bytes(), complaint.Bytes())
		}
		return out.String()
	}
	mnt := newSystem(t, aisync, source.URL)
	before := treeBelow(t, mnt)
	from := []string{aisync, "--root", mnt, "--user", "ann"}

	if got := run(0, append(from, "plan", "--packages", "pacman")...); got != "tmux\n" {
		t.Errorf("packages to install: %q", got)
	}
	// Without a network, what needs none is done, and the rest by the next try.
	run(3, append(from, "apply", "--offline", "--yes", "--keep-going")...)
	if _, err := os.Stat(filepath.Join(mnt, "home/ann/.claude/rules/brief.md")); err != nil {
		t.Error("what needs no network waits for it:", err)
	}
	run(0, append(from, "apply", "--yes")...)
	after := treeBelow(t, mnt)
	for name, now := range after {
		if before[name] == now || strings.HasPrefix(name, "root/") {
			continue
		}
		if !strings.HasPrefix(name, "home/ann/") {
			t.Errorf("%s: changed, outside of the home that it works for", name)
		} else if !strings.HasPrefix(now, fmt.Sprintf("%d:%d", annID, annGroup)) {
			t.Errorf("%s belongs to %s", name, strings.SplitN(now, "\n", 2)[0])
		}
	}
	unit := "home/ann/.config/systemd/user/aisync-local.service"
	wants := "home/ann/.config/systemd/user/default.target.wants/aisync-local.service"
	if !strings.Contains(after[unit], "ExecStart=") {
		t.Errorf("the unit: %q", after[unit])
	}
	if link := after[wants]; !strings.Contains(link, "aisync-local.service") || strings.Contains(link, mnt) || strings.Contains(after[unit], mnt) {
		t.Errorf("it is enabled by %q", link)
	}
	if _, err := os.Stat(filepath.Join(mnt, "started")); err == nil {
		t.Error("the service was started")
	}
	again := run(0, append(from, "plan", "--detailed-exitcode")...)
	if strings.Contains(again, "+ ") {
		t.Errorf("the second plan has something to do:\n%s", again)
	}

	inside := newSystem(t, aisync, source.URL)
	run(0, "chroot", inside, "/usr/bin/aisync", "--user", "ann", "apply", "--yes")
	if _, err := os.Stat(filepath.Join(inside, "started")); err == nil {
		t.Error("the service was started from inside")
	}
	there := treeBelow(t, inside)
	var names []string
	for name := range after {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, "home/ann/.local/state/") || name == "." {
			continue
		}
		if a, b := after[name], there[name]; a != b && name != "home/ann/.config/aisync/host.cue" {
			t.Errorf("%s differs\nfrom outside: %s\nfrom inside:  %s", name, a, b)
		}
	}
}
