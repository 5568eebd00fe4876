package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/proof"
)

// smallDisk is a shell whose home lies on a file system of its own, of 64 MiB.
type smallDisk struct {
	t    *testing.T
	home string
	in   *os.File
	out  *os.File
}

func newSmallDisk(t *testing.T) *smallDisk {
	t.Helper()
	d := &smallDisk{t: t, home: t.TempDir()}
	by := []string{"unshare", "-r", "-m", "sh", "-c", `mount -t tmpfs -o size=64m aisync "$HOME" && cd "$HOME" && exec "$@"`, "sh"}
	env := append(os.Environ(), "HOME="+d.home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_DATA_HOME=", "NO_PROXY=*")
	try := exec.Command(by[0], append(by[1:], "true")...)
	try.Env = env
	if out, err := try.CombinedOutput(); err != nil {
		t.Skipf("needs namespaces of its own: %v %s", err, out)
	}
	var theirs [2]*os.File
	for i, mine := range []**os.File{&d.in, &d.out} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if *mine, theirs[i] = w, r; i == 1 {
			*mine, theirs[i] = r, w
		}
	}
	shell := exec.Command(by[0], append(by[1:], "sh")...)
	shell.Env, shell.Stdin, shell.Stdout, shell.Stderr = env, theirs[0], theirs[1], theirs[1]
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	theirs[0].Close()
	theirs[1].Close()
	t.Cleanup(func() {
		d.in.Close()
		_ = shell.Wait() // its last command's exit code
		d.out.Close()
	})
	return d
}

// run runs a line there, and returns its exit code and what it printed.
func (d *smallDisk) run(format string, args ...any) (code int, out string) {
	d.t.Helper()
	const end = "\n--- exit code "
	fmt.Fprintf(d.in, format+"\nprintf '"+strings.ReplaceAll(end, "\n", `\n`)+"%%d.' $?\n", args...)
	var all bytes.Buffer
	for b := make([]byte, 1<<16); ; {
		n, err := d.out.Read(b)
		all.Write(b[:n])
		if out, rest, ok := strings.Cut(all.String(), end); ok && strings.HasSuffix(rest, ".") {
			_, _ = fmt.Sscanf(rest, "%d.", &code) // digits
			return code, out
		}
		if err != nil {
			d.t.Fatalf("%v\n%s", err, all.String())
		}
	}
}

// fill leaves so many KiB free.
func (d *smallDisk) fill(kib int) {
	d.t.Helper()
	if code, out := d.run(`rm -f fill; free=$(df -k --output=avail . | tail -n 1); head -c $(( (free - %d) * 1024 )) /dev/zero >fill`, kib); code != 0 {
		d.t.Fatal(out)
	}
}

