package wake

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Listen makes the named pipe of a relay, which only this user opens, and sends each
// line of it until end is called. Of a relay that was killed it replaces the pipe.
func Listen(file string) (pings <-chan string, end func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, nil, err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if err := unix.Mkfifo(file, 0o600); err != nil {
		return nil, nil, fmt.Errorf("make %s: %w", file, err)
	}
	// Open for writing too, it does not end when a writer closes it.
	f, err := os.OpenFile(file, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		_ = os.Remove(file)
		return nil, nil, err
	}
	out, over := make(chan string), make(chan struct{})
	go func() {
		for in := bufio.NewScanner(f); in.Scan(); {
			select {
			case out <- in.Text():
			case <-over:
				return
			}
		}
	}()
	return out, func() {
		close(over)
		_ = os.Remove(file)
		_ = f.Close()
	}, nil
}

// rings reports whether a relay reads a pipe.
func rings(file string) bool {
	f, err := bell(file)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// bell opens a pipe that a relay reads; it waits for none.
func bell(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode()&fs.ModeNamedPipe == 0 {
		err = fmt.Errorf("%s is no named pipe", file)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// patience is how long a relay that is behind is waited for.
const patience = 2 * time.Second

// Ring gives a relay a line. One of at most PIPE_BUF bytes, as Comment returns, is
// not mixed with another's.
func Ring(file, line string) error {
	f, err := bell(file)
	if err != nil {
		return fmt.Errorf("wake the agent by its client: %w", err)
	}
	_ = f.SetWriteDeadline(time.Now().Add(patience))
	_, err = f.WriteString(line + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("wake the agent by its client: %w", err)
	}
	return nil
}
