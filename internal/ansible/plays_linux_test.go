package ansible

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// token is a secret that the spec has as plain text.
const token = "ghp_Zq7Kx2Wm9Tn4Rb6Vd8Ys1Hc3Jf5Lp0Ga2Se"

// machinesSpec is the spec of all machines; the rules lie beside it.
const machinesSpec = `package aisync

hosts: [string]: {
	runtimes: claude: {}
	bundles: own: source: "./bundle"
	mcp: notes: {command: "notes-mcp", env: NOTES_TOKEN: "` + token + `"}
}
hosts: anna: match: hostname: "anna"
hosts: berta: match: hostname: "berta"
hosts: carla: match: hostname: "carla"
hosts: dora: match: hostname: "dora"
hosts: emil: match: hostname: "emil"
`

const (
	rule     = ".claude/rules/commits.md"
	ruleText = "# Commits\n\nSay why.\n"
)

// newMachines is a lab with the page's files and the spec.
func newMachines(t *testing.T, names ...string) (l *lab, commands []string) {
	t.Helper()
	l = newLab(t, names...)
	commands = l.page()
	l.write("inventory", "[agents]\n"+strings.Join(names, "\n")+"\n")
	l.write("machines/machines.cue", machinesSpec)
	l.write("machines/bundle/agent-rules/commits.md", ruleText)
	if out, code := l.types(commands[0]); code != 0 {
		t.Fatal(out)
	}
	return l, commands
}

// Documentation that ansible-doc reads, and one machine, twice.
func TestOneMachine(t *testing.T) {
	l, commands := newMachines(t, "anna")
	for _, what := range []string{"-t module aisync.aisync.aisync_apply", "-t module aisync.aisync.aisync_facts", "-t role aisync.aisync.aisync"} {
		out, code := l.types("ansible-doc --json " + what)
		if code != 0 || !strings.Contains(out, `"aisync.aisync.aisync`) || !strings.Contains(out, "description") {
			t.Errorf("ansible-doc %s: %d\n%s", what, code, out)
		}
	}
	l.play(commands[1]).expect(t, l.each("changed", nil))
	if got := l.read("anna", rule); got != ruleText {
		t.Errorf("the rule: %q", got)
	}
	before := l.trees()
	l.play(commands[1]).expect(t, l.each("same", nil))
	l.unchanged(before)
}

