package listen

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// On returns the listeners on a TCP port of this machine. It reads only /proc:
// the kernel's socket table names the user, and the process is found among
// those whose open files may be read.
func On(port int) ([]Listener, error) {
	var out []Listener
	owners := map[string][]int{} // inode of a socket to indexes of out
	for _, name := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) && name != "/proc/self/net/tcp" {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, fmt.Errorf("list listening sockets: %w", err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			l, inode, ok := listening(lines.Text())
			if ok && int(l.Address.Port()) == port {
				owners[inode] = append(owners[inode], len(out))
				out = append(out, l)
			}
		}
		f.Close()
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("list listening sockets: %s: %w", name, err)
		}
	}
	if len(out) > 0 {
		holders(owners, out)
	}
	return out, nil
}

// listening parses one line of /proc/net/tcp, described in the kernel's
// Documentation/networking/proc_net_tcp.rst. State 0A is LISTEN.
func listening(line string) (l Listener, inode string, ok bool) {
	field := strings.Fields(line)
	if len(field) < 10 || field[3] != "0A" {
		return l, "", false
	}
	address, port, _ := strings.Cut(field[1], ":")
	raw, err1 := hex.DecodeString(address)
	number, err2 := strconv.ParseUint(port, 16, 16)
	uid, err3 := strconv.Atoi(field[7])
	if errors.Join(err1, err2, err3) != nil || len(raw)%4 != 0 {
		return l, "", false
	}
	for i := 0; i < len(raw); i += 4 { // words in the machine's order, little-endian on every supported platform
		slices.Reverse(raw[i : i+4])
	}
	ip, ok := netip.AddrFromSlice(raw)
	return Listener{Address: netip.AddrPortFrom(ip.Unmap(), uint16(number)), UID: uid}, field[9], ok
}

// holders fills in the process of each socket. A process of another user stays
// unknown, except to root.
func holders(owners map[string][]int, out []Listener) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range processes {
		files, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			continue // it has ended, or belongs to another user
		}
		for _, f := range files {
			to, err := os.Readlink(filepath.Join(dir, "fd", f.Name()))
			inode, isSocket := strings.CutPrefix(to, "socket:[")
			if err != nil || !isSocket {
				continue
			}
			for _, i := range owners[strings.TrimSuffix(inode, "]")] {
				pid, _ := strconv.Atoi(filepath.Base(dir)) // the pattern has digits alone
				if out[i].PID == 0 {
					out[i].PID, out[i].Program = pid, programOf(pid)
				}
				out[i].pids = append(out[i].pids, pid)
			}
		}
	}
}

func programOf(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(b))
}

// InUnit reports whether a process that holds the socket runs in the control
// group of a systemd unit.
func (l Listener) InUnit(unit string) bool {
	return slices.ContainsFunc(l.pids, func(pid int) bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		for _, line := range strings.Split(string(b), "\n") {
			if slices.Contains(strings.Split(line, "/"), unit) {
				return true
			}
		}
		return false
	})
}

// Below reports whether a process that holds the socket is main or a descendant
// of it.
func (l Listener) Below(main int) bool {
	return main > 1 && slices.ContainsFunc(l.pids, func(pid int) bool {
		for n := 0; pid > 1 && n < 100; n++ {
			if pid == main {
				return true
			}
			pid = parent(pid)
		}
		return false
	})
}

// parent is 0 if it cannot be told. A command's name may hold any bytes, so the
// fields are counted after its end.
func parent(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	field := strings.Fields(rest)
	if len(field) < 2 {
		return 0
	}
	up, _ := strconv.Atoi(field[1])
	return up
}
