// Package hosts detects facts of a machine, matches hosts of a spec with them,
// and picks the quantization of a model that fits. It knows no projects and
// writes nothing. Call Detect.
package hosts

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/hosts/graphics"
)

// Options select where to look.
type Options struct {
	Root     string   // prefix of installed programs, home and store; "" is /
	Kernel   string   // prefix of /proc, /sys and /dev, which describe the hardware; "" is /. A system being installed below Root runs on this machine
	Home     string   // the person's home, below Root
	Store    string   // folder for models, below Root; "": none
	Path     []string // folders of programs; nil: those of PATH. Below Root where that is set
	Hostname string   // "": the machine's
	OS       string   // as GOOS; "": this one

	Run   graphics.Run // starts nvidia-smi, sysctl and system_profiler; nil: they are not asked
	Cache string       // file that keeps their answers for one boot; "": none
}

// managers are the package managers that can install programs.
var managers = []string{"apt-get", "brew", "cargo", "dnf", "flatpak", "go", "npm", "pacman", "paru", "pipx", "uv", "yay", "zypper"}

// helpers are programs, beside those of the catalog's runtimes, that matter to a
// plan or to doctor.
var helpers = []string{"curl", "git", "llama-server", "llama-swap", "node", "npm", "ollama", "tmux", "uvx"}

// flags are the instruction sets that inference programs choose their code by.
var flags = []string{"avx", "avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "f16c", "fma", "asimd", "sve"}

// Detect examines the machine. It never fails: unknown facts are empty or zero,
// with an explanation in Notes. It examines the parts concurrently.
func Detect(ctx context.Context, o Options) facts.Facts {
	m, hardware := machine{root: o.Root}, machine{root: o.Kernel}
	f := facts.Facts{FormatVersion: facts.FormatVersion, OS: cmp.Or(o.OS, runtime.GOOS), Arch: runtime.GOARCH, Hostname: o.Hostname, Programs: map[string]string{}}
	if f.Hostname == "" {
		f.Hostname = m.hostname()
	}
	var group sync.WaitGroup
	var notes [3][]string
	for i, part := range []func() []string{
		func() []string { return hardware.processors(&f) },
		func() []string {
			notes := hardware.memory(ctx, &f, o.Run)
			hardware.graphics(ctx, &f, o)
			return notes
		},
		func() []string {
			m.software(&f, o.Path)
			f.Vulkan = m.vulkan()
			return m.disks(&f, o.Home, o.Store)
		},
	} {
		group.Go(func() { notes[i] = part() })
	}
	group.Wait()
	f.Notes = slices.Concat(notes[:]...)
	return f
}

// machine reads below root.
type machine struct{ root string }

func (m machine) path(p string) string { return filepath.Join("/", m.root, p) }

// text returns the trimmed content of a small file, "" if it is unreadable.
func (m machine) text(p string) string {
	b, err := os.ReadFile(m.path(p))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (m machine) hostname() string {
	if name := m.text("/etc/hostname"); name != "" && m.root != "" {
		return name
	}
	name, _ := os.Hostname() // unknown if the system has none
	return name
}

// software finds package managers and programs, and the distribution's name.
func (m machine) software(f *facts.Facts, path []string) {
	for line := range strings.Lines(m.text("/etc/os-release")) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "ID="); ok {
			f.Distro = strings.Trim(id, `"'`)
		}
	}
	if path == nil {
		path = filepath.SplitList(os.Getenv("PATH"))
	}
	find := func(name string) string { return FindProgram(m.root, path, name) }
	for _, name := range managers {
		if find(name) != "" {
			f.Managers = append(f.Managers, name)
		}
	}
	for _, name := range slices.Concat(helpers, catalog.Commands()) {
		if p := find(name); p != "" {
			f.Programs[name] = p
		}
	}
	f.LlamaServer = m.buildOf(f.Programs["llama-server"])
}

// FindProgram returns the absolute path of a program in the folders of path,
// below root if that is set; "" if none has it.
func FindProgram(root string, path []string, name string) string {
	if name == "" || strings.Contains(name, "/") {
		return ""
	}
	for _, dir := range path {
		if !filepath.IsAbs(dir) {
			continue
		}
		info, err := os.Stat(machine{root: root}.path(filepath.Join(dir, name)))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// disks measures the file systems of home and store.
func (m machine) disks(f *facts.Facts, folders ...string) []string {
	var notes []string
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		var s unix.Statfs_t
		there := m.path(folder)
		err := unix.Statfs(there, &s)
		for err == unix.ENOENT && there != m.path("/") && there != "/" {
			there = filepath.Dir(there)
			err = unix.Statfs(there, &s)
		}
		if err != nil {
			notes = append(notes, "disk of "+folder+": unknown: "+err.Error())
			continue
		}
		f.Disks = append(f.Disks, facts.Disk{Path: folder, Free: int64(s.Bavail) * int64(s.Bsize), Size: int64(s.Blocks) * int64(s.Bsize)})
	}
	return notes
}