// Five machines, and what happens to them.
func TestFiveMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes: make night has it")
	}
	l, commands := newMachines(t, "anna", "berta", "carla", "dora", "emil")
	apply, check := commands[1], commands[2]
	step := func(name string, f func(t *testing.T)) {
		t.Helper()
		if !t.Run(name, func(t *testing.T) { l.t = t; f(t) }) {
			t.FailNow()
		}
		l.t = t
	}

	step("check on empty machines", func(t *testing.T) {
		before := l.trees()
		l.play(check).expect(t, l.each("changed", nil))
		l.unchanged(before)
	})
	step("the first play", func(t *testing.T) {
		p := l.play(apply + " -vvv --diff")
		p.expect(t, l.each("changed", nil))
		for _, name := range l.names {
			if got := l.read(name, rule); got != ruleText {
				t.Errorf("%s: %q", name, got)
			}
			if !strings.Contains(l.read(name, ".claude.json"), token) {
				t.Errorf("%s lacks its token, so this test shows nothing of secrets", name)
			}
		}
		for what, secret := range map[string]string{"in plain text": token, "as base64": base64.StdEncoding.EncodeToString([]byte(machinesSpec))[300:340]} {
			if at := strings.Index(p.out, secret); at >= 0 {
				t.Errorf("the output has the token %s: %s", what, p.out[max(0, at-200):at+20])
			}
		}
		if !strings.Contains(p.out, "+ file:~/.claude/rules/commits.md: new") {
			t.Errorf("no diff:\n%s", p.out)
		}
	})
	step("twice is once", func(t *testing.T) {
		before := l.trees()
		l.play(apply).expect(t, l.each("same", nil))
		l.unchanged(before)
		l.play(check).expect(t, l.each("same", nil))
		l.unchanged(before)
	})
	step("check of a changed rule", func(t *testing.T) {
		l.write("machines/bundle/agent-rules/commits.md", "# Commits\n\nSay why, in a body.\n")
		before := l.trees()
		p := l.play(check)
		p.expect(t, l.each("changed", nil))
		l.unchanged(before)
		for _, want := range []string{"~ file:~/.claude/rules/commits.md: the spec moved", "-Say why.\n+Say why, in a body.\n"} {
			if got := strings.Count(p.out, want); got != 5 {
				t.Errorf("%q is there %d times, want 5\n%s", want, got, p.out)
			}
		}
		l.write("machines/bundle/agent-rules/commits.md", ruleText)
	})
	step("drift and edits", func(t *testing.T) {
		l.edit("berta", rule, ruleText+"by hand\n")
		l.edit("carla", ".claude.json", strings.Replace(l.read("carla", ".claude.json"), "{", "{\n  \"theme\": \"dark\",", 1))
		l.edit("carla", ".claude/rules/mine.md", "# Mine\n")
		before := l.trees()
		p := l.play(apply)
		p.expect(t, l.each("same", nil))
		l.unchanged(before)
		if p.says("berta: waits for a person: file:~/.claude/rules/commits.md: edited since the last apply") != 1 || p.says("waits for a person") != 1 {
			t.Errorf("what waits:\n%s", p.out)
		}
		if got := l.task("berta", "aisync_facts", "status=true").Facts.Aisync; !got.Installed || got.Machine.Hostname != "berta" || got.Status.Summary.Drift != 1 {
			t.Errorf("facts: %+v", got)
		}
		restore := ` -e '{"aisync_decide": ["restore"]}'`
		l.play(check+restore).expect(t, l.each("same", map[string]string{"berta": "changed"}))
		l.unchanged(before)
		l.play(apply+restore).expect(t, l.each("same", map[string]string{"berta": "changed"}))
		if got := l.read("berta", rule); got != ruleText {
			t.Errorf("not mended: %q", got)
		}
		delete(before, "berta")
		for name := range before {
			if d := differs(before[name], l.tree(name)); d != "" {
				t.Errorf("%s has changed:\n%s", name, d)
			}
		}
	})
	step("an edit beside something new", func(t *testing.T) { parts(t, l, apply, check) })
	step("a program that is not found", func(t *testing.T) { notFound(t, l, apply, check) })
	step("an effect waits", func(t *testing.T) { effects(t, l, apply) })
	step("flagged text waits", func(t *testing.T) { flags(t, l) })
	step("failures stop nothing else", func(t *testing.T) { failures(t, l, apply) })
	step("a killed play", func(t *testing.T) { killed(t, l, apply) })
	step("a program from a URL", func(t *testing.T) { downloads(t, l, apply) })
	step("a spec in git", func(t *testing.T) { follows(t, l) })
	step("a spec as text", func(t *testing.T) { texts(t, l, apply) })
	step("converge", func(t *testing.T) { converges(t, l, apply) })
}

