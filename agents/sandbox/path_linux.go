package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pathPrograms returns what must be visible for the programs that path names to
// run: its folders, the places of the programs to which they link, their
// interpreters', and what lies around these. Nothing in the folders hide is
// among it but installed packages. A folder of path that holds one of apart, the
// home and the work trees, is left out.
func pathPrograms(path string, hide, apart []string) (out []string) {
	p := pathView{hide: hide, apart: apart}
	var done []string
	for _, dir := range filepath.SplitList(path) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(dir) || p.excluded(real) || !p.allowed(real) {
			continue
		}
		p.out = append(p.out, dir)
		if slices.Contains(done, real) {
			continue
		}
		done = append(done, real)
		p.prefix(real)
		entries, err := os.ReadDir(real)
		if err != nil {
			continue
		}
		for _, e := range entries {
			at := filepath.Join(real, e.Name())
			switch {
			case e.Type()&os.ModeSymlink != 0:
				real, err := filepath.EvalSymlinks(at)
				if err != nil || below(real, p.out) {
					continue
				}
				if p.program(real) {
					p.out = append(p.out, at) // with the links on the way
					p.interpreter(real)
				}
			case e.Type().IsRegular() && !below(real, systemPrograms):
				p.interpreter(at)
			}
		}
	}
	return p.out
}

// systemPrograms are folders of programs whose surroundings are always visible.
var systemPrograms = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin"}

type pathView struct {
	hide, apart, out []string
}

// excluded reports whether a folder of PATH is no folder of programs: one that
// holds a home, a work tree or a hidden folder, or Windows' programs in WSL.
func (p *pathView) excluded(real string) bool {
	drive, windows := strings.CutPrefix(real, "/mnt/")
	return real == "/" || windows && (len(drive) == 1 || len(drive) > 1 && drive[1] == '/') ||
		slices.ContainsFunc(slices.Concat(p.apart, p.hide), func(dir string) bool { return below(dir, []string{real}) })
}

// allowed reports whether a place of programs may be visible: not what a
// repository holds, but what was installed into it.
func (p *pathView) allowed(real string) bool {
	if !below(real, p.hide) {
		return true
	}
	return strings.Contains(real+"/", "/node_modules/") || exists(filepath.Join(filepath.Dir(real), "pyvenv.cfg"))
}

// program shows the program at a path without links, and reports whether there
// is one that may be visible.
func (p *pathView) program(real string) bool {
	dir := filepath.Dir(real)
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 || !p.allowed(dir) {
		return false
	}
	before, _, packaged := strings.Cut(real, "/node_modules/")
	rest, optional := strings.CutPrefix(real, "/opt/")
	switch {
	case packaged:
		p.out = append(p.out, filepath.Join(before, "node_modules"))
	case slices.Contains([]string{"bin", "sbin", "libexec"}, filepath.Base(dir)):
		p.out = append(p.out, dir)
		p.prefix(dir)
	case optional && strings.Contains(rest, "/") && !exists(filepath.Join(dir, ".git")):
		p.out = append(p.out, dir) // such as /opt/code, with the libraries beside the program
	default:
		p.out = append(p.out, real)
	}
	return true
}

// interpreter shows the interpreter of a script that names one by its path.
func (p *pathView) interpreter(script string) {
	if at := interpreter(script); filepath.IsAbs(at) && !below(at, systemPrograms) {
		p.out = append(p.out, at)
		if real, err := filepath.EvalSymlinks(at); err == nil && !below(real, p.out) {
			p.program(real)
		}
	}
}

// beside are the folders and files that programs use from beside their folder.
var beside = []string{"lib", "lib32", "lib64", "libexec", "share", "include", "pyvenv.cfg"}

// besideKnown are those of some tools, by a file or folder that only they have.
var besideKnown = map[string][]string{
	"pkg/tool":       {"pkg", "src", "go.env", "VERSION", "misc"},                                 // Go
	"Cellar":         {"Cellar", "opt", "etc/ca-certificates", "etc/openssl@3"},                   // Homebrew
	"shims":          {"versions", "installs", "plugins", "bin", "version", "completions", "lib"}, // pyenv, rbenv, asdf and the like
	"lib/jrt-fs.jar": {"conf", "jmods", "release"},                                                // Java
	"bin/m2.conf":    {"boot", "conf/logging"},                                                    // Maven
	"conda-meta":     {"conda-meta", "ssl"},                                                       // conda
	"nvvm":           {"nvvm", "targets"},                                                         // CUDA
	"amdgcn":         {"amdgcn", "llvm"},                                                          // ROCm
}

// prefix shows what programs need from around their folder.
func (p *pathView) prefix(dir string) {
	base, up := filepath.Base(dir), filepath.Dir(dir)
	if !slices.Contains([]string{"bin", "sbin", "shims", "libexec"}, base) || up == "/" || slices.Contains(p.apart, up) {
		return
	}
	names := slices.Clone(beside)
	for mark, more := range besideKnown {
		if exists(filepath.Join(up, mark)) {
			names = append(names, more...)
		}
	}
	for _, name := range names {
		if at := filepath.Join(up, name); exists(at) && (!below(at, p.hide) || p.allowed(dir)) {
			p.out = append(p.out, at)
		}
	}
}

// unseen returns advice where a program failed to start, and one that its output
// names is not visible in the box; "" for none. It looks only at programs, so
// that a command learns nothing about other hidden files.
func (p plan) unseen(r Result) string {
	if p.Way == None || r.Exit != 126 && r.Exit != 127 {
		return ""
	}
	text := r.Stderr[max(0, len(r.Stderr)-4096):]
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\r\n:,;()'\"‘’`", c) }) {
		program := word
		if !strings.Contains(word, "/") {
			program, _ = lookup(word, []string{"PATH=" + p.path()})
		}
		real, err := filepath.EvalSymlinks(program)
		if !filepath.IsAbs(program) || err != nil || visible(real, p.Places) {
			continue
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return real + " is not visible in the sandbox; if commands of tasks may run it: --show " + filepath.Dir(real) + "\n"
		}
	}
	return ""
}
