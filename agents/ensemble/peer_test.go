package ensemble

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// peer is the original's program: what its package.json calls ensemble, run by
// node.
func peer(t *testing.T) func(u *user, words ...string) (stdout string, code int) {
	t.Helper()
	checkout := original(t)
	text, err := os.ReadFile(filepath.Join(checkout, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var pkg struct{ Bin json.RawMessage }
	if err := json.Unmarshal(text, &pkg); err != nil {
		t.Fatalf("%s/package.json: %v", checkout, err)
	}
	var script string
	programs := map[string]string{}
	if json.Unmarshal(pkg.Bin, &script) != nil {
		if err := json.Unmarshal(pkg.Bin, &programs); err != nil {
			t.Fatalf("%s/package.json: bin: %v", checkout, err)
		}
		script = programs["ensemble"]
	}
	if script == "" {
		t.Fatalf("%s/package.json names no program ensemble", checkout)
	}
	return func(u *user, words ...string) (string, int) {
		cmd := exec.Command("node", append([]string{filepath.Join(checkout, script)}, words...)...)
		cmd.Dir = u.dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + u.t.TempDir(), "USER=" + u.env["USER"]}
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			u.t.Error(err)
			return "", -1
		}
		return out.String(), cmd.ProcessState.ExitCode()
	}
}

// Two ledgers, the same commands: the same files and the same answers, times and
// names of messages apart. What differs on purpose (docs/ledger.md) is not among
// them.
func TestPeerWritesIdenticalFiles(t *testing.T) {
	theirs := peer(t)
	a, b := newUser(t), newUser(t)
	idsA, idsB := []string{}, []string{}
	fill := func(words string, ids []string) []string {
		var out []string
		for _, w := range strings.Fields(words) {
			if !strings.HasPrefix(w, "msg_") {
				w = strings.ReplaceAll(w, "_", " ")
			}
			for i, id := range ids {
				w = strings.ReplaceAll(w, fmt.Sprintf("@%d", i), id)
			}
			out = append(out, w)
		}
		return out
	}
	// The words of a summary are for people, and overview also counts bad lines.
	people := regexp.MustCompile(`"summary": ".*",\n|,\n  "malformed": 0`)
	plain := func(u *user, s string) string {
		s = people.ReplaceAllString(s, "")
		var members any
		if json.Unmarshal([]byte(s), &members) == nil { // whose order is free
			if sorted, err := json.MarshalIndent(members, "", "  "); err == nil {
				s = string(sorted)
			}
		}
		s = strings.ReplaceAll(s, u.dir, "/project")
		s = id.ReplaceAllString(s, "ID")
		return times.ReplaceAllString(s, "TIME")
	}
	// previous is of one level in our audit trail: a difference of docs/ledger.md.
	nested := regexp.MustCompile(`,"previous":\{"agent":"pi","since":"TIME"\}\}`)
	for _, words := range []string{
		"init --agent pi", "note first_fact", "send codex please_review --from pi --type handoff", "send pi done --from codex --type result --reply-to @0",
		"send codex a_question --type question", "ack @2 --from codex --body seen", "done @2 all fine", "claim src", "claim src --agent codex", "claim src --agent codex --force",
		"claim lib/x.go --json", "release lib/x.go", "release src", "release src --force", "claims", "messages --open --json", "send odd/name x", "send codex x --type nonsense",
		"send codex <b>&_more --from pi", "ack @3 --from codex", "done msg_unknown654321", "send pi answer --from codex --type result --reply-to msg_unknown999999",
		"send pi later --from codex --type handoff --reply-to @3", "messages --json", "messages --json --limit 2", "overview --json --limit 4", "overview --json --limit 2", "timeline --json --limit 5", "audit --json --limit 3", "audit --limit 2", "stale --json --days 1",
		"~messages", "~messages --open", "~overview", "~timeline", "~doctor", "~doctor --json", "~stale", "status",
		"board", "board --json", "~inbox --agent codex --since-last-read --no-clear", "~inbox --agent codex --since-last-read --json", "inbox --agent pi", "inbox --agent pi --json", "retire codex --dry-run", "retire codex pi --dry-run", "retire codex --dry-run --json",
		"retire codex --by pi --reason gone", "retire", "retire --stale 3", "retire --stale 0", "retire ghost", "~nonsense",
	} {
		words, differs := strings.CutPrefix(words, "~") // by a row of docs/ledger.md
		outA, errsA, codeA := a.run(fill(words, idsA)...)
		outB, codeB := theirs(b, fill(words, idsB)...)
		if strings.HasPrefix(words, "send ") && codeA == 0 {
			idsA, idsB = append(idsA, id.FindString(outA)), append(idsB, id.FindString(outB))
		}
		if codeA != codeB {
			t.Errorf("%s: exit %d, the original %d (%s)", words, codeA, codeB, errsA)
		}
		if got, want := plain(a, outA), plain(b, outB); !differs && got != want {
			t.Errorf("%s prints other than the original (-) does:\n%s", words, cmp.Diff(want, got))
		}
	}
	for _, f := range []string{"config.yaml", "blackboard.md", "worktrees.json", "audit.jsonl", "agents/pi/inbox.md", "agents/pi/inbox.read.md"} {
		got, errA := os.ReadFile(filepath.Join(a.dir, ".pi-ensemble", f))
		want, errB := os.ReadFile(filepath.Join(b.dir, ".pi-ensemble", f))
		if errA != nil || errB != nil || plain(a, string(got)) != nested.ReplaceAllString(plain(b, string(want)), "}") {
			t.Errorf("%s (%v, %v)\n%s\nthe original's\n%s", f, errA, errB, plain(a, string(got)), plain(b, string(want)))
		}
	}
}