// parts: of one file, an edited part waits and a new one is written. A check says so
// before, and leaves the file.
func parts(t *testing.T, l *lab, apply, check string) {
	l.edit("carla", ".claude.json", strings.Replace(l.read("carla", ".claude.json"), "notes-mcp", "my-notes-mcp", 1))
	l.write("machines/more.cue", "package aisync\n\nhosts: [string]: mcp: more: command: \"more-mcp\"\n")
	before := l.trees()
	l.play(check).expect(t, l.each("changed", nil))
	l.unchanged(before)
	p := l.play(apply)
	p.expect(t, l.each("changed", nil))
	if got := l.read("carla", ".claude.json"); p.says("carla: waits for a person: file:~/.claude.json: 1 of 2 entries: edited since the last apply") != 1 ||
		!strings.Contains(got, `"my-notes-mcp"`) || !strings.Contains(got, `"more-mcp"`) || !strings.Contains(got, `"theme": "dark"`) {
		t.Errorf("%s\n%s", got, p.out)
	}
	l.must(os.Remove(filepath.Join(l.home, "machines/more.cue")))
	l.play(apply+` -e '{"aisync_decide": ["restore"]}'`).expect(t, l.each("changed", nil))
	l.play(apply).expect(t, l.each("same", nil))
	if got := l.read("carla", ".claude.json"); !strings.Contains(got, `"notes-mcp"`) || strings.Contains(got, "more-mcp") || !strings.Contains(got, `"theme": "dark"`) {
		t.Errorf("restored: %s", got)
	}
}

