// Package fsys writes every target that aisync manages. A path is logical until
// this package makes it physical: only here --root and the project's folder
// apply, and no path leaves its scope. It knows nothing of specs, resources or
// records. Start reading at FS, then Replace in disk.go.
package fsys

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// LogicalPath is a clean, slash-separated path as it goes into content,
// addresses and records. An absolute one is a host path without the --root
// prefix (/home/me/.claude/settings.json); a relative one lies in the project
// and never starts with "..".
type LogicalPath string

// Project reports whether p is relative to the project.
func (p LogicalPath) Project() bool { return !strings.HasPrefix(string(p), "/") }

// Dir returns the folder that holds p.
func (p LogicalPath) Dir() LogicalPath { return LogicalPath(path.Dir(string(p))) }

// Base returns the last element of p.
func (p LogicalPath) Base() string { return path.Base(string(p)) }

// Join appends elements to p.
func (p LogicalPath) Join(elem ...string) LogicalPath {
	return LogicalPath(path.Join(append([]string{string(p)}, elem...)...))
}

// Reader reads and never writes.
type Reader interface {
	// Lstat does not follow p itself; folders above it are followed as the
	// scope allows. The error satisfies errors.Is(err, fs.ErrNotExist) where
	// nothing is there.
	Lstat(p LogicalPath) (fs.FileInfo, error)
	ReadFile(p LogicalPath) ([]byte, error) // regular files only; a link is not followed
	Open(p LogicalPath) (*os.File, error)   // regular files only, read-only
	// Digest returns the digest of the regular file at p, and its mode, without
	// keeping its bytes: for what looks at thousands.
	Digest(p LogicalPath) (string, fs.FileMode, error)
	ReadDir(p LogicalPath) ([]fs.DirEntry, error)
	Readlink(p LogicalPath) (string, error)
	// Physical returns where p lies on this machine, with links in the folders
	// above it resolved: for messages and for programs that are run there.
	Physical(p LogicalPath) (string, error)
	// Writable returns nil if an entry at p could be made or replaced, without
	// trying; otherwise an error that names the folder and the reason.
	Writable(p LogicalPath) error
	// KeepsExec reports whether the executable bit of the file at p, found with
	// the mode seen, was set deliberately. See Bits.
	KeepsExec(p LogicalPath, seen fs.FileMode) bool
}

// FS also writes. Every method may be killed at any point; its comment says
// what is left then. It is safe for concurrent use.
type FS interface {
	Reader
	// Replace makes p hold content and returns once its bytes are on disk
	// (fsync of the file; the folder's fsync waits for Flush). A reader of p
	// sees the old or the new bytes, never a mixture. If what is there is not
	// what expect says, nothing changes and the error wraps ErrChanged, and
	// ErrBlocked too where it is of another type. An entry that an earlier run
	// left under the temp name is an error that wraps fs.ErrExist. keep,
	// where not nil, is called with the name that the displaced entry has
	// moved to; if it fails, the old entry is put back. A kill leaves at most
	// a temp file of TempName(p, tag) beside p: an incomplete new file, or,
	// after the exchange, the old one. Where the file system cannot exchange
	// (see Weaker of Disk), a copy of the old one may also be left at
	// AsideName(p, tag).
	Replace(p LogicalPath, content Content, expect Expect, keep Keep) error
	// Symlink makes p a link to target, on the same terms as Replace.
	Symlink(p LogicalPath, target string, expect Expect, keep Keep) error
	// Remove takes p away, on the same terms as Replace: a kill leaves at most
	// the old entry at TempName(p, tag). A folder is refused.
	Remove(p LogicalPath, expect Expect, keep Keep) error
	// Move renames from to to, where nothing may be; across file systems it
	// copies, syncs and removes, and a kill may leave both. An entry at to is
	// an error that wraps fs.ErrExist.
	Move(from, to LogicalPath) error
	// Link makes to another name of the regular file at from; Clone makes it a
	// separate file that shares from's blocks until one of them is written to.
	// Neither reads a byte. If to exists, the error wraps fs.ErrExist; if the
	// two cannot share, it wraps ErrCannotShare.
	Link(from, to LogicalPath) error
	Clone(from, to LogicalPath, mode fs.FileMode) error
	// Discard takes the file or link p away if it is the one that seen
	// describes, without reading it; else nothing changes and the error wraps
	// ErrChanged. A kill leaves at most the entry at TempName(p, tag).
	Discard(p LogicalPath, seen fs.FileInfo) error
	// Chmod sets permission bits.
	Chmod(p LogicalPath, mode fs.FileMode) error
	// MkdirAll makes p and what is missing above it and returns what it made,
	// top first.
	MkdirAll(p LogicalPath, mode fs.FileMode) ([]LogicalPath, error)
	// Rmdir removes an empty folder; a folder with entries is an error that
	// wraps ErrNotEmpty.
	Rmdir(p LogicalPath) error
	// Append adds data at the end of p, making it with mode where it is
	// missing, and syncs it.
	Append(p LogicalPath, data []byte, mode fs.FileMode) error
	// Note is Append to a file that is there, without the sync: a loss of power
	// may take what was added, a kill does not.
	Note(p LogicalPath, data []byte) error
	// OpenPart opens p for reading and writing, making it 0600 where missing:
	// for downloads that take long and are published later by Move. The caller
	// syncs and closes the file before that.
	OpenPart(p LogicalPath) (*os.File, error)
	// Flush syncs every folder that changed since the last Flush: what was
	// done before it survives a loss of power.
	Flush() error
}

