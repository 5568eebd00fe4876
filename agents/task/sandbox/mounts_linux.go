package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// mounts makes the file system of the box, in the mount namespace of this
// process. It needs Linux 5.12, for mount_setattr.
func (p plan) mounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	// Open the visible paths before covering anything.
	type held struct {
		path string
		fd   int
	}
	var back []held
	hold := func(path string, flags uint64) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
		if err := setAttr(fd, flags|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, 0); err != nil {
			return fmt.Errorf("protect %s: %w", path, err)
		}
		back = append(back, held{path, fd})
		return nil
	}
	for _, path := range p.Show {
		if err := hold(path, unix.MOUNT_ATTR_RDONLY); err != nil {
			return err
		}
	}
	for _, path := range p.Write {
		if err := hold(path, 0); err != nil {
			return err
		}
	}
	if err := hold(p.Tmp, 0); err != nil {
		return err
	}
	tmp := back[len(back)-1]
	back = back[:len(back)-1]
	devices := map[string]int{}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/dev/"+name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return fmt.Errorf("open /dev/%s: %w", name, err)
		}
		devices[name] = fd
	}

	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	if err := setAttr(root, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID, 0); err != nil {
		return fmt.Errorf("make / read-only: %w", err)
	}
	covers := map[string]int{}
	for _, dir := range p.Hide {
		if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
			continue // inside a covered folder
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=16m"); err != nil {
			return fmt.Errorf("cover %s: %w", dir, err)
		}
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		covers[dir] = fd
	}
	if slices.Contains(p.Hide, "/tmp") {
		if err := attach(tmp.fd, "/tmp"); err != nil {
			return err
		}
	}
	for _, h := range back {
		if err := mountpoint(h.path, h.fd); err != nil {
			return err
		}
		if err := attach(h.fd, h.path); err != nil {
			return err
		}
	}
	for _, l := range p.Links {
		_ = os.MkdirAll(filepath.Dir(l[0]), 0o755)
		_ = os.Symlink(l[1], l[0]) // if the real folder is shown, the link exists
	}
	for dir, fd := range covers { // their content is complete
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make the cover of %s read-only: %w", dir, err)
		}
	}
	for _, path := range p.Shield {
		if err := mountStand(Stand{path, path}); err != nil {
			return err
		}
	}
	for _, s := range p.Instead {
		if err := mountStand(s); err != nil {
			return err
		}
	}
	if err := dev(devices); err != nil {
		return err
	}
	return proc()
}

// mountStand mounts a file or folder read-only at another path, or at its own.
func mountStand(s Stand) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, s.File, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return fmt.Errorf("shield %s: %w", s.At, err)
	}
	if err := setAttr(fd, unix.MOUNT_ATTR_RDONLY, 0); err != nil {
		return fmt.Errorf("shield %s: %w", s.At, err)
	}
	return attach(fd, s.At)
}

// dev makes a /dev with only harmless devices.
func dev(devices map[string]int) error {
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("cover /dev: %w", err)
	}
	for name, fd := range devices {
		path := "/dev/" + name
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			return err
		}
		if err := attach(fd, path); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(to, "/dev/"+name); err != nil {
			return err
		}
	}
	for dir, mount := range map[string]func(string) error{
		"/dev/pts": func(d string) error {
			return unix.Mount("devpts", d, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
		},
		"/dev/shm": func(d string) error {
			return unix.Mount("tmpfs", d, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=256m")
		},
	} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := mount(dir); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	return nil
}

// settings are the parts of /proc that configure the machine. Root needs no
// capability to write them, so they are read-only.
var settings = []string{"sys", "sysrq-trigger", "irq", "bus", "fs"}

// proc mounts a /proc with the processes of the box.
func proc() error {
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, name := range settings {
		path := "/proc/" + name
		fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err == nil {
			err = setAttr(fd, unix.MOUNT_ATTR_RDONLY, 0)
		}
		if err == nil {
			err = attach(fd, path)
		}
		if err != nil {
			return fmt.Errorf("protect %s: %w", path, err)
		}
	}
	return nil
}

func setAttr(fd int, set, clear uint64) error {
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: set, Attr_clr: clear})
}

func attach(fd int, path string) error {
	defer unix.Close(fd)
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", path, err)
	}
	return nil
}

// mountpoint creates the place for mounting fd, if it is covered.
func mountpoint(path string, fd int) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o600)
}
