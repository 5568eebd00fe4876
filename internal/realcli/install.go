// Package realcli installs real agent programs from npm at pinned versions for
// its tests: what aisync writes is right if the program sends it to its model.
// No other package imports it. Call Cache.Install; see load_test.go.
package realcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"aisync.dev/aisync/internal/filelock"
)

// Package is an npm package at one version.
type Package struct {
	ID      string // of the runtime, if it is one
	Name    string // in npm
	Version string
	Command string // its program in PATH
}

// Agents are the runtimes under test. Newer versions may read other files: move
// one pin at a time, and check the tests.
var Agents = []Package{
	{"claude", "@anthropic-ai/claude-code", "2.1.329", "claude"},
	{"cline", "cline", "3.0.65", "cline"},
	{"codex", "@openai/codex", "0.169.0", "codex"},
	{"continue-cli", "@continuedev/cli", "1.5.47", "cn"},
	{"copilot", "@github/copilot", "1.0.102", "copilot"},
	{"gemini", "@google/gemini-cli", "0.61.0", "gemini"},
	{"grok", "@xai-official/grok", "1.0.41", "grok"},
	{"kilo", "@kilocode/cli", "7.7.7", "kilo"}, // npm lacks the program of 7.8.1 for Linux
	{"opencode", "opencode-ai", "1.18.33", "opencode"},
	{"pi", "@earendil-works/pi-coding-agent", "1.5.2", "pi"},
	{"qwen", "@qwen-code/qwen-code", "0.24.4", "qwen"},
}

// Parsers cannot be run without their makers' login, and read what aisync writes
// without one.
var Parsers = []Package{
	{"amp", "@sourcegraph/amp", "0.0.1790142911-g7618fb", "amp"},
	{"auggie", "@augmentcode/auggie", "0.36.0", "auggie"},
	{"droid", "droid", "0.215.0", "droid"},
	{"qoder", "@qoder-ai/qodercli", "1.1.52", "qodercli"},
}

// Peers overlap with aisync; make bench compares them.
var Peers = []Package{
	{"rulesync", "rulesync", "17.0.0", "rulesync"},
	{"ruler", "@intellectronica/ruler", "0.3.44", "ruler"},
	{"skills", "skills", "1.7.4", "skills"},
}

// before is the latest publication date of dependencies, so that a pin fixes all
// of them. Another version of a package has those of the day of its installation.
const before = "2026-11-22"

// pinned reports whether p is one of the pins.
func (p Package) pinned() bool {
	return slices.Contains(slices.Concat(Agents, Peers, []Package{node, npm}), p)
}

// Some programs need a newer Node than a distribution has, and npm silently
// installs an older release of a program if Node is too old for it. So both come
// from npm.
var (
	node = Package{"node", "node-linux-" + map[string]string{"amd64": "x64"}[runtime.GOARCH], "24.21.0", "node"}
	npm  = Package{"npm", "npm", "11.19.1", "npm"}
)

// Cache is a folder of installed packages. A folder in it is complete or
// missing, whenever an installation is killed.
type Cache string

// DefaultCache is $AISYNC_TEST_CACHE, or aisync-test in the user's cache folder.
func DefaultCache() (Cache, error) {
	if dir := os.Getenv("AISYNC_TEST_CACHE"); dir != "" {
		dir, err := filepath.Abs(dir)
		return Cache(dir), err
	}
	dir, err := os.UserCacheDir()
	return Cache(filepath.Join(dir, "aisync-test")), err
}

// Dir returns the folder of p. Its name contains the pins.
func (c Cache) Dir(p Package) string {
	name := p.ID + "-" + p.Version + "-node" + node.Version
	if p.pinned() {
		name += "-" + before
	}
	return filepath.Join(string(c), "runtimes", name)
}

// Bin returns the PATH folder of p.
func (c Cache) Bin(p Package) string { return filepath.Join(c.Dir(p), "node_modules", ".bin") }

// NodeBin returns the PATH folder of the Node for packages.
func (c Cache) NodeBin() string { return filepath.Join(c.Dir(node), "node_modules", node.Name, "bin") }

// Has reports whether p is installed.
func (c Cache) Has(p Package) bool {
	_, err := os.Stat(c.Dir(p))
	return err == nil
}

// Install installs missing packages, and Node and npm for them, and reports each
// one's size and time. It needs any npm in PATH. Concurrent calls take turns.
func (c Cache) Install(ctx context.Context, say func(format string, args ...any), packages ...Package) error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("the programs are pinned for linux/amd64, this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if err := os.MkdirAll(filepath.Join(string(c), "runtimes"), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(string(c), "runtimes", "lock"), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock of %s: %w", c, err)
	}
	defer filelock.Unlock(lock)
	if err := filelock.Wait(ctx, lock, filelock.Exclusive); err != nil {
		return fmt.Errorf("lock of %s: %w", c, err)
	}
	for _, p := range append([]Package{node, npm}, packages...) {
		begin, how := time.Now(), "there already"
		if !c.Has(p) {
			if err := c.install(ctx, p); err != nil {
				return fmt.Errorf("install %s %s: %w", p.Name, p.Version, err)
			}
			how = fmt.Sprintf("installed in %.1f s", time.Since(begin).Seconds())
		}
		size, err := diskUse(c.Dir(p))
		if err != nil {
			return err
		}
		say("%-9s %-8s %4d MB  %s", p.ID, p.Version, size/1e6, how)
	}
	return os.RemoveAll(c.downloads())
}

// downloads returns npm's cache, which is kept until all is installed.
func (c Cache) downloads() string { return filepath.Join(string(c), "runtimes", "npm-cache") }

// install renames p into its folder once it is complete.
func (c Cache) install(ctx context.Context, p Package) error {
	// An npm whose caller was killed may still be writing.
	if left, err := filepath.Glob(c.Dir(p) + ".partial*"); err == nil {
		for _, dir := range left {
			os.RemoveAll(dir)
		}
	}
	dir, err := os.MkdirTemp(filepath.Join(string(c), "runtimes"), filepath.Base(c.Dir(p))+".partial")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // it has another name where all went well
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o644); err != nil {
		return err
	}
	args := []string{"install", p.Name + "@" + p.Version, "--cache=" + c.downloads(), "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"}
	if p.pinned() {
		args = append(args, "--before="+before)
	}
	cmd := exec.CommandContext(ctx, "npm", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PWD="+dir, "PATH="+c.Bin(npm)+":"+c.NodeBin()+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		return errors.New("npm is not in PATH; install it with the machine's package manager")
	} else if err != nil {
		return fmt.Errorf("npm: %w\n%s", err, out)
	}
	var got struct{ Version string }
	b, err := os.ReadFile(filepath.Join(dir, "node_modules", p.Name, "package.json"))
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil || got.Version != p.Version {
		return fmt.Errorf("npm installed version %q (error %v)", got.Version, err)
	}
	return os.Rename(dir, c.Dir(p))
}

// diskUse returns the size of the files below dir in bytes. It counts hard links
// once: some packages link their binary.
func diskUse(dir string) (sum int64, err error) {
	var linked []fs.FileInfo
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
			if slices.ContainsFunc(linked, func(l fs.FileInfo) bool { return os.SameFile(l, info) }) {
				return nil
			}
			linked = append(linked, info)
		}
		sum += info.Size()
		return nil
	})
	return sum, err
}
