package control

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Variable returns a variable of the environment that a process was started
// with. The error satisfies errors.Is with os.ErrPermission for another user's
// process, and with os.ErrNotExist if the process or the variable does not
// exist.
func Variable(pid int, name string) (string, error) {
	b, err := environment(pid)
	for range 20 {
		if err != nil || len(b) > 0 {
			break
		}
		if began(pid) == "" { // it has ended, but was not reaped yet
			return "", os.ErrNotExist
		}
		time.Sleep(5 * time.Millisecond) // it is about to execute another program
		b, err = environment(pid)
	}
	if err != nil {
		return "", err
	}
	for _, kv := range bytes.Split(b, []byte{0}) {
		if value, ok := bytes.CutPrefix(kv, []byte(name+"=")); ok {
			return string(value), nil
		}
	}
	return "", nil
}

// StartedOtherwise reports whether a process was visibly not started with argv,
// or with other values of env. A script counts as started with both: it may
// execute another program.
func StartedOtherwise(pid int, argv []string, env map[string]string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(b) == 0 || !isBinary(argv[0]) {
		return false
	}
	if !slices.Equal(strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), argv) {
		return true
	}
	for name, want := range env {
		if is, err := Variable(pid, name); err == nil && is != want {
			return true
		}
	}
	return false
}

// isBinary reports whether a program is machine code.
func isBinary(program string) bool {
	f, err := os.Open(program)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	_, err = io.ReadFull(f, magic)
	return err == nil && string(magic) == "\x7fELF"
}

// environment is read in one call: between two reads the process may execute
// another program, and the rest would be missing.
func environment(pid int) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 256<<10) // more than any environment has
	n, err := f.Read(b)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return nil, os.ErrNotExist
	case err == io.EOF:
		err = nil
	}
	return b[:n], err
}

// began is the start of a process in ticks since boot: with its number it
// identifies the process. "" if it is gone.
func began(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name, in brackets, may hold any bytes.
	_, rest, ok := bytes.Cut(b[max(0, bytes.LastIndexByte(b, ')')):], []byte(") "))
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// withParent makes a child end when its parent does, whatever the reason.
func withParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
