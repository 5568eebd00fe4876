package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/internal/proof"
)

// crashScene is a command that is broken at each of its operations.
type crashScene struct {
	name    string
	serving bool
	running bool                                // its service runs when the command comes
	killed  bool                                // and broken in no other way
	before  func(t *testing.T, m *crashMachine) // makes the machine that the command finds
	args    []string
}

var (
	crashApply    = []string{"apply", "--yes", "--trust", "--force", "--diff", "none"}
	crashRestore  = []string{"apply", "--yes", "--diff", "none", "--restore", "--target", "model:tiny"}
	crashRollback = []string{"rollback", "--yes", "--diff", "none"}
	crashDestroy  = []string{"destroy", "--yes", "--diff", "none", "--scope", "all"}
)

var crashScenes = []crashScene{
	{name: "first", args: crashApply},
	{name: "moved", args: crashApply, before: moved},
	{name: "rollback", args: crashRollback, before: func(t *testing.T, m *crashMachine) {
		moved(t, m)
		m.wants(t, 0, crashApply...)
	}},
	{name: "destroy", killed: true, args: crashDestroy, before: func(t *testing.T, m *crashMachine) {
		m.wants(t, 0, crashApply...)
	}},
	{name: "linked", args: crashApply, before: linked},
	{name: "linked taken back", args: crashRollback, before: func(t *testing.T, m *crashMachine) {
		linked(t, m)
		m.wants(t, 0, crashApply...)
	}},
	{name: "linked whole", args: crashApply, before: linkedWhole},
	{name: "damaged", args: crashRestore, before: damaged},
	{name: "start", serving: true, args: crashApply, before: func(t *testing.T, m *crashMachine) {
		m.edit(t, "host/velox.cue", "coder: {", "coder: {enabled: false, ")
		m.wants(t, 0, crashApply...)
		m.edit(t, "host/velox.cue", "coder: {enabled: false, ", "coder: {")
	}},
	{name: "restart", serving: true, running: true, args: crashApply, before: restarted},
	{name: "stop", serving: true, running: true, args: crashApply, before: func(t *testing.T, m *crashMachine) {
		m.wants(t, 0, crashApply...)
		m.edit(t, "host/velox.cue", "coder: {", "coder: {enabled: false, ")
	}},
	{name: "restart taken back", serving: true, running: true, args: crashRollback, before: func(t *testing.T, m *crashMachine) {
		restarted(t, m)
		m.wants(t, 0, crashApply...)
	}},
}

// restarted is a machine whose service is to be another.
func restarted(t *testing.T, m *crashMachine) {
	t.Helper()
	m.wants(t, 0, crashApply...)
	m.edit(t, "host/velox.cue", "32768", "16384")
}

// damaged is a machine whose disk gives back other bytes of a model than it was
// given.
func damaged(t *testing.T, m *crashMachine) {
	t.Helper()
	m.wants(t, 0, crashApply...)
	f, err := os.OpenFile(m.at(storeRel+"/models/local/tiny/tiny.gguf"), os.O_RDWR, 0)
	must(t, err)
	end, err := f.Seek(-1, io.SeekEnd)
	must(t, err)
	_, err = f.WriteAt([]byte{'!'}, end)
	must(t, errors.Join(err, f.Close()))
}

// linked is a machine whose person keeps settings and notes elsewhere, with links
// in their places.
func linked(t *testing.T, m *crashMachine) {
	t.Helper()
	for at, to := range map[string]string{
		"root/home/me/.claude/settings.json":          "../dotfiles/settings.json",
		"root/home/me/.config/opencode/opencode.json": "../../dotfiles/opencode.json",
		"project/AGENTS.md":                           "docs/agents.md",
	} {
		target := filepath.Join(filepath.Dir(m.at(at)), to)
		must(t, os.MkdirAll(filepath.Dir(target), 0o755))
		must(t, os.Rename(m.at(at), target))
		must(t, os.Symlink(to, m.at(at)))
	}
}

