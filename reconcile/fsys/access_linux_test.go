package fsys

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAFolderOfAnotherUserIsNotWritable gives one thread another user's rights
// where the tests run as root, whom no folder refuses.
func TestAFolderOfAnotherUserIsNotWritable(t *testing.T) {
	w := newWorld(t, nil)
	mkdir(t, filepath.Join(w.project, "closed"))
	if err := os.Chmod(filepath.Join(w.project, "closed"), 0o555); err != nil {
		t.Fatal(err)
	}
	for dir := w.project; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if fi, err := os.Stat(dir); err == nil && fi.Mode().Perm()&0o055 != 0o055 {
			_ = os.Chmod(dir, 0o755)
		}
	}
	result := make(chan error)
	go func() {
		if os.Getuid() == 0 {
			runtime.LockOSThread() // never unlocked: the thread ends with its goroutine
			if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
				result <- errno
				return
			}
		}
		result <- w.Writable("closed/deep/f")
	}()
	if err := <-result; !errors.Is(err, unix.EACCES) {
		t.Fatalf("got %v", err)
	}
}
