package regular

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestReadTakesOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, err := range []error{
		unix.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("folder"), 0o755), os.Symlink("/dev/zero", at("zero")), os.Symlink("pipe", at("to-pipe")),
		os.Symlink("small", at("link")), os.WriteFile(at("small"), []byte("text"), 0o644), os.WriteFile(at("large"), make([]byte, 101), 0o644), os.Truncate(at("small"), 4),
		os.WriteFile(at("sparse"), nil, 0o644), os.Truncate(at("sparse"), 1<<40), os.Symlink("nowhere", at("dangling")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	for name, want := range map[string]error{
		"pipe": ErrKind, "to-pipe": ErrKind, "folder": ErrKind, "zero": ErrKind, "socket": ErrKind,
		"large": ErrTooLarge, "sparse": ErrTooLarge, "missing": fs.ErrNotExist, "dangling": fs.ErrNotExist, "small": nil, "link": nil,
	} {
		b, err := Read(at(name), 100)
		if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), at(name)) || err == nil && string(b) != "text" {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	// What says that it is empty, and is not, has a bound too.
	if _, err := Read("/proc/self/smaps", 100); !errors.Is(err, ErrTooLarge) && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}