// Content is the content of a file: Bytes, or what From yields.
type Content struct {
	Bytes []byte
	From  func() (io.ReadCloser, error) // used when not nil
	Mode  fs.FileMode                   // permission bits; 0: keep those there, or 0644 for a new file
}

// Expect is what a replacement must find in place; exactly one of its fields is
// set.
type Expect struct {
	Absent bool
	Digest string // Digest of a regular file's bytes, or LinkDigest of a link's target
}

// Keep receives a displaced entry at old, in its former folder. It may move it
// away; what it leaves is removed.
type Keep func(old LogicalPath) error

var (
	// ErrChanged means that an entry is not the expected one.
	ErrChanged = errors.New("changed since it was read")
	// ErrEscapes means that a path, or a link on its way, leaves its scope.
	ErrEscapes = errors.New("leaves its scope")
	// ErrDangling means that nothing is there, because a link to a folder on the way
	// leads nowhere. The error wraps fs.ErrNotExist, too.
	ErrDangling = errors.New("a link on the way is dangling")
	// ErrNotEmpty means that a folder still has entries.
	ErrNotEmpty = errors.New("folder is not empty")
	// ErrBlocked means that an entry of another type (folder, link, device) is
	// in the way.
	ErrBlocked = errors.New("something else is in the way")
)

// Conclusive reports whether err, from reading a path, tells what is there:
// nothing, an entry of another type, or a way out of the scope. Any other
// error, such as a disk error, tells nothing.
func Conclusive(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrBlocked) || errors.Is(err, ErrEscapes)
}

// Op is one mutating operation on the real file system, named like its system
// call, as a Hook sees it.
type Op struct {
	Name string // "create", "write", "fsync", "exchange", "rename", "link", "clone", "unlink", "mkdir", "rmdir", "chmod", "chown", "symlink", "fsyncdir", "setxattr"
	Path string // physical
}

// Hook is called before each Op; an error makes the operation fail with it.
// For "write" an error that wraps io.ErrShortWrite lets half of the bytes
// through first. Tests inject faults with it; nil in real use.
type Hook func(Op) error

// Options are the physical places of logical paths. See New.
type Options struct {
	Root    string // prefix of host paths; "" is /
	Home    LogicalPath
	Project string // absolute physical folder of the project; "" outside one
	Tag     string // part of temp names: the id of the apply
	Hook    Hook
	UID     int // owner of what is made, where running as root for another user
	GID     int
	Chown   bool // UID and GID count
}

// TempName is the temporary place of p's other entry in Replace, Symlink and
// Remove. A name too long for a file system is shortened.
func TempName(p LogicalPath, tag string) LogicalPath {
	base := p.Base()
	if over := len(base) + len(tag) + len("..aisync-") - 255; over > 0 {
		sum := sha256.Sum256([]byte(base))
		hash := hex.EncodeToString(sum[:8])
		base = base[:max(0, len(base)-over-len(hash))] + hash
	}
	return p.Dir().Join("." + base + ".aisync-" + tag)
}

// AsideName is the place of a copy of p's old entry while Keep runs, on file
// systems that cannot exchange entries. A left-over is only ever a copy.
func AsideName(p LogicalPath, tag string) LogicalPath { return TempName(p, tag+"-old") }
