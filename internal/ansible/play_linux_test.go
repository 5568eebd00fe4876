package ansible

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// binary is the aisync that is installed; make test-ansible sets it.
var binary = os.Getenv("AISYNC_TEST_ANSIBLE")

// repository is where this tree lies.
var repository, _ = filepath.Abs("../..")

// recap is how a play ended for one machine.
type recap struct{ ok, changed, unreachable, failed int }

// played is one play: what it printed, and how it ended for each machine.
type played struct {
	out string
	end map[string]recap
}

// says reports how often it printed a text, in however many lines.
func (p played) says(text string) int {
	return strings.Count(strings.Join(strings.Fields(p.out), " "), text)
}

var recapLine = regexp.MustCompile(`(?m)^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)`)

// types runs a command line on the controller.
func (l *lab) types(line string) (out string, code int) {
	l.t.Helper()
	begin := time.Now()
	cmd := l.typing(line)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	l.t.Logf("%s: %.1f s", line, time.Since(begin).Seconds())
	return string(b), cmd.ProcessState.ExitCode()
}

// typing is types, not yet started.
func (l *lab) typing(line string) *exec.Cmd {
	cmd := l.controller.command("sh", "-c", `cd "$HOME" && `+line)
	cmd.Env = []string{"HOME=" + l.home, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "ANSIBLE_NOCOLOR=1", "ANSIBLE_FORKS=8",
		"ANSIBLE_PIPELINING=1", "ANSIBLE_SSH_CONTROL_PATH_DIR=/run/ssh", "ANSIBLE_LOCALHOST_WARNING=0", "GIT_CONFIG_NOSYSTEM=1"}
	return cmd
}

// play runs a line that plays, and reads how it ended.
func (l *lab) play(line string) played {
	l.t.Helper()
	out, _ := l.types(line)
	p := played{out, map[string]recap{}}
	for _, m := range recapLine.FindAllStringSubmatch(out, -1) {
		var n [4]int
		for i := range n {
			n[i], _ = strconv.Atoi(m[i+2]) // digits
		}
		p.end[m[1]] = recap{n[0], n[1], n[2], n[3]}
	}
	if len(p.end) == 0 {
		l.t.Fatalf("%s has no end:\n%s", line, out)
	}
	return p
}

// expect wants an end for each machine: "changed", "same", "failed" or "unreachable".
func (p played) expect(t *testing.T, want map[string]string) {
	t.Helper()
	good := len(p.end) == len(want)
	for name, e := range p.end {
		is := "same"
		switch {
		case e.unreachable > 0:
			is = "unreachable"
		case e.failed > 0:
			is = "failed"
		case e.changed > 0:
			is = "changed"
		}
		if is != want[name] {
			t.Errorf("%s: %s, want %s", name, is, want[name])
			good = false
		}
	}
	if !good {
		t.Fatalf("want %v\n%s", want, p.out)
	}
}

// each has the same end for all machines, but for those in other.
func (l *lab) each(end string, other map[string]string) map[string]string {
	want := map[string]string{}
	for _, name := range l.names {
		want[name] = end
	}
	for name, end := range other {
		want[name] = end
	}
	return want
}

// result is what a module returned.
type result struct {
	Changed bool   `json:"changed"`
	Failed  bool   `json:"-"` // ansible says it before the document
	Msg     string `json:"msg"`
	Code    int    `json:"code"`
	Changes []struct{ Address, Action string }
	Waiting []struct{ Address, Why, Approve string }
	Facts   struct {
		Aisync struct {
			Installed bool
			Version   string
			Machine   struct{ Hostname string }
			Status    struct{ Summary struct{ Drift int } }
		}
	} `json:"ansible_facts"`
}

// task runs one module on one machine.
func (l *lab) task(machine, module, args string, flags ...string) result {
	l.t.Helper()
	out, _ := l.types(fmt.Sprintf("ansible %s -i inventory -m aisync.aisync.%s -a '%s' %s", machine, module, args, strings.Join(flags, " ")))
	at := strings.Index(out, "=> {")
	if at < 0 {
		l.t.Fatal(out)
	}
	var r result
	if err := json.NewDecoder(strings.NewReader(out[at+3:])).Decode(&r); err != nil {
		l.t.Fatalf("%v\n%s", err, out)
	}
	r.Failed = strings.Contains(out[:at], "FAILED!")
	return r
}

// tree is all that a machine's user has, but ansible's own folder and the lock of an
// apply: paths, modes, bytes and, for files, when they were written.
func (l *lab) tree(machine string) string {
	l.t.Helper()
	top := l.path(machine, "")
	var all strings.Builder
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(top, path)
		if name == ".ansible" || name == ".cache" {
			return fs.SkipDir
		}
		if name == ".local/state/aisync/lock" {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "%s %s", name, info.Mode())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&all, " %x %s", sha256.Sum256(b), info.ModTime().Format(time.StampNano))
		}
		all.WriteByte('\n')
		return nil
	})
	l.must(err)
	return all.String()
}

// trees is tree of all machines.
func (l *lab) trees() map[string]string {
	all := map[string]string{}
	for _, name := range l.names {
		all[name] = l.tree(name)
	}
	return all
}

// differs names the lines that only one of two trees has.
func differs(a, b string) string {
	var out bytes.Buffer
	for _, x := range []struct{ sign, in, other string }{{"-", a, b}, {"+", b, a}} {
		for line := range strings.Lines(x.in) {
			if !strings.Contains(x.other, line) {
				out.WriteString(x.sign + line)
			}
		}
	}
	return out.String()
}

// unchanged fails where a machine is not as it was.
func (l *lab) unchanged(before map[string]string) {
	l.t.Helper()
	for name, now := range l.trees() {
		if d := differs(before[name], now); d != "" {
			l.t.Errorf("%s has changed:\n%s", name, d)
		}
	}
}

// page writes the files of the section of docs/fleet.md about Ansible into the
// controller's home, and returns the commands there.
func (l *lab) page() (commands []string) {
	l.t.Helper()
	b, err := os.ReadFile(filepath.Join(repository, "docs/fleet.md"))
	l.must(err)
	_, section, ok := strings.Cut(string(b), "\n## Ansible\n")
	if !ok {
		l.t.Fatal("docs/fleet.md has no section about Ansible")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?ms)^```(\\S+) ?(\\S*)\n(.*?)^```$").FindAllStringSubmatch(section, -1) {
		if m[2] != "" {
			l.write(m[2], m[3])
			continue
		}
		for line := range strings.Lines(m[3]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				commands = append(commands, strings.TrimSpace(command))
			}
		}
	}
	if len(commands) != 3 {
		l.t.Fatalf("commands of the page: %q", commands)
	}
	return commands
}