// One ledger, both programs in turn.
func TestPeerFilesInterchange(t *testing.T) {
	theirs := peer(t)
	u := newUser(t)
	it := func(words ...string) string {
		t.Helper()
		out, code := theirs(u, words...)
		if code != 0 {
			t.Fatalf("the original, %v: exit %d", words, code)
		}
		return out
	}
	u.must("init")
	ours := id.FindString(u.must("send", "codex", "from us\n## 2026-01-01T00:00:00.000Z — x → y [note] {#msg_forgedforged1}", "--type", "question"))
	if out := it("inbox", "--agent", "codex", "--since-last-read", "--json"); !strings.Contains(out, ours) {
		t.Error(out)
	}
	if out := it("status"); strings.Contains(out, `"pending": 2`) {
		t.Error("the original counts a forged message:", out)
	}
	answer := id.FindString(it("send", "pi", "from it", "--from", "codex", "--type", "result", "--reply-to", ours))
	if out := u.must("inbox", "--since-last-read"); !strings.Contains(out, answer) {
		t.Error(out)
	}
	if out := u.must("messages", "--open"); strings.Contains(out, ours) {
		t.Error("the original's answer closes nothing:", out)
	}
	it("claim", "src", "--agent", "codex")
	if _, errs, code := u.run("claim", "src"); code != 1 || !strings.Contains(errs, "already claimed by codex") {
		t.Errorf("%d %s", code, errs)
	}
	u.must("claim", "lib")
	if _, code := theirs(u, "claim", "lib", "--agent", "codex"); code != 1 {
		t.Error("the original takes what we claim")
	}
	it("note", "from it")
	u.must("note", "from us")
	u.must("verify")
	var h struct{ OK bool }
	if err := json.Unmarshal([]byte(it("doctor", "--json")), &h); err != nil || !h.OK {
		t.Error(h, err)
	}
}

// Ten of each at once. What the original overwrites is found and comes back.
func TestPeerConcurrently(t *testing.T) {
	theirs := peer(t)
	u := newUser(t)
	u.must("init")
	u.must("send", "codex", "warm up")
	told := map[string]bool{} // what an agent was told is done
	var all sync.WaitGroup
	var mu sync.Mutex
	done := func(what string, code int) {
		mu.Lock()
		defer mu.Unlock()
		told[what] = code == 0 // a claims file that two of the original have torn is refused, for example
	}
	for i := range 10 {
		all.Go(func() {
			name := fmt.Sprint("ours-", i)
			_, _, code := u.run("send", "codex", name)
			done("message "+name, code)
			_, _, code = u.run("claim", name)
			done("claim "+name, code)
		})
		all.Go(func() {
			name := fmt.Sprint("theirs-", i)
			_, code := theirs(u, "send", "codex", name)
			done("message "+name, code)
			_, code = theirs(u, "claim", name, "--agent", "codex")
			done("claim "+name, code)
		})
	}
	all.Wait()
	u.must("repair")
	u.must("verify")
	inbox, claims := u.must("inbox", "--agent", "codex", "--peek"), u.must("claims")
	for what, ok := range told {
		kind, name, _ := strings.Cut(what, " ")
		there := strings.Contains(inbox, "\n"+name+"\n")
		if kind == "claim" {
			there = strings.Contains(claims, "/"+name+`"`)
		}
		if ok && !there {
			t.Errorf("%s is lost", what)
		}
	}
}
