// Package crash breaks a command in tests at each of its operations on a
// machine. It lists the operations and their failures, and compares machines
// before and after. It knows no provider and is no part of the program. See
// Fault and Look.
package crash

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// How is a way in which an operation fails.
type How string

const (
	IOError  How = "eio"       // it fails without an effect
	NoSpace  How = "enospc"    // the same, for lack of space
	Short    How = "short"     // half of the bytes are written, then the disk is full
	Panic    How = "panic"     // the code of the operation panics
	Kill     How = "kill"      // SIGKILL, just before the operation
	Half     How = "half"      // the started program does half of its work, and fails
	HalfKill How = "half+kill" // the same, and aisync gets SIGKILL
)

// Kills reports whether h ends the process.
func (h How) Kills() bool { return h == Kill || h == HalfKill }

// moment is the delay of a slow operation.
const moment = 15 * time.Millisecond

// Variable holds the fault for a program under test.
const Variable = "AISYNC_TEST_FAULT"

// Fault is one operation of a command, and its failure. Operations are
// identified by their kind and path, not by a number: commands do several things
// concurrently, in no fixed order.
type Fault struct {
	At  string `json:"at"` // as in List; "": none fails
	How How    `json:"how"`
	Dir string `json:"dir"` // of the machine: paths are relative to it
	Log string `json:"log"` // a file that gets each operation, one a line, before it happens
	Hit string `json:"hit"` // a file that is created when the fault occurs

	Slow string `json:"slow"` // operations of this name are delayed, so that others overtake them
}

// Env returns f as an environment variable.
func (f Fault) Env() string {
	b, _ := json.Marshal(f) // text: cannot fail
	return Variable + "=" + string(b)
}

// FromEnv returns the hook for the fault in the environment, nil without one.
func FromEnv() (fsys.Hook, error) {
	text := os.Getenv(Variable)
	if text == "" {
		return nil, nil
	}
	var f Fault
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return nil, fmt.Errorf("%s: %w", Variable, err)
	}
	return f.Hook(), nil
}

// machineNames lists machine-dependent names: the id of an apply, which is part of
// names of temp files and of the history; a backup, named for its content; a
// project, whose records are named for its path.
var machineNames = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{6}`), "ID"},
	{regexp.MustCompile(`/backups/[0-9a-f]{2}(/\.?[0-9a-f]{64})?`), "/backups/DIGEST"},
	{regexp.MustCompile(`project-[0-9a-f]{16}\b`), "project-PLACE"},
}

// Hook fails the operation that f names, and logs all of them. Concurrent
// operations that create the same folder count as one, because their number is
// chance.
func (f Fault) Hook() fsys.Hook {
	var mu sync.Mutex
	seen, made := map[string]int{}, map[string]bool{}
	hits := func(op fsys.Op) bool {
		mu.Lock()
		defer mu.Unlock()
		switch op.Name {
		case "mkdir":
			if made[op.Path] {
				return false
			}
			made[op.Path] = true
		case "rmdir":
			delete(made, op.Path)
		}
		key := op.Name + " " + strings.ReplaceAll(op.Path, f.Dir+"/", "")
		for _, c := range machineNames {
			key = c.is.ReplaceAllString(key, c.as)
		}
		seen[key]++
		key = fmt.Sprintf("%s #%d", key, seen[key])
		if f.Log != "" {
			note(f.Log, key+"\n")
		}
		if key == f.At {
			note(f.Hit, key+"\n")
		}
		return key == f.At
	}
	return func(op fsys.Op) error {
		if op.Name == f.Slow {
			time.Sleep(moment)
		}
		if !hits(op) {
			return nil
		}
		return f.strike()
	}
}

func (f Fault) strike() error {
	switch f.How {
	case IOError:
		return syscall.EIO
	case NoSpace:
		return syscall.ENOSPC
	case Short:
		return fmt.Errorf("%w: %w", io.ErrShortWrite, syscall.ENOSPC)
	case Kill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case Half, HalfKill:
		note(filepath.Join(f.Dir, HalfMark), string(f.How))
		return nil
	}
	panic(fmt.Sprintf("injected at %s", f.At))
}

// HalfMark is a file below Fault.Dir that makes the next stand-in for a program
// do half of its work. It holds the How.
const HalfMark = "half"

// note appends to a file; a test without its notes must not continue.
func note(file, text string) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
		_ = f.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(125)
	}
}

// Operations reads the log of a hook.
func Operations(log string) ([]string, error) {
	b, err := os.ReadFile(log)
	if err != nil {
		return nil, err
	}
	ops := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	slices.Sort(ops)
	return ops, nil
}

// halfPrograms are programs whose stand-ins can do half of their work.
var halfPrograms = []string{"npm install", "npm uninstall", "pacman -S", "pacman -R", "pacman --root"}

// Ways returns every way in which an operation can fail.
func Ways(op string) []How {
	name, rest, _ := strings.Cut(op, " ")
	switch name {
	case "write":
		return []How{IOError, NoSpace, Short, Panic, Kill}
	case "unlink", "rmdir", "start", "stop", "restart":
		return []How{IOError, Panic, Kill}
	case "run":
		ways := []How{IOError, Panic, Kill}
		if slices.ContainsFunc(halfPrograms, func(p string) bool { return strings.Contains(rest, p+" ") }) && !strings.Contains(rest, " -Q") {
			ways = append(ways, Half, HalfKill)
		}
		return ways
	}
	return []How{IOError, NoSpace, Panic, Kill}
}