// linkedWhole is a machine where a file that is all aisync's is a link to a file of
// the person, which was adopted; then its bundle moved.
func linkedWhole(t *testing.T, m *crashMachine) {
	t.Helper()
	text, err := os.ReadFile(m.at("rulesets/agent-rules/commits.md"))
	must(t, err)
	must(t, os.MkdirAll(m.at("root/home/me/dotfiles"), 0o755))
	must(t, os.MkdirAll(m.at("root/home/me/.claude/rules"), 0o755))
	must(t, os.WriteFile(m.at("root/home/me/dotfiles/commits.md"), text, 0o644))
	at := m.at("root/home/me/.claude/rules/commits.md")
	must(t, os.Remove(at))
	must(t, os.Symlink("../../dotfiles/commits.md", at))
	m.wants(t, 0, crashApply...)
	m.edit(t, "rulesets/agent-rules/commits.md", "One change a commit", "One thought a commit")
}

// moved is a machine that was applied, and whose specs and bundles then asked
// for something else: to change, to add, and to take away, of every kind.
func moved(t *testing.T, m *crashMachine) {
	t.Helper()
	m.wants(t, 0, crashApply...)
	m.edit(t, "host/velox.cue",
		`"1.18.33"`, `"1.18.34"`, `LOG_LEVEL: "warn"`, `LOG_LEVEL: "error"`, `"Bash(make test)"`, `"Bash(make check)"`,
		`"rules", "skills", "hooks"`, `"rules", "hooks"`, `models: ["tiny"]`, `models: []`, "tiny: {}", "")
	if b, err := os.ReadFile(m.at("host/velox.cue")); err == nil && strings.Contains(string(b), "tmux") {
		m.edit(t, "host/velox.cue", `packages: ["tmux", "git"]`, `packages: ["git"]`)
	}
	m.edit(t, "project/aisync.cue", `teams:   ["rulesets//deepsat"]`, "", `, "guardrails"`, "", "tools/notes_mcp.py", "tools/other_mcp.py")
	m.edit(t, "rulesets/agent-rules/commits.md", "One change a commit", "One thought a commit")
	must(t, os.Remove(m.at("rulesets/agent-rules/verify.md")))
	must(t, os.WriteFile(m.at("rulesets/agent-rules/review.md"), []byte("# Review\n\nRead it twice.\n"), 0o644))
	must(t, os.RemoveAll(m.at("rulesets/languages/elisp/githooks")))
}

// lasting is what neither a rollback nor a failed apply takes back: what a
// manager installed, what was fetched, what was pinned, which servers run.
func lasting(rel string) bool {
	return underAny(rel, npmRel, storeRel, "root/var/lib/pacman", "host/aisync.lock", "project/aisync.lock", "root/home/me/.ollama") ||
		slices.Contains([]string{"root/home/me/.local", "root/home/me/.local/share", "root/home/me/.local/share/aisync", "root/home/me/.local/state"}, rel)
}

// crashed is what may be there only until the next apply.
var crashed = regexp.MustCompile(`\.aisync-\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{6}(-old)?$`)

// stage is one machine on which a scene is played again and again.
type stage struct {
	*crashMachine
	scene    crashScene
	start    crash.Tree // everything, as the command finds it
	was      crash.Tree // the same without bookkeeping
	will     crash.Tree // after the command
	served   string     // by the service, as the command finds it
	serve    string     // after the command
	notes    string     // files beside the machine
	rollback bool
	op       string // that is broken
	had      int    // applies in the history, by then
}

func newStage(t *testing.T, site *crashSite, scene crashScene) *stage {
	t.Helper()
	m := newCrashMachine(t, site, scene.serving)
	t.Cleanup(func() { endServices(m.dir) })
	if scene.before != nil {
		scene.before(t, m)
	}
	s := &stage{crashMachine: m, scene: scene, start: m.whole(t), was: m.look(t), served: m.serves(t), notes: memoryDir(t), rollback: scene.args[0] == "rollback"}
	s.had = s.applies(t)
	return s
}

// reset brings the machine to where the scene begins.
func (s *stage) reset(t *testing.T) {
	t.Helper()
	if s.serving {
		endServices(s.dir)
		for until := deadline(t); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			l, err := net.Listen("tcp", "127.0.0.1:"+s.port)
			if err == nil {
				must(t, l.Close())
				break
			}
		}
	}
	must(t, s.start.Put(s.dir))
	if s.scene.running {
		s.wants(t, 0, "services", "start", "coder")
	}
}

// rehearse runs the command whole.
func (s *stage) rehearse(t *testing.T) { s.unbroken(t, crash.Fault{}) }

