package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/netjail"
)

// Main is the program inside a box: the caller runs it when IsInside reports
// true. It returns an exit code.
func Main(argv []string) int {
	if argv[2] == "mounts" {
		return report(enterBox())
	}
	return inside()
}

// IsInside reports whether argv is a call of Main.
func IsInside(argv []string) bool { return len(argv) == 3 && argv[1] == boxCommand }

func report(err error) int {
	text, _ := json.Marshal(status{Error: err.Error()}) // of strings and numbers
	_, _ = os.NewFile(statusFile, "status").Write(append(text, '\n'))
	return 1
}

// enterBox makes the box around this process, drops the capabilities for
// that, and starts this program again as the first process in it. It returns
// only on failure.
func enterBox() error {
	runtime.LockOSThread() // capabilities belong to a thread
	p, err := readPlan()
	if err != nil {
		return err
	}
	if !p.Network {
		if err := netjail.LoopbackUp(); err != nil {
			return fmt.Errorf("bring loopback up: %w", err)
		}
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := p.mounts(); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop all capabilities: %w", err)
	}
	if _, err := unix.Seek(planFile, 0, 0); err != nil {
		return err
	}
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	// By descriptor: the path may be hidden by now.
	return syscall.Exec("/proc/self/fd/"+strconv.Itoa(int(self.Fd())), []string{"aisync", boxCommand, "inside"}, os.Environ())
}

func readPlan() (plan, error) {
	var p plan
	planned = os.NewFile(planFile, "plan")
	err := json.NewDecoder(planned).Decode(&p)
	return p, err
}

// planned keeps the descriptor open for a second read after exec.
var planned *os.File

// dropCapabilities drops every capability of this thread for good, root's too.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); c <= 63; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	var none [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// inside runs the command, as the first process of the box: when it ends, the
// kernel ends all others. Without a box it ends them itself.
func inside() int {
	for _, fd := range []int{planFile, statusFile, lifeFile, doorFile} {
		unix.CloseOnExec(fd)
	}
	p, err := readPlan()
	if err != nil {
		return report(err)
	}
	// The outside decides. Ignored signals would be ignored by the command too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		_, _ = os.NewFile(lifeFile, "life").Read(make([]byte, 1)) // until the outside is gone
		p.killAll()
		os.Exit(1)
	}()
	if p.Way == None {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return report(err)
		}
	}
	for _, port := range p.Ports {
		if err := netjail.HandOut(doorFile, port); err != nil {
			return report(fmt.Errorf("door at port %d: %w", port, err))
		}
	}
	unix.Close(doorFile)
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	_ = syscall.Setrlimit(unix.RLIMIT_FSIZE, &syscall.Rlimit{Cur: maxFile, Max: maxFile})
	if p.Way != None {
		_ = syscall.Setrlimit(unix.RLIMIT_NPROC, &syscall.Rlimit{Cur: maxProcesses, Max: maxProcesses})
		_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	}
	st, err := p.command()
	p.killAll()
	if err != nil {
		return report(err)
	}
	text, _ := json.Marshal(st) // of a number
	_, _ = os.NewFile(statusFile, "status").Write(append(text, '\n'))
	return 0
}

// maxFile is the largest file that a command can write.
const maxFile = 2 << 30

// maxProcesses bounds the processes and threads of a box. Linux counts them by
// user namespace since 5.14, and not at all for root, user 0 of the machine.
// Memory has no such bound: RLIMIT_AS counts what runtimes such as Go, Java and
// node only reserve. Instead the kernel's OOM killer ends boxes first.
const maxProcesses = 4096

// command starts the command in a new session, and reaps orphans until it ends.
func (p plan) command() (status, error) {
	program, err := lookup(p.Argv[0], p.Env)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return status{Exit: 127}, nil
	}
	pid, err := syscall.ForkExec(program, p.Argv, &syscall.ProcAttr{
		Dir: p.Dir, Env: p.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		return status{Exit: 126}, nil
	}
	for {
		var ws syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return status{}, err
		case ended != pid:
		case ws.Signaled():
			return status{Exit: 128 + int(ws.Signal())}, nil
		default:
			return status{Exit: ws.ExitStatus()}, nil
		}
	}
}

// lookup finds a program in the PATH of the box.
func lookup(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, pair := range env {
		path, ok := strings.CutPrefix(pair, "PATH=")
		for _, dir := range filepath.SplitList(path) {
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); ok && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return file, nil
			}
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// killAll kills all that was started. The first process of a namespace can do so
// with one call; its end would do the same a moment later. Otherwise this
// process is a subreaper and finds all of them below it, whatever their
// sessions.
func (p plan) killAll() {
	if p.Way != None {
		if os.Getpid() == 1 { // otherwise it would kill all processes of the person
			_ = syscall.Kill(-1, syscall.SIGKILL)
		}
		return
	}
	for range 1000 {
		pids := descendants(os.Getpid())
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// descendants reads the live descendants of pid from the process table.
func descendants(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 || fields[0] == "X" {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			children[parent] = append(children[parent], child)
		}
	}
	var out []int
	for todo := children[pid]; len(todo) > 0; todo = todo[1:] {
		out = append(out, todo[0])
		todo = append(todo, children[todo[0]]...)
	}
	return out
}
