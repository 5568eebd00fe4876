package fsys

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Bits tells where the executable bit means something. FAT, exFAT, and many
// shares with Windows, keep no modes: there every file looks executable, or
// none does, and chmod has no effect. Bits finds out by reading only. The zero
// value is ready; it is safe for concurrent use. It caches its findings for one
// run.
type Bits struct {
	ask func(dir string, executable bool) keeps // nil: keeping

	mu   sync.Mutex
	seen map[string]modes // by folder
}

// keeps is what the type of a file system says about modes.
type keeps int

const (
	kept    keeps = iota
	notKept       // by none of its kind
	unsure        // depends on mount options, and on the shared disk
)

// modes are the first two different modes of a folder's files, without the
// write bits, which a file system without modes may derive from an attribute.
type modes []fs.FileMode

const readOrRun fs.FileMode = 0o555

// Kept reports whether the executable bit of the file at the physical path,
// found with mode, was set deliberately. If the type of its file system does
// not tell, a different mode of any file beside it, or in the folders above it
// up to the mount, shows that modes are kept. Calling it only for an unexpected
// bit costs one statfs on other file systems.
func (b *Bits) Kept(path string, mode fs.FileMode) bool {
	ask := b.ask
	if ask == nil {
		ask = keeping
	}
	dir := filepath.Dir(path)
	if is := ask(dir, mode&0o100 != 0); is != unsure {
		return is == kept
	}
	var top unix.Stat_t
	if unix.Stat(dir, &top) != nil {
		return true
	}
	for {
		for _, m := range b.in(dir) {
			if m != mode&readOrRun {
				return true
			}
		}
		up := filepath.Dir(dir)
		var st unix.Stat_t
		if up == dir || unix.Stat(up, &st) != nil || st.Dev != top.Dev {
			return false
		}
		dir = up
	}
}

// OfSource is the mode of a file at path with content. If the file system keeps
// no modes, a file with an interpreter line is executable.
func (b *Bits) OfSource(path string, content []byte, mode fs.FileMode) fs.FileMode {
	script := bytes.HasPrefix(content, []byte("#!"))
	if script == (mode&0o100 != 0) || b.Kept(path, mode) {
		return mode
	}
	if script {
		return mode | 0o111
	}
	return mode &^ 0o111
}

// in returns the modes of the files in dir; none if it cannot be read.
func (b *Bits) in(dir string) modes {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m, ok := b.seen[dir]; ok {
		return m
	}
	if b.seen == nil {
		b.seen = map[string]modes{}
	}
	b.seen[dir] = modesIn(dir)
	return b.seen[dir]
}

func modesIn(dir string) (out modes) {
	const enough = 1000 // entries: a share may be slow
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(enough)
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // gone, or not readable for us
		}
		m := info.Mode() & readOrRun
		if len(out) == 0 || out[0] != m {
			out = append(out, m)
		}
		if len(out) == 2 {
			break
		}
	}
	return out
}
