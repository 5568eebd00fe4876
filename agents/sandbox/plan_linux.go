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
	Places  []seen      // what is visible, outer before inner
	Links   [][2]string // and the links that lead there: path and text
	Tmp     string      // mounted at /tmp
	Shield  []string    // read-only again
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

func (b Box) plan(c Command) (plan, error) {
	p := plan{Way: b.Way, Argv: c.Argv, Dir: c.Dir, Env: environment(b, c.Env), Network: b.Network || b.Way == None, Tmp: filepath.Join(b.Scratch, "tmp")}
	for _, dir := range []string{p.Tmp, filepath.Join(b.Scratch, "home")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return p, err
		}
	}
	if b.Way != None {
		var err error
		if p.Places, p.Links, err = b.look(c, p.path()); err != nil {
			return p, err
		}
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

// path returns the PATH of the command.
func (p plan) path() string {
	for _, pair := range p.Env {
		if path, ok := strings.CutPrefix(pair, "PATH="); ok {
			return path
		}
	}
	return ""
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
