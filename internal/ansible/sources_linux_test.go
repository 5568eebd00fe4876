package ansible

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// downloads: the program comes by HTTP, and its digest decides, as it does of a file.
func downloads(t *testing.T, l *lab, apply string) {
	b, err := os.ReadFile(binary)
	l.must(err)
	l.write("mirror/aisync", string(b)+"\n") // another program by its digest, that runs as well
	server := l.controller.command("python3", "-m", "http.server", "--bind", "10.77.0.254", "--directory", filepath.Join(l.home, "mirror"), "8000")
	l.must(server.Start())
	defer func() {
		l.controller.kill(t, "python3")
		_ = server.Wait()
	}()
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if l.controller.command("python3", "-c", "import urllib.request; urllib.request.urlopen('http://10.77.0.254:8000/')").Run() == nil {
			break
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatal("the mirror does not answer")
		}
	}
	l.write("url.yml", `- hosts: agents
  gather_facts: false
  roles:
    - role: aisync.aisync.aisync
      vars: {aisync_binary_url: "http://10.77.0.254:8000/aisync", aisync_spec_src: machines}
`)
	play := "ansible-playbook -i inventory url.yml --limit anna -e aisync_binary_sha256="
	good := fmt.Sprintf("%x", sha256.Sum256(append(b, '\n')))
	if p := l.play(play + strings.Repeat("0", 64)); p.end["anna"].failed != 1 || l.read("anna", ".local/bin/aisync") != string(b) {
		t.Errorf("a wrong digest:\n%s", p.out)
	}
	if p := l.play(apply + " --limit anna -e aisync_binary_sha256=" + strings.Repeat("0", 64)); p.end["anna"].failed != 1 || p.says("its sha256 is") != 1 {
		t.Errorf("a wrong digest of a file:\n%s", p.out)
	}
	if p := l.play(play); p.end["anna"].failed != 1 || !strings.Contains(p.out, "needs aisync_binary_sha256") {
		t.Errorf("no digest:\n%s", p.out)
	}
	l.play(play+good).expect(t, map[string]string{"anna": "changed"})
	if l.read("anna", ".local/bin/aisync") != string(b)+"\n" {
		t.Error("another program was installed")
	}
	l.play(play+good).expect(t, map[string]string{"anna": "same"})
}

// follows: the spec is a repository, and a newer commit brings a server.
func follows(t *testing.T, l *lab) {
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", filepath.Join(l.home, "machines"), "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	share := func() {
		t.Helper()
		git("add", "-A")
		git("commit", "-q", "-m", "spec")
		l.run("cp", "-a", filepath.Join(l.home, "machines/.git"), l.path("berta", "machines.git.new"))
		l.must(os.RemoveAll(l.path("berta", "machines.git")))
		l.must(os.Rename(l.path("berta", "machines.git.new"), l.path("berta", "machines.git")))
		l.run("chown", "-R", "1000:1000", l.path("berta", "machines.git"))
	}
	git("init", "-q", "-b", "main")
	share()
	l.must(os.RemoveAll(l.path("berta", ".config/aisync")))
	const task = "spec_git=git::file:///home/me/machines.git update=true"
	if r := l.task("berta", "aisync_apply", task, "--check"); !r.Changed || l.read("berta", ".config/aisync/machines.cue") != "" {
		t.Errorf("check of a clone: %+v", r)
	}
	if r := l.task("berta", "aisync_apply", task); r.Failed || !r.Changed || l.read("berta", ".config/aisync/machines.cue") != machinesSpec {
		t.Errorf("the clone: %+v", r)
	}
	if r := l.task("berta", "aisync_apply", task); r.Failed || r.Changed {
		t.Errorf("the second: %+v", r)
	}
	if r := l.task("berta", "aisync_apply", "spec_git=git::file:///home/me/others.git"); !r.Failed || !strings.Contains(r.Msg, "is a clone of file:///home/me/machines.git; it stays as it is") || r.Code != 1 {
		t.Errorf("another repository: %+v", r)
	}
	l.write("machines/bundle/agent-rules/names.md", "# Names\n")
	share()
	if r := l.task("berta", "aisync_apply", task); r.Failed || !r.Changed || l.read("berta", ".claude/rules/names.md") == "" {
		t.Errorf("a newer commit: %+v", r)
	}
	l.write("machines/more.cue", "package aisync\n\nhosts: [string]: mcp: more: command: \"more-mcp\"\n")
	share()
	if r := l.task("berta", "aisync_apply", task); r.Failed || r.Changed || len(r.Waiting) != 1 || !strings.Contains(r.Waiting[0].Why, "more-mcp") {
		t.Errorf("a newer commit with a server: %+v", r)
	}
	if r := l.task("berta", "aisync_apply", task+" approve=effects"); r.Failed || !r.Changed || !strings.Contains(l.read("berta", ".claude.json"), "more-mcp") {
		t.Errorf("the yes to it: %+v", r)
	}
	l.must(os.Remove(filepath.Join(l.home, "machines/more.cue")))
	l.must(os.RemoveAll(filepath.Join(l.home, "machines/.git")))
}

// converges: a machine applies by itself, until the play says no more of it.
func converges(t *testing.T, l *lab, apply string) {
	only := apply + " --limit carla"
	l.play(only+" -e aisync_converge=4h").expect(t, map[string]string{"carla": "changed"})
	if got := l.read("carla", ".config/aisync/ansible_converge.cue"); !strings.Contains(got, `every: "4h"`) {
		t.Errorf("the file: %q", got)
	}
	l.play(only+" -e aisync_converge=4h").expect(t, map[string]string{"carla": "same"})
	if p := l.play(only + " -e aisync_converge=soon"); p.end["carla"].failed != 1 || !strings.Contains(p.out, "hosts.carla.converge.every: want a time such as") {
		t.Errorf("a wrong interval:\n%s", p.out)
	}
	l.play(only).expect(t, map[string]string{"carla": "changed"})
	if got := l.read("carla", ".config/aisync/ansible_converge.cue"); got != "" {
		t.Errorf("the file stays: %q", got)
	}
}

