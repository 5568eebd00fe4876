package sandbox

import (
	"os"
	"slices"
)

// bwrapSelf is the path of this program in a bwrap box.
const bwrapSelf = "/run/.aisync-box"

// bwrap returns the arguments with which bwrap(1) makes the same box as mounts:
// later ones cover earlier ones.
func (p plan) bwrap(self string) []string {
	args := []string{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	args = append(args, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
	for _, name := range settings { // bwrap leaves them writable to root
		if path := "/proc/" + name; exists(path) {
			args = append(args, "--ro-bind", path, path)
		}
	}
	for _, dir := range p.Hide {
		args = append(args, "--tmpfs", dir)
	}
	for _, path := range p.Show {
		args = append(args, "--ro-bind", path, path)
	}
	for _, l := range p.Links {
		args = append(args, "--symlink", l[1], l[0])
	}
	for _, dir := range p.Write {
		args = append(args, "--bind", dir, dir)
	}
	args = append(args, "--bind", p.Tmp, "/tmp")
	for _, dir := range append(p.Write, p.Show...) { // those below /tmp are covered by now
		if below(dir, []string{"/tmp"}) {
			how := "--bind"
			if !below(dir, p.Write) {
				how = "--ro-bind"
			}
			args = append(args, how, dir, dir)
		}
	}
	for _, path := range p.Shield {
		args = append(args, "--ro-bind", path, path)
	}
	for _, s := range p.Instead {
		args = append(args, "--ro-bind", s.File, s.At)
	}
	args = append(args, "--ro-bind", self, bwrapSelf)
	for _, dir := range p.Hide {
		if !below(dir, []string{"/tmp"}) && !slices.Contains(p.Write, dir) && !slices.Contains(p.Show, dir) { // otherwise the path is in use
			args = append(args, "--remount-ro", dir)
		}
	}
	return append(args, "--chdir", "/", "--", bwrapSelf, boxCommand, "inside")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
