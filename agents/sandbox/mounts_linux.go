package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mounts makes the file system of the box, in the mount namespace of this
// process. It needs Linux 5.12, for mount_setattr.
func (p plan) mounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	// Open what is visible before leaving the root that holds it.
	fds := make([]int, len(p.Places))
	for i, s := range p.Places {
		path, flags := s.At, uint64(0)
		switch s.Mode {
		case hidden:
			continue
		case private:
			path = p.Tmp
		case readOnly:
			flags = unix.MOUNT_ATTR_RDONLY
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
		if err := setAttr(fd, flags|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, 0); err != nil {
			return fmt.Errorf("protect %s: %w", path, err)
		}
		fds[i] = fd
	}
	devices := map[string]int{}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/dev/"+name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return fmt.Errorf("open /dev/%s: %w", name, err)
		}
		devices[name] = fd
	}
	if err := newRoot(p.Tmp); err != nil {
		return err
	}
	covers := []string{"/"}
	for i, s := range p.Places {
		if s.Mode == hidden {
			if err := unix.Mount("tmpfs", s.At, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=16m"); err != nil {
				return fmt.Errorf("cover %s: %w", s.At, err)
			}
			covers = append(covers, s.At)
			continue
		}
		if err := mountpoint(s.At, fds[i]); err != nil {
			return err
		}
		if err := attach(fds[i], s.At); err != nil {
			return err
		}
	}
	for _, l := range p.Links {
		if err := os.MkdirAll(filepath.Dir(l[0]), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(l[1], l[0]); err != nil && !errors.Is(err, os.ErrExist) { // in the task's /tmp since an earlier command
			return err
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
	if err := proc(); err != nil {
		return err
	}
	// The kernel mounts a /proc only while another is in sight.
	if err := unix.Unmount(oldRoot, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := os.Remove(oldRoot); err != nil {
		return err
	}
	for _, dir := range covers { // their content is complete
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make the cover of %s read-only: %w", dir, err)
		}
	}
	return nil
}

// oldRoot is where the machine's root is while the box is being made.
const oldRoot = "/.aisync-old-root"

// newRoot makes an empty root with the folders that every box has. It uses the
// existing folder at as the mount point.
func newRoot(at string) error {
	if err := unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=16m"); err != nil {
		return fmt.Errorf("make a root: %w", err)
	}
	if err := os.Mkdir(at+oldRoot, 0o700); err != nil {
		return err
	}
	if err := unix.PivotRoot(at, at+oldRoot); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	for _, dir := range empty {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return os.Symlink("../run", "/var/run")
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