// operations are what the command does.
func (s *stage) operations(t *testing.T) []string {
	t.Helper()
	log := filepath.Join(s.notes, "log")
	s.unbroken(t, crash.Fault{Log: log})
	ops, err := crash.Operations(log)
	must(t, err)
	must(t, os.Remove(log))
	return ops
}

func (s *stage) unbroken(t *testing.T, f crash.Fault) {
	t.Helper()
	s.reset(t)
	if code, said := s.run(f, s.scene.args...); code != 0 {
		t.Fatalf("without a fault: exit code %d\n%s", code, said)
	}
	s.will, s.serve = s.look(t), s.serves(t)
}

// try breaks one operation and says what then is wrong. hit is false where the
// command never came to it.
func (s *stage) try(t *testing.T, op string, how crash.How) (wrong string, hit bool) {
	s.reset(t)
	s.op = op
	mark := filepath.Join(s.notes, "hit")
	_ = os.Remove(mark)
	code, said := s.here(crash.Fault{At: op, How: how, Hit: mark}, s.scene.args...)
	if _, err := os.Stat(mark); err != nil {
		return "", false
	}
	return s.judge(t, how, code, said), true
}

// judge says what is wrong after the command broke, now and after all that
// comes next.
func (s *stage) judge(t *testing.T, how crash.How, code int, said string) (wrong string) {
	var out strings.Builder
	complain := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	defer func() {
		if wrong = out.String(); wrong != "" {
			wrong += "the broken command had said:\n" + said
		}
	}()
	now := s.look(t)
	switch {
	case how.Kills() && code != -1, how == crash.Panic && code != 1 && code != 3 && code != 0, code == 125:
		complain("exit code %d", code)
	case code == 0 && s.unlike(now, s.will) != "":
		complain("it says that it is done, and is not:\n%s", s.unlike(now, s.will))
	case code == 0 && s.serves(t) != s.serve:
		complain("it says that it is done, and its service serves %q, not %q", s.serves(t), s.serve)
	}
	managed := now.Without(func(rel string) bool { return lasting(rel) || crashed.MatchString(rel) })
	if d := managed.Neither(s.was.Without(lasting), s.will.Without(lasting)); d != "" {
		complain("neither old nor new:\n%s", d)
	}
	before := s.stat(t)
	if code, said := s.here(crash.Fault{}, "plan", "--diff", "none"); code != 0 {
		complain("plan: exit code %d\n%s", code, said)
	}
	if d := s.stat(t).Written(before); d != "" {
		complain("plan wrote:\n%s", d)
	}
	if _, err := os.Stat(s.at(stateRel + "/journal.jsonl")); s.rollback && err != nil && s.unlike(now, s.will) == "" {
		return out.String() // all of it is done and noted: one more would take back the apply before
	}
	if code, said := s.here(crash.Fault{}, s.scene.args...); code != 0 {
		complain("the next %s: exit code %d\n%s", s.scene.args[0], code, said)
		return ""
	} else if d := s.unlike(s.look(t), s.will); d != "" {
		complain("the next %s ends elsewhere:\n%s%s", s.scene.args[0], d, said)
	}
	if is := s.serves(t); is != s.serve {
		complain("after the next %s its service serves %q, not %q", s.scene.args[0], is, s.serve)
	}
	if left := s.left(t); left != "" {
		complain("the next %s leaves behind:\n%s", s.scene.args[0], left)
	}
	if s.rollback {
		return ""
	}
	before = s.stat(t)
	code2, said2 := s.here(crash.Fault{}, s.scene.args...)
	if d := s.stat(t).Written(before); code2 != 0 || d != "" {
		complain("twice is not once: exit code %d\n%s%s", code2, d, said2)
	}
	said2 = s.takeBack(t)
	if d := s.unlike(s.look(t).Without(lasting), s.was.Without(lasting)); d != "" {
		complain("rollback ends elsewhere:\n%s%s", d, said2)
	}
	if s.scene.running { // what runs is not taken back, and the warning says what does the rest
		if code, said := s.here(crash.Fault{}, "services", "restart", "coder"); code != 0 || s.serves(t) != s.served {
			complain("after the rollback its service serves %q, not %q: exit code %d\n%s%s", s.serves(t), s.served, code, said2, said)
		}
	}
	return ""
}