// effects: a project brings a server.
func effects(t *testing.T, l *lab, apply string) {
	spec := func(command string) {
		l.edit("emil", "code/app/aisync.cue", "package aisync\n\nproject: {\n\tname: \"app\"\n\truntimes: [\"claude\"]\n\tmcp: files: command: \""+command+"\"\n}\n")
	}
	spec("files-mcp")
	l.edit("emil", "code/app/.git/HEAD", "ref: refs/heads/main\n")
	l.edit("emil", "code/app/.git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
	for _, dir := range []string{"objects", "refs"} {
		l.must(os.MkdirAll(l.path("emil", "code/app/.git/"+dir), 0o755))
		l.must(os.Chown(l.path("emil", "code/app/.git/"+dir), me, me))
	}
	l.write("host_vars/emil.yml", "ansible_host: 10.77.0.5\naisync_projects: [~/code/app]\n")
	p := l.play(apply)
	p.expect(t, l.each("same", nil))
	if p.says("emil: waits for a person: file:.mcp.json: claude starts the MCP server files: files-mcp") != 1 || l.read("emil", "code/app/.mcp.json") != "" {
		t.Errorf("the effect:\n%s", p.out)
	}
	const task = "project=~/code/app scope=project"
	waits := l.task("emil", "aisync_apply", task)
	if len(waits.Waiting) != 1 || !strings.HasPrefix(waits.Waiting[0].Approve, "sha256:") || waits.Changed {
		t.Fatalf("waits: %+v", waits)
	}
	yes := task + " approve=" + waits.Waiting[0].Approve
	if p.says("(approve: "+waits.Waiting[0].Approve+")") != 1 {
		t.Errorf("the digest is not said:\n%s", p.out)
	}
	spec("other-mcp")
	if r := l.task("emil", "aisync_apply", yes); len(r.Waiting) != 1 || r.Changed || l.read("emil", "code/app/.mcp.json") != "" {
		t.Errorf("a yes to another server counts: %+v", r)
	}
	spec("files-mcp")
	if r := l.task("emil", "aisync_apply", yes, "--check"); len(r.Waiting) != 0 || !r.Changed || l.read("emil", "code/app/.mcp.json") != "" {
		t.Errorf("check with a yes: %+v", r)
	}
	if r := l.task("emil", "aisync_apply", yes); len(r.Waiting) != 0 || !r.Changed || !strings.Contains(l.read("emil", "code/app/.mcp.json"), "files-mcp") {
		t.Errorf("the yes: %+v", r)
	}
	l.play(apply).expect(t, l.each("same", nil))
}

// failures: one spec is broken, one machine is not there, the others get a new rule.
func failures(t *testing.T, l *lab, apply string) {
	l.write("broken/machines.cue", "package aisync\n\nhosts: dora: {\n\tmatch: hostname: \"dora\"\n\tcolour: \"red\"\n}\n")
	l.write("host_vars/dora.yml", "ansible_host: 10.77.0.4\nspec: broken\n")
	l.write("inventory", "[agents]\n"+strings.Join(l.names, "\n")+"\ngone\n")
	l.write("machines/bundle/agent-rules/tests.md", "# Tests\n\nRun them.\n")
	l.must(os.Chown(l.path("berta", ".claude/rules"), 0, 0))
	before := l.tree("dora")
	p := l.play(strings.Replace(apply, "site.yml", `site.yml -e '{"aisync_spec_src": "{{ spec | default(\"machines\") }}"}'`, 1))
	p.expect(t, l.each("changed", map[string]string{"berta": "failed", "dora": "failed", "gone": "unreachable"}))
	for _, want := range []string{"machines.cue:5:", "colour: field not allowed", `"code": 1`, "file:~/.claude/rules/tests.md: ", "permission denied"} {
		if !strings.Contains(p.out, want) {
			t.Errorf("%q is not said:\n%s", want, p.out)
		}
	}
	if d := differs(before, l.tree("dora")); d != "" {
		t.Errorf("the old spec of dora:\n%s", d)
	}
	l.must(os.Chown(l.path("berta", ".claude/rules"), me, me))
	l.write("host_vars/dora.yml", "ansible_host: 10.77.0.4\n")
	l.write("inventory", "[agents]\n"+strings.Join(l.names, "\n")+"\n")
	l.play(apply).expect(t, l.each("same", map[string]string{"berta": "changed", "dora": "changed"}))
}

// killed: the controller and aisync on each machine die while it writes many rules.
func killed(t *testing.T, l *lab, apply string) {
	const rules = 300
	name := func(i int) string { return fmt.Sprintf("r%03d.md", i) }
	have := func(machine, text string) (n int) {
		for i := range rules {
			if l.read(machine, ".claude/rules/"+name(i)) == text {
				n++
			}
		}
		return n
	}
	partly := 0
	var text string
	for round := range 6 {
		text = fmt.Sprintf("# Rule\n\nRound %d.\n", round)
		for i := range rules {
			l.write("machines/bundle/agent-rules/"+name(i), text)
		}
		play := l.typing(apply)
		l.must(play.Start())
		cut := map[string]bool{}
		for begin := time.Now(); len(cut) < len(l.names) && time.Since(begin) < 2*time.Minute; time.Sleep(time.Millisecond) {
			for _, m := range l.names {
				if b, _ := os.ReadFile(l.path(m, ".claude/rules/"+name(rules/8))); !cut[m] && string(b) == text {
					if cut[m] = true; l.machines[m].kill(t, "aisync", "python3") > 0 && len(cut) == 1 {
						l.controller.kill(t)
					}
				}
			}
			if play.ProcessState == nil && len(l.controller.inside(t)) == 0 {
				break
			}
		}
		l.controller.kill(t)
		_ = play.Wait() // it was killed
		for _, m := range l.names {
			l.machines[m].kill(t, "aisync", "python3")
			if n := have(m, text); n > 0 && n < rules {
				t.Logf("round %d: %s has %d of %d", round, m, n, rules)
				partly++
			}
		}
		if partly > 0 {
			break
		}
	}
	if partly == 0 {
		t.Fatal("no kill was in the middle of an apply")
	}
	p := l.play(apply)
	for m, e := range p.end {
		if e.failed+e.unreachable > 0 {
			t.Fatalf("%s:\n%s", m, p.out)
		}
		if n := have(m, text); n != rules {
			t.Errorf("%s has %d of %d rules", m, n, rules)
		}
		if got := l.read(m, rule); got != ruleText {
			t.Errorf("%s: %q", m, got)
		}
	}
	l.play(apply).expect(t, l.each("same", nil))
	for i := range rules {
		l.must(os.Remove(filepath.Join(l.home, "machines/bundle/agent-rules", name(i))))
	}
	l.play(apply).expect(t, l.each("changed", nil))
	for _, m := range l.names {
		if n := have(m, text); n != 0 {
			t.Errorf("%s still has %d rules that the folder has no more", m, n)
		}
	}
}
