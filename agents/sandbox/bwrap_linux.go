package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// bwrapSelf is the path of this program in a bwrap box.
const bwrapSelf = "/run/.aisync-box"

// bwrap returns the arguments with which bwrap(1) makes the same box as mounts,
// on its own empty root: later ones cover earlier ones.
func (p plan) bwrap(self string) []string {
	args := []string{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	for _, dir := range empty {
		args = append(args, "--dir", dir)
	}
	args = append(args, "--symlink", "../run", "/var/run", "--dev", "/dev", "--proc", "/proc")
	for _, name := range settings { // bwrap leaves them writable to root
		if path := "/proc/" + name; exists(path) {
			args = append(args, "--ro-bind", path, path)
		}
	}
	covers := []string{"/"}
	for _, s := range p.Places {
		switch s.Mode {
		case hidden:
			args = append(args, "--tmpfs", s.At)
			covers = append(covers, s.At)
		case readOnly:
			args = append(args, "--ro-bind", s.At, s.At)
		case private:
			args = append(args, "--bind", p.Tmp, s.At)
		case writable:
			args = append(args, "--bind", s.At, s.At)
		}
	}
	for _, l := range p.Links {
		if in, ok := strings.CutPrefix(l[0], "/tmp/"); !ok || !exists(filepath.Join(p.Tmp, in)) { // since an earlier command
			args = append(args, "--symlink", l[1], l[0])
		}
	}
	for _, path := range p.Shield {
		args = append(args, "--ro-bind", path, path)
	}
	for _, s := range p.Instead {
		args = append(args, "--ro-bind", s.File, s.At)
	}
	args = append(args, "--ro-bind", self, bwrapSelf)
	for _, dir := range covers {
		args = append(args, "--remount-ro", dir)
	}
	return append(args, "--chdir", "/", "--", bwrapSelf, boxCommand, "inside")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
