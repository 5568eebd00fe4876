//go:build linux

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sample is what one run of a program cost.
type sample struct {
	time   time.Duration
	cpu    time.Duration // user and system, of all threads
	memory int64         // peak, bytes; never less than what this program itself has, see floor
	read   int64         // bytes that its read calls returned
}

// run runs argv once. An exit code other than 0 is an error that shows what
// the program said.
func run(dir string, env []string, argv ...string) (sample, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return sample{}, err
	}
	// The counters of a process outlive it until it is waited for.
	var err error = unix.EINTR
	for err == unix.EINTR {
		err = unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	s := sample{time: time.Since(begin), read: readBytes(cmd.Process.Pid)}
	if err := cmd.Wait(); err != nil {
		return s, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out.Bytes())
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.memory = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024
	return s, nil
}

// median runs argv n times, after one run that does not count, and returns the
// median of each figure.
func median(n int, dir string, env []string, argv ...string) (sample, error) {
	if _, err := run(dir, env, argv...); err != nil {
		return sample{}, err
	}
	var all []sample
	for range n {
		s, err := run(dir, env, argv...)
		if err != nil {
			return s, err
		}
		all = append(all, s)
	}
	return middle(all), nil
}

// inTurns is median for several programs, which run one after the other in each round.
func inTurns(n int, dir string, programs []string, argv func(program string) []string) ([]sample, error) {
	all := make([][]sample, len(programs))
	for round := range n + 1 {
		for i, program := range programs {
			s, err := run(dir, nil, argv(program)...)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				all[i] = append(all[i], s)
			}
		}
	}
	var out []sample
	for _, list := range all {
		out = append(out, middle(list))
	}
	return out, nil
}

func middle(all []sample) sample {
	return sample{
		time:   at(all, func(s sample) time.Duration { return s.time }),
		cpu:    at(all, func(s sample) time.Duration { return s.cpu }),
		memory: at(all, func(s sample) int64 { return s.memory }),
		read:   at(all, func(s sample) int64 { return s.read }),
	}
}

// at is the median of one figure.
func at[T cmp.Ordered](all []sample, figure func(sample) T) T {
	var list []T
	for _, s := range all {
		list = append(list, figure(s))
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// readBytes is rchar of /proc/PID/io: what read calls returned, from a disk or
// from the page cache.
func readBytes(pid int) int64 {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(line, "rchar: "); ok {
			v, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			return v
		}
	}
	return -1
}

// machine says in a few lines where the figures come from.
func machine(dir string) string {
	field := func(file, key string) string {
		b, _ := os.ReadFile(file)
		for line := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
				return strings.TrimSpace(v)
			}
		}
		return "unknown"
	}
	var u unix.Utsname
	unix.Uname(&u)
	var st unix.Statfs_t
	unix.Statfs(dir, &st)
	kinds := map[int64]string{unix.EXT4_SUPER_MAGIC: "ext4", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.XFS_SUPER_MAGIC: "xfs", unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs"}
	fs := kinds[int64(st.Type)]
	if fs == "" {
		fs = fmt.Sprintf("file system %#x", st.Type)
	}
	cpus := 0
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "processor") {
			cpus++
		}
	}
	return fmt.Sprintf("%d × %s, %s of memory, Linux %s, %s on %s", cpus, field("/proc/cpuinfo", "model name"),
		field("/proc/meminfo", "MemTotal"), unix.ByteSliceToString(u.Release[:]), fs, dir)
}
