package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// plan is the input of the inside; the outside has checked and resolved
// everything in it.
type plan struct {
	Way     Way
	Argv    []string
	Dir     string
	Env     []string
	Hide    []string // folders that are covered by empty ones, outer before inner
	Show    []string // made visible again read-only, in the same order
	Links   [][2]string
	Write   []string // made visible again writable
	Tmp     string   // mounted at /tmp
	Shield  []string // read-only again
	Instead []Stand
	Network bool
	Ports   []int
}

// File descriptors of the inside, besides the three streams.
const (
	planFile   = 3 + iota // the plan, JSON
	statusFile            // the inside reports the result here
	lifeFile              // ends when the outside does
	doorFile              // the inside sends sockets here
)

// status is the result of the inside.
type status struct {
	Exit  int
	Error string
}

// covered are the folders of the system's and the session's sockets, and
// people's files. A read-only mount does not prevent connections to a socket.
var covered = []string{"/run", "/tmp", "/var/tmp", "/home", "/root", "/var/run", "/mnt", "/media"}

func (b Box) plan(c Command) (plan, error) {
	p := plan{Way: b.Way, Argv: c.Argv, Dir: c.Dir, Env: environment(b, c.Env), Network: b.Network || b.Way == None, Tmp: filepath.Join(b.Scratch, "tmp")}
	for _, dir := range []string{p.Tmp, filepath.Join(b.Scratch, "home")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return p, err
		}
	}
	for _, dir := range append(append([]string{b.Home}, covered...), b.Hide...) {
		real, err := filepath.EvalSymlinks(dir)
		if info, err2 := os.Stat(dir); dir != "" && err == nil && err2 == nil && info.IsDir() && real != "/" {
			p.Hide = append(p.Hide, real)
		}
	}
	p.Hide = sortOuterFirst(p.Hide)
	show := b.Show
	if b.Network { // for resolving host names
		show = append(slices.Clone(show), "/etc/resolv.conf", "/run/systemd/resolve", "/run/NetworkManager/resolv.conf")
	}
	for _, path := range show {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue // missing, and so not visible
		}
		if real != path && below(path, p.Hide) {
			p.Links = append(p.Links, [2]string{path, real})
		}
		if below(real, p.Hide) {
			p.Show = append(p.Show, real)
		}
	}
	p.Show = sortOuterFirst(p.Show)
	p.Write = sortOuterFirst([]string{b.Tree, b.Scratch})
	if c.Frozen {
		p.Write = []string{b.Scratch}
		p.Show = sortOuterFirst(append(p.Show, b.Tree))
	}
	for _, path := range b.Shield {
		if _, err := os.Lstat(path); err == nil {
			p.Shield = append(p.Shield, path)
		}
	}
	p.Instead = b.Instead
	if !p.Network {
		for _, d := range b.Doors {
			p.Ports = append(p.Ports, d.Port)
		}
	}
	return p, nil
}

// sortOuterFirst sorts folders before their content.
func sortOuterFirst(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}

// below reports whether path is one of the folders or below one.
func below(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return path == d || strings.HasPrefix(path, d+"/") })
}

// file returns the plan as a file, positioned at its beginning.
func (p plan) file() (*os.File, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "aisync-box")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	if _, err = f.Write(text); err == nil {
		_, err = f.Seek(0, 0)
	}
	return f, err
}
