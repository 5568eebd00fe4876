package scale

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// house is machines on one bridge: each a network namespace with the address of its
// number. What a machine sends may be limited.
type house struct {
	t    *testing.T
	lan  string // the namespace of the bridge
	all  []string
	next int
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, lan: fmt.Sprintf("aisync-%d-lan", os.Getpid())}
	t.Cleanup(func() {
		for _, name := range append(h.all, h.lan) {
			_ = exec.Command("ip", "netns", "del", name).Run() // the links go with it
		}
	})
	h.ip("netns", "add", h.lan)
	h.ip("-n", h.lan, "link", "add", "br0", "type", "bridge")
	h.ip("-n", h.lan, "link", "set", "br0", "up")
	return h
}

func (h *house) ip(args ...string) {
	h.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		h.t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// machine is one namespace.
type machine struct {
	h          *house
	name, addr string
	home       string
}

// machine adds a machine that sends mbit at most; 0: as fast as it can.
func (h *house) machine(mbit int) machine {
	h.t.Helper()
	h.next++
	m := machine{h, fmt.Sprintf("aisync-%d-%d", os.Getpid(), h.next), fmt.Sprintf("10.77.0.%d", h.next), filepath.Join(memory(h.t), "home")}
	h.all = append(h.all, m.name)
	port := fmt.Sprint("p", h.next)
	h.ip("netns", "add", m.name)
	h.ip("-n", h.lan, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", m.name)
	h.ip("-n", h.lan, "link", "set", port, "master", "br0", "up")
	h.ip("-n", m.name, "addr", "add", m.addr+"/24", "dev", "eth0")
	h.ip("-n", m.name, "link", "set", "lo", "up")
	h.ip("-n", m.name, "link", "set", "eth0", "up")
	if mbit > 0 {
		if out, err := exec.Command("tc", "-n", m.name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", fmt.Sprintf("%dmbit", mbit), "burst", "256kb", "latency", "50ms").CombinedOutput(); err != nil {
			h.t.Skipf("needs tc with tbf: %v %s", err, out)
		}
	}
	return m
}

// sent is the number of bytes that m has sent to the others, with all headers.
func (m machine) sent() int64 {
	out, err := exec.Command("ip", "netns", "exec", m.name, "cat", "/sys/class/net/eth0/statistics/tx_bytes").Output()
	n, perr := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil || perr != nil {
		m.h.t.Fatal(err, perr)
	}
	return n
}

// command is a command on m, with an environment of its own.
func (m machine) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", m.name}, args...)...)
	cmd.Dir = "/"
	cmd.Env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	return cmd
}

// put writes a file into the home of m.
func (m machine) put(name string, data []byte) {
	m.h.t.Helper()
	name = filepath.Join(m.home, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		m.h.t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		m.h.t.Fatal(err)
	}
}

// listen opens a port of m in this process.
func (m machine) listen(port int) net.Listener {
	m.h.t.Helper()
	type result struct {
		l   net.Listener
		err error
	}
	got := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		f, err := os.Open("/run/netns/" + m.name)
		if err == nil {
			defer f.Close()
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
		}
		if err != nil {
			got <- result{nil, err}
			return
		}
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", m.addr, port))
		got <- result{l, err}
	}()
	r := <-got
	if r.err != nil {
		m.h.t.Fatal(r.err)
	}
	return r.l
}

// upstream is the hub, behind the uplink: it counts the bytes of bodies that it sends, by
// the path.
type upstream struct {
	files map[string][]byte

	mu       sync.Mutex
	sent     map[string]int64
	requests int
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.requests++
	u.mu.Unlock()
	data, ok := u.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"one"`)
	http.ServeContent(&counting{w, u, r.URL.Path}, r, "", time.Time{}, strings.NewReader(string(data)))
}

// forget starts the count anew.
func (u *upstream) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent, u.requests = map[string]int64{}, 0
}

func (u *upstream) total() (bytes int64, requests int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, n := range u.sent {
		bytes += n
	}
	return bytes, u.requests
}

// of is the number of bytes of one file.
func (u *upstream) of(path string) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sent[path]
}

type counting struct {
	http.ResponseWriter
	u    *upstream
	path string
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.u.mu.Lock()
	c.u.sent[c.path] += int64(n)
	c.u.mu.Unlock()
	return n, err
}

// startRegistry runs docker-registry on m until stop is called, or the test ends.
func startRegistry(t *testing.T, m machine) (at string, stop func()) {
	t.Helper()
	at = m.addr + ":5000"
	store, config := filepath.Join(memory(t), "registry"), filepath.Join(t.TempDir(), "config.yml")
	text := "version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: " + store + ", maxthreads: 100}}\nhttp: {addr: \"" + at + "\"}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := m.command(ctx, "docker-registry", "serve", config)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cancel()       // SIGKILL
		_ = cmd.Wait() // it was killed
	})
	t.Cleanup(stop)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if m.command(t.Context(), "curl", "-sf", "http://"+at+"/v2/").Run() == nil {
			return at, stop
		}
		if time.Now().After(end) {
			t.Fatal("docker-registry does not answer")
		}
	}
}

// memory is a folder that no disk slows down, removed at the end of the test.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "aisync-scale-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
