package fsys

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Bits tells where the bit that makes a file executable says something. FAT,
// exFAT, and much of what is shared with Windows, keep no modes: there every
// file looks executable, or none does, and chmod changes nothing. Bits finds
// out by looking alone. The zero value is ready; safe for concurrent use. It
// remembers what it saw, and is meant for one run.
type Bits struct {
	ask func(dir string, executable bool) keeps // nil: keeping

	mu   sync.Mutex
	seen map[string]modes // by folder
}

// keeps is what the kind of a file system says of the modes of its files.
type keeps int

const (
	kept    keeps = iota
	notKept       // by none of its kind
	unsure        // it depends on how it is mounted, and on whose disk it shows
)

// modes are the different modes of a folder's files, the first two of them,
// without the bits to write: those may come from an attribute that a file
// system without modes has too.
type modes []fs.FileMode

const readOrRun fs.FileMode = 0o555

// Kept reports whether the file at the physical path, found with mode, is
// executable or not because somebody made it so. Where the kind of its file
// system does not tell, another mode of any file beside it, or in the folders
// above it up to the mount, shows that modes are kept. Who asks only where the
// bit is not as expected pays one statfs for that on other file systems.
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

// OfSource is mode of a file at path that holds content. Where the file system
// keeps no modes, it is executable if it says what runs it.
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

// in returns the modes of the files in dir; none where it cannot be read.
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
			continue // gone, or not ours to see
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