// unlike is Diff. A folder of ours that could not be removed stays, empty: no
// reason to fail.
func (s *stage) unlike(is, want crash.Tree) string {
	if strings.HasPrefix(s.op, "rmdir ") {
		is, want = is.WithoutEmpty(), want.WithoutEmpty()
	}
	return is.Diff(want)
}

// left names what should have been there for a moment only.
func (s *stage) left(t *testing.T) string {
	var out string
	for rel := range s.stat(t) {
		if crashed.MatchString(rel) {
			out += "  " + rel + "\n"
		}
	}
	return out
}

// takeBack takes back what was begun, and what finished it.
func (s *stage) takeBack(t *testing.T) string {
	said := ""
	for range s.applies(t) - s.had {
		code, more := s.here(crash.Fault{}, crashRollback...)
		said += more
		if code != 0 {
			break
		}
	}
	return said
}

// applies counts what the history holds.
func (s *stage) applies(t *testing.T) int {
	entries, err := os.ReadDir(s.at(stateRel + "/applies"))
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return len(entries)
}

// Each operation of an apply, or of a rollback, fails in each way, or is where
// aisync is killed: what is managed is as it was or as it is to be, and the
// next command gets where the first would have.
//
// AISYNC_TEST_CRASH=full breaks every operation, and a pattern those that match
// it; without it, it is a sample of them.
func TestFaultAtAnyOperationIsHarmless(t *testing.T) {
	done := proof.Start(t, 1)
	site := newCrashSite(t)
	t.Setenv("PATH", site.bin)
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // what commands leave open is closed when it is collected
	operations, faults, kills := 0, 0, 0
	for i, scene := range crashScenes {
		t.Run(scene.name, func(t *testing.T) {
			n, f, k := scene.breakAll(t, site, i)
			operations, faults, kills = operations+n, faults+f, kills+k
		})
	}
	done("operations", operations, "faults", faults, "kills", kills)
}

type crashTry struct {
	op  string
	how crash.How
}

func (scene crashScene) breakAll(t *testing.T, site *crashSite, seed int) (operations, faults, kills int) {
	first := newStage(t, site, scene)
	ops := first.operations(t)
	tries, stages := scene.chosen(ops, seed), []*stage{first}
	for range min(4*runtime.NumCPU()-1, len(tries)/10) { // they wait as often as they compute
		s := newStage(t, site, scene)
		s.rehearse(t)
		stages = append(stages, s)
	}
	var (
		mu     sync.Mutex
		wait   sync.WaitGroup
		missed []string
	)
	queue := make(chan crashTry, len(tries))
	for _, x := range tries {
		queue <- x
	}
	close(queue)
	for _, s := range stages {
		wait.Go(func() {
			for x := range queue {
				wrong, hit := "", false
				for n := 0; n < 3 && !hit; n++ {
					wrong, hit = s.try(t, x.op, x.how)
				}
				mu.Lock()
				switch {
				case !hit:
					missed = append(missed, string(x.how)+" at "+x.op)
				case wrong != "":
					t.Errorf("%s at %s\n%s", x.how, x.op, wrong)
				case x.how.Kills():
					kills++
				default:
					faults++
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if len(missed) > 1+len(tries)/50 { // two changes that both need a folder: one of them makes it
		t.Errorf("%d of %d faults never struck:\n%s", len(missed), len(tries), strings.Join(missed, "\n"))
	}
	return len(ops), faults, kills
}

// chosen is what AISYNC_TEST_CRASH asks for, of all that can happen to ops.
func (scene crashScene) chosen(ops []string, seed int) []crashTry {
	var all []crashTry
	for _, op := range ops {
		for _, how := range crash.Ways(op) {
			if !scene.killed || how.Kills() {
				all = append(all, crashTry{op, how})
			}
		}
	}
	switch which := os.Getenv("AISYNC_TEST_CRASH"); which {
	case "":
		return sample(all, 6, seed)
	case "full":
		return all
	default:
		only := regexp.MustCompile(which)
		return slices.DeleteFunc(all, func(x crashTry) bool { return !only.MatchString(x.op) })
	}
}

// sample takes n of tries, evenly, beginning elsewhere for each scene.
func sample(tries []crashTry, n, from int) []crashTry {
	var out []crashTry
	for i := range n {
		out = append(out, tries[(i*len(tries)/n+from*7)%len(tries)])
	}
	return out
}
