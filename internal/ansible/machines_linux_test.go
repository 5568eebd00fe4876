package ansible

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// room is a set of namespaces: network, mounts, hostname, processes. It ends with its
// first process, which ends with the test: the test holds its stdin.
type room struct {
	name string
	dir  string // what is its own on the disk
	pid  int    // of its first process, as this process sees it
	in   io.WriteCloser
	out  *bufio.Reader
}

// enter starts a room. Its first process runs a script, and waits then. enter returns
// when it says its first word.
func enter(t *testing.T, name, dir, script string) *room {
	t.Helper()
	cmd := exec.Command("sh", "-euc", "mount --make-rprivate /\n"+script+"\necho ready\nread -r _ || true")
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "D=" + dir, "NAME=" + name}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Skip("needs namespaces:", err)
	}
	r := &room{name: name, dir: dir, pid: cmd.Process.Pid, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill() // its namespace of processes ends with it
		_ = cmd.Wait()
	})
	r.word(t)
	return r
}

// word reads the next line that the first process says.
func (r *room) word(t *testing.T) string {
	t.Helper()
	line, err := r.out.ReadString('\n')
	if err != nil {
		said, _ := os.ReadFile(filepath.Join(r.dir, "log"))
		t.Fatalf("%s: %v\n%s", r.name, err, said)
	}
	return strings.TrimSpace(line)
}

// command is a command that runs inside.
func (r *room) command(argv ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"-t", strconv.Itoa(r.pid), "-n", "-m", "-u", "-i", "-p", "--"}, argv...)...)
}