// texts: the spec is a text in the play. What another play put there goes; what was
// edited there is kept beside.
func texts(t *testing.T, l *lab, apply string) {
	l.edit("dora", ".config/aisync/machines.cue", machinesSpec+"// mine\n")
	text := apply + ` --limit dora -e '{"aisync_spec_src": "", "aisync_spec": "package aisync\n\nhosts: dora: {runtimes: claude: {}, mcp: text: {command: \"x\", env: TEXT_TOKEN: \"` + token + `\"}}\n"}'`
	before := l.trees()
	p := l.play(text + " --check --diff")
	p.expect(t, map[string]string{"dora": "changed"})
	if p.says("- file:~/.claude/rules/commits.md: ") != 1 {
		t.Errorf("no diff of what goes:\n%s", p.out)
	}
	l.unchanged(before)
	p = l.play(text + " -vvv --diff")
	p.expect(t, map[string]string{"dora": "changed"})
	if strings.Contains(p.out, token) || !strings.Contains(l.read("dora", ".claude.json"), token) {
		t.Error("the output has the token, or nothing has it")
	}
	if l.read("dora", rule) != "" || strings.Contains(l.read("dora", ".claude.json"), "NOTES_TOKEN") || l.read("dora", ".config/aisync/machines.cue") != "" {
		t.Error("what the other spec had is still there")
	}
	kept, err := filepath.Glob(l.path("dora", ".config/aisync/machines.cue.*~"))
	if err != nil || len(kept) != 1 {
		t.Errorf("the edit of the spec: %q, %v", kept, err)
	}
	l.play(text).expect(t, map[string]string{"dora": "same"})
	l.play(apply+" --limit dora").expect(t, map[string]string{"dora": "changed"})
	if got := l.read("dora", rule); got != ruleText {
		t.Errorf("back again: %q", got)
	}
}

// flags: a source has text that attacks its reader. Before it is fetched, a check cannot
// know what changes.
func flags(t *testing.T, l *lab) {
	l.edit("anna", "rules/agent-rules/tidy.md", "# Tidy\n\nTidy.\u200b Well.\n")
	l.edit("anna", "rules/agent-rules/good.md", "# Good\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "rules"}} {
		l.run(append([]string{"git", "-c", "safe.directory=*", "-C", l.path("anna", "rules")}, args...)...)
	}
	l.run("chown", "-R", "1000:1000", l.path("anna", "rules"))
	l.write("flagged/machines.cue", "package aisync\n\nhosts: anna: {\n\truntimes: claude: {}\n\tbundles: own: source: \"git::file:///home/me/rules\"\n}\n")
	const task = "spec_src=flagged"
	before := l.trees()
	if r := l.task("anna", "aisync_apply", task, "--check"); !r.Changed || r.Failed || !strings.Contains(r.Msg, "not fetched") {
		t.Errorf("check before the source is there: %+v", r)
	}
	l.unchanged(before)
	r := l.task("anna", "aisync_apply", task)
	if r.Failed || !r.Changed || len(r.Waiting) != 1 || l.read("anna", ".claude/rules/good.md") == "" || l.read("anna", ".claude/rules/tidy.md") != "" {
		t.Fatalf("flagged: %+v", r)
	}
	if r := l.task("anna", "aisync_apply", task+" approve=effects"); r.Changed || len(r.Waiting) != 1 {
		t.Errorf("a yes to effects counts: %+v", r)
	}
	yes := task + " approve=" + r.Waiting[0].Approve
	if r := l.task("anna", "aisync_apply", yes, "--check"); !r.Changed || len(r.Waiting) != 0 || l.read("anna", ".claude/rules/tidy.md") != "" {
		t.Errorf("check with a yes: %+v", r)
	}
	if r := l.task("anna", "aisync_apply", yes); !r.Changed || len(r.Waiting) != 0 || l.read("anna", ".claude/rules/tidy.md") == "" {
		t.Errorf("the yes: %+v", r)
	}
	l.write("flagged/aisync.lock", "{\"format_version\":1}\n") // what the machine adds to it stays
	for _, changed := range []bool{true, false} {
		if r := l.task("anna", "aisync_apply", task); r.Failed || r.Changed != changed || !strings.Contains(l.read("anna", ".config/aisync/aisync.lock"), `"own"`) {
			t.Errorf("a lock, want changed %v: %+v", changed, r)
		}
	}
	if r := l.task("anna", "aisync_apply", "spec_src=machines"); r.Failed || !r.Changed || l.read("anna", ".claude/rules/tidy.md") != "" || l.read("anna", rule) != ruleText {
		t.Errorf("back again: %+v", r)
	}
}

// notFound: what was made for a program stays while PATH lacks it, as over ssh.
func notFound(t *testing.T, l *lab, apply, check string) {
	program := filepath.Join(l.machines["dora"].dir, "local/bin/claude")
	l.must(os.Rename(program, program+".away"))
	before := l.trees()
	for _, play := range []string{check, apply} {
		l.play(play).expect(t, l.each("same", nil))
		l.unchanged(before)
	}
	l.must(os.Rename(program+".away", program))
	if l.read("dora", rule) != ruleText {
		t.Error("the rule is gone")
	}
}