// A model that does not fit on a real full disk is refused with what is missing,
// before a byte is fetched. One that was begun before keeps what it has: once there is
// space only the rest is fetched, and what it reserved is there for it on a full disk.
func TestModelWaitsForSpaceOnFullDisk(t *testing.T) {
	done := proof.Start(t, 3)
	d := newSmallDisk(t)
	const size, most = 24 << 20, 4 << 20
	s := &steady{content: make([]byte, size), reached: make(chan struct{}, 1)}
	_, _ = rand.NewChaCha8([32]byte{6}).Read(s.content)
	server := httptest.NewServer(s)
	defer server.Close()
	spec := fmt.Sprintf(`package aisync

hosts: velox: models: big: {}
catalog: models: big: {
	context: 2048
	quants: F32: files: [{path: "big.bin", size: %d, sha256: "%x", sources: ["%s/big.bin"]}]
}
`, size, sha256.Sum256(s.content), server.URL)
	if code, out := d.run("mkdir -p .config/aisync && cat >.config/aisync/velox.cue <<'END'\n%s\nEND\n", spec); code != 0 {
		t.Fatal(out)
	}
	const store = ".local/share/llm/models"
	refused := func(command, missing string) {
		t.Helper()
		sent := s.sent.Load()
		code, out := d.run("%s --host velox", command)
		if code != 1 || !strings.Contains(out, "model:big: not enough space on the disk of ") || strings.Count(out, missing+" too few") != 2 {
			t.Errorf("%s: exit code %d, want 1 and twice %s too few\n%s", command, code, missing, out)
		}
		if s.sent.Load() != sent {
			t.Errorf("%s fetches %d bytes", command, s.sent.Load()-sent)
		}
		if _, found := d.run(`find %[1]s -name big.bin -o -path '*/sha256/*' -type f`, store); strings.Contains(found, "big.bin") || strings.Contains(found, "sha256") {
			t.Errorf("%s leaves %s", command, found)
		}
	}
	// ended has a pull begin, and ends it once so many bytes more were sent.
	ended := func(bytes int64) {
		t.Helper()
		s.limit.Store(s.sent.Load() + bytes)
		if code, out := d.run("aisync models pull big --host velox </dev/null >said 2>&1 & echo"); code != 0 {
			t.Fatal(out)
		}
		<-s.reached
		if code, out := d.run("kill -TERM $!; wait $!; c=$?; cat said; rm said; (exit $c)"); code == 0 {
			t.Fatal(out)
		}
		s.limit.Store(1 << 62)
	}
	s.limit.Store(1 << 62)
	d.fill(640)
	refused("aisync models pull big", "24.5 MB")
	refused("aisync apply --yes", "24.5 MB")

	// It is ended on its way, on a file system that reserves nothing for it.
	d.run("rm fill")
	ended(10 << 20)
	if code, out := d.run("fallocate --punch-hole --offset %d --length %d %s/tmp/*.part", 10<<20, size-10<<20, store); code != 0 {
		t.Fatal(out)
	}
	d.fill(640)
	refused("aisync apply --yes", "14.0 MB")

	// On one that does, what is left fits, however full it is meanwhile.
	d.run("rm fill")
	ended(5 << 20)
	d.fill(640)
	code, out := d.run("aisync apply --yes --host velox && sha256sum %s/local/big/big.bin", store)
	if code != 0 || !strings.Contains(out, fmt.Sprintf("%x ", sha256.Sum256(s.content))) {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if again := s.sent.Load() - size; again > 2*most {
		t.Errorf("%d bytes were fetched again", again)
	}
	done("steps", 5)
}

// On a full disk an apply names it and leaves no file in part; once there is space the
// next one does what is left.
func TestApplyGoesOnAfterFullDisk(t *testing.T) {
	done := proof.Start(t, 1)
	d := newSmallDisk(t)
	const project = `rm -rf p .local fill && mkdir p && cd p && git init -q -b main . && cat >aisync.cue <<'END'
package aisync

project: {name: "p", runtimes: ["claude", "local-openai"], bundles: ["python", "go", "elisp"]}
END
cd`
	const apply = "cd p; aisync apply --yes --trust --scope project; c=$?; cd; (exit $c)"
	const tree = "find p -name .git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum"
	fresh := func() {
		t.Helper()
		if code, out := d.run(project); code != 0 {
			t.Fatal(out)
		}
	}
	fresh()
	if code, out := d.run(apply); code != 0 {
		t.Fatal(out)
	}
	_, whole := d.run(tree)
	if strings.Count(whole, "\n") < 10 {
		t.Fatalf("an apply makes\n%s", whole)
	}
	full := 0
	for kib := 0; ; kib += 24 {
		fresh()
		d.fill(kib)
		code, out := d.run(apply)
		if code == 0 {
			break
		}
		full++
		if !strings.Contains(out, "no space left on device") || !strings.Contains(out, "free some space there, then run: aisync apply") {
			t.Errorf("%d KiB: exit code %d\n%s", kib, code, out)
		}
		_, now := d.run(tree)
		for line := range strings.Lines(now) {
			if !strings.Contains(whole, line) {
				t.Errorf("%d KiB: a file in part, or one that is left: %s", kib, line)
			}
		}
		d.run("rm fill")
		if code, out := d.run(apply); code != 0 {
			t.Errorf("%d KiB, and then enough: exit code %d\n%s", kib, code, out)
		}
		if _, now := d.run(tree); now != whole {
			t.Errorf("%d KiB, and then enough: %s\nwant\n%s", kib, now, whole)
		}
	}
	if full < 4 {
		t.Errorf("the disk was full %d times", full)
	}
	done("disks", full)
}