// inside returns the processes of the room but its first, by their IDs here.
func (r *room) inside(t *testing.T) (pids []int) {
	t.Helper()
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", r.pid))
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == r.pid {
			continue
		}
		if ns, err := os.Readlink(filepath.Join("/proc", e.Name(), "ns/pid")); err == nil && ns == own {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill kills the processes of the room with these names, by default all but its first.
// It returns how many.
func (r *room) kill(t *testing.T, names ...string) (n int) {
	t.Helper()
	for _, pid := range r.inside(t) {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if len(names) > 0 && !slices.Contains(names, strings.TrimSpace(string(comm))) {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// own is what a machine has for itself. All else it sees and cannot write.
const own = `
mount --bind "$D/etc" /etc
mount --bind "$D/home" /home
mount --bind "$D/local" /usr/local
mount -o remount,bind,ro /
mount -t tmpfs tmpfs /root
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/tmp
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t proc proc /proc
mkdir /run/sshd
hostname "$NAME"
ip link set lo up
echo here
read -r address
ip link set eth0 up
ip addr add "$address/24" dev eth0
/usr/sbin/sshd -D -e -f /etc/ssh/sshd_config &`

// sshd is the configuration of the servers.
const sshd = `ListenAddress %s
HostKey /etc/ssh/key
AuthorizedKeysFile /etc/ssh/authorized_keys
UsePAM no
PasswordAuthentication no
PidFile none
Subsystem sftp internal-sftp
`

// me is who is logged in to, on each machine.
const me = 1000

// lab is a controller and machines, in a network of their own.
type lab struct {
	t          *testing.T
	controller *room
	machines   map[string]*room
	names      []string
	home       string // of the controller
}

// newLab starts them, or skips the test where that cannot be.
func newLab(t *testing.T, names ...string) *lab {
	t.Helper()
	if binary == "" {
		t.Skip("make test-ansible runs it")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root, for sshd and namespaces")
	}
	for _, program := range []string{"ansible-playbook", "/usr/sbin/sshd", "ssh-keygen", "ip", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs", program)
		}
	}
	top := t.TempDir()
	l := &lab{t: t, machines: map[string]*room{}, names: names, home: filepath.Join(top, "controller")}
	l.must(os.Mkdir(l.home, 0o700))
	l.controller = enter(t, "controller", l.home, "mount -t tmpfs tmpfs /run\nmount -t proc proc /proc\nhostname controller\nip link set lo up\nip link add br0 type bridge\nip addr add 10.77.0.254/24 dev br0\nip link set br0 up")
	l.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(l.home, "id"))
	var known, vars strings.Builder
	for i, name := range names {
		address := fmt.Sprintf("10.77.0.%d", i+1)
		r := l.machine(filepath.Join(top, name), name, address)
		key, err := os.ReadFile(filepath.Join(r.dir, "etc/ssh/key.pub"))
		l.must(err)
		fmt.Fprintf(&known, "%s %s", address, key)
		l.write("host_vars/"+name+".yml", "ansible_host: "+address+"\n")
	}
	l.write("host_vars/gone.yml", "ansible_host: 10.77.0.99\n")
	l.write("known_hosts", known.String())
	fmt.Fprintf(&vars, "ansible_user: me\nansible_python_interpreter: /usr/bin/python3\nansible_ssh_private_key_file: %s\nansible_ssh_common_args: -o UserKnownHostsFile=%s -o StrictHostKeyChecking=yes -o ConnectTimeout=5\n",
		filepath.Join(l.home, "id"), filepath.Join(l.home, "known_hosts"))
	l.write("group_vars/all.yml", vars.String())
	l.must(os.Symlink(repository, filepath.Join(l.home, "aisync")))
	return l
}

// machine starts one machine.
func (l *lab) machine(dir, name, address string) *room {
	l.t.Helper()
	for _, d := range []string{"home/me", "local/bin"} {
		l.must(os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	l.must(os.Chown(filepath.Join(dir, "home/me"), me, me))
	l.run("cp", "-a", "/etc", filepath.Join(dir, "etc"))
	ssh := filepath.Join(dir, "etc/ssh")
	l.must(os.RemoveAll(ssh))
	l.must(os.Mkdir(ssh, 0o755))
	l.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(ssh, "key"))
	public, err := os.ReadFile(filepath.Join(l.home, "id.pub"))
	l.must(err)
	for file, text := range map[string]string{
		"etc/passwd":              "root:x:0:0:root:/root:/bin/sh\nsshd:x:101:65534::/run/sshd:/usr/sbin/nologin\nme:x:1000:1000::/home/me:/bin/bash\n",
		"etc/group":               "root:x:0:\nnogroup:x:65534:\nme:x:1000:\n",
		"etc/shadow":              "root:*:19000:0:99999:7:::\nme:*:19000:0:99999:7:::\n",
		"etc/ssh/sshd_config":     fmt.Sprintf(sshd, address),
		"etc/ssh/authorized_keys": string(public),
		"local/bin/claude":        "#!/bin/sh\nexit 0\n",
	} {
		l.must(os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	l.must(os.Chmod(filepath.Join(dir, "local/bin/claude"), 0o755))
	r := enter(l.t, name, dir, own)
	link := "to-" + name
	on := func(argv ...string) {
		l.run(append([]string{"nsenter", "-t", strconv.Itoa(l.controller.pid), "-n", "--"}, argv...)...)
	}
	on("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(r.pid))
	on("ip", "link", "set", link, "master", "br0", "up")
	_, err = fmt.Fprintln(r.in, address)
	l.must(err)
	r.word(l.t)
	l.machines[name] = r
	return r
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// run runs a program here, which must succeed.
func (l *lab) run(argv ...string) string {
	l.t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		l.t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return string(out)
}

// write writes a file of the controller's home.
func (l *lab) write(name, text string) {
	l.t.Helper()
	name = filepath.Join(l.home, name)
	l.must(os.MkdirAll(filepath.Dir(name), 0o755))
	l.must(os.WriteFile(name, []byte(text), 0o644))
}

// path is where a file of a machine's user lies here.
func (l *lab) path(machine, name string) string {
	return filepath.Join(l.machines[machine].dir, "home/me", name)
}

// read returns a file of a machine's user; "" if there is none.
func (l *lab) read(machine, name string) string {
	b, err := os.ReadFile(l.path(machine, name))
	if err != nil && !os.IsNotExist(err) {
		l.t.Error(err)
	}
	return string(b)
}

// edit writes a file of a machine's user, as that user.
func (l *lab) edit(machine, name, text string) {
	l.t.Helper()
	at := l.path(machine, name)
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if err := os.MkdirAll(l.path(machine, dir), 0o755); err != nil {
			l.t.Fatal(err)
		}
		l.must(os.Chown(l.path(machine, dir), me, me))
	}
	l.must(os.WriteFile(at, []byte(text), 0o644))
	l.must(os.Chown(at, me, me))
}
