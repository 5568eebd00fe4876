package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/internal/proof"
	"aisync.dev/aisync/schema/spec"
)

// The test program is the inside of boxes, and an executor that dies where it
// is told to.
func TestMain(m *testing.M) {
	if sandbox.IsInside(os.Args) {
		syscall.Exit(sandbox.Main(os.Args)) // os.Exit waits for a second where the race detector is
	}
	if len(os.Args) == 4 && os.Args[1] == "die-at" {
		r := runnerAt(os.Args[3])
		r.Reached = func(stage string) {
			if stage == os.Args[2] {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		_, err := r.Once(context.Background(), "core")
		fmt.Println(err)
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// written reads the tasks of these tests: the structure itself, as JSON.
func written(name string, text []byte) (spec.Task, error) {
	var t spec.Task
	err := json.Unmarshal(text, &t)
	return t, err
}

// runnerAt is a runner in a world: repo/ and trees/ below a folder.
func runnerAt(world string) Runner {
	return Runner{Queue: Queue{Dir: filepath.Join(world, "repo"), Self: Here(), Load: written, Approvals: approveAll}, Network: Network{Allowed: true}, Trees: filepath.Join(world, "trees"), Home: filepath.Join(world, "home")}
}

type world struct {
	*testing.T
	dir, repo string
}

// newWorld makes a repository with one commit and an empty queue, core.
func newWorld(t *testing.T) *world {
	t.Helper()
	if _, err := sandbox.Find(t.Context()); err != nil {
		t.Skip(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	w := &world{t, dir, filepath.Join(dir, "repo")}
	w.write("home/.gitconfig", "[user]\n\tname = Pat\n\temail = pat@example.org\n[init]\n\tdefaultBranch = main\n")
	w.write("repo/README.md", "read me\n")
	w.write("repo/src/a.txt", "one\n")
	w.write("repo/secret/b.txt", "mine\n")
	w.write("repo/.gitignore", "*.log\nout/\n/tasks/runs/\n")
	w.git("init", "-q")
	w.git("add", ".")
	w.git("commit", "-qm", "first")
	w.write("repo/tasks/queue/core/.keep", "")
	return w
}

func (w *world) write(name, text string) {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *world) read(name string) string {
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (w *world) git(args ...string) string {
	w.Helper()
	out, err := exec.Command("git", append([]string{"-C", w.repo}, args...)...).CombinedOutput()
	if err != nil {
		w.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// queued puts a task into the queue, with limits that are wide unless it says
// otherwise.
func (w *world) queued(t spec.Task) {
	w.Helper()
	if t.ID == "" {
		t.ID = "t1"
	}
	if t.Write == nil {
		t.Write = []string{"src/**"}
	}
	if t.MaxFiles == 0 {
		t.MaxFiles = 10
	}
	if t.MaxDiff == 0 {
		t.MaxDiff = 50_000
	}
	if t.Timeout == 0 {
		t.Timeout = 20 * time.Second
	}
	t.Goal = "do it\nand well"
	text, err := json.Marshal(t)
	if err != nil {
		w.Fatal(err)
	}
	w.write("repo/tasks/queue/core/"+t.ID+".yaml", string(text))
}

func runs(command string) []spec.TaskStep {
	return []spec.TaskStep{{ID: "s1", Action: "run", Command: command}}
}

// once carries out one task.
func (w *world) once(change ...func(*Runner)) *Report {
	w.Helper()
	r := runnerAt(w.dir)
	for _, c := range change {
		c(&r)
	}
	report, err := r.Once(w.Context(), "core")
	if err != nil {
		w.Fatal(err)
	}
	return report
}

// left are the work trees that are still there.
func (w *world) left() []string {
	all, err := filepath.Glob(filepath.Join(w.dir, "trees", "*", "*"))
	if err != nil {
		w.Fatal(err)
	}
	return all
}

func (w *world) in(state State, id string) bool {
	_, err := os.Stat(filepath.Join(Queue{Dir: w.repo}.Folder("core", state), id+".yaml"))
	return err == nil
}

func TestTaskRunsOnBranch(t *testing.T) {
	w := newWorld(t)
	w.write("repo/src/a.txt", "not committed\n")
	w.write("repo/untracked.txt", "mine\n")
	w.write("repo/src/staged.txt", "staged\n")
	w.git("add", "src/staged.txt")
	w.git("remote", "add", "origin", "https://pat:token@example.org/x")
	before, index := w.git("status", "--porcelain"), w.git("ls-files", "-s")
	w.queued(spec.Task{Steps: []spec.TaskStep{
		{ID: "s1", Action: "create", File: "src/new.txt", Text: "new\n"},
		{ID: "s2", Action: "append", File: "src/a.txt", Text: "two\n"},
		{ID: "s3", Action: "run", Command: "test ! -e untracked.txt && test ! -e src/staged.txt && test ! -e " + w.repo + "/untracked.txt && git status --short && git log -1 --oneline && ! grep -r token $(git rev-parse --git-common-dir)/config && tr a-z A-Z <src/new.txt >src/upper.txt && rm -f README.nothing"},
		{ID: "s4", Action: "create", File: "src/kept.log", Text: "git ignores it, and a step names it\n"},
	}, Verify: []string{"grep -q NEW src/upper.txt", "echo out; echo err >&2; git diff --quiet HEAD -- secret"}})
	r := w.once()
	if !r.OK() || r.CommitHash == "" || r.Sandbox == "" || r.Kept != "" {
		t.Fatalf("%+v", r)
	}
	if got := w.git("status", "--porcelain"); got != before || w.git("ls-files", "-s") != index || w.read("repo/src/a.txt") != "not committed\n" {
		t.Errorf("the person's tree: %q, was %q", got, before)
	}
	if got, want := w.git("diff", "--name-status", "main", r.Branch), "M\tsrc/a.txt\nA\tsrc/kept.log\nA\tsrc/new.txt\nA\tsrc/upper.txt"; got != want {
		t.Errorf("committed %q", got)
	}
	if got := w.git("log", "-1", "--format=%an <%ae> %s|%b", r.Branch); got != "Pat <pat@example.org> chiffon: t1 - do it|and well" {
		t.Errorf("message %q", got)
	}
	if got := w.git("show", r.Branch+":src/a.txt"); got != "one\ntwo" {
		t.Errorf("src/a.txt is %q", got)
	}
	if !strings.HasPrefix(r.Branch, "chiffon/t1/20") || w.git("rev-parse", r.Branch) != r.CommitHash || w.git("rev-parse", r.Branch+"^") != w.git("rev-parse", "main") {
		t.Errorf("branch %q", r.Branch)
	}
	if !w.in(Done, "t1") || len(w.left()) != 0 || strings.Contains(w.git("worktree", "list"), "trees") {
		t.Errorf("left %v; %s", w.left(), w.git("worktree", "list"))
	}
	var older struct {
		TaskID        string `json:"task_id"`
		Branch        string `json:"branch"`
		CommitHash    string `json:"commit_hash"`
		VerifyResults []struct {
			Cmd            string
			ExitCode       *int `json:"exit_code"`
			Stdout, Stderr string
		} `json:"verify_results"`
	}
	if err := json.Unmarshal([]byte(w.read("repo/tasks/runs/t1/report.json")), &older); err != nil || older.Branch != r.Branch || older.CommitHash != r.CommitHash || len(older.VerifyResults) != 2 ||
		older.VerifyResults[1].Stdout != "out\n" || older.VerifyResults[1].Stderr != "err\n" || *older.VerifyResults[1].ExitCode != 0 {
		t.Errorf("%+v, %v", older, err)
	}
	if w.read("repo/tasks/runs/t1/branch-name.txt") != r.Branch+"\n" || !strings.Contains(w.read("repo/tasks/runs/t1/report.md"), "# t1: done") || !strings.Contains(w.read("repo/tasks/runs/t1/run.log"), "committed "+r.CommitHash) {
		t.Error("the files of the run are not all there")
	}
}

// What a step must not do, and what is said when it does it.
func TestEscapesAreCaught(t *testing.T) {
	proved := proof.Start(t, 14)
	w := newWorld(t)
	w.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--name", "sub", w.repo, "sub") // of itself
	w.git("commit", "-qm", "a submodule")
	outside := filepath.Join(w.dir, "outside")
	cases := []struct{ name, command, want string }{
		{"a path out", "echo x >../x || true; echo x >src/ok", ""}, // the sandbox does not let it
		{"beside", "echo x >secret/new", `"secret/new"`},
		{"a change beside", "echo x >>secret/b.txt", `"secret/b.txt"`},
		{"the same size and times", "cp -p secret/b.txt /tmp/t; printf 'nime\\n' >secret/b.txt; touch -r /tmp/t secret/b.txt", `"secret/b.txt"`},
		{"a deletion", "rm secret/b.txt", `"secret/b.txt": deleted`},
		{"a rename in", "mv secret/b.txt src/b.txt", `"secret/b.txt": deleted`},
		{"a rename out", "mv src/a.txt a.txt", `"a.txt": added`},
		{"a folder with another's name", "mkdir src-evil; echo x >src-evil/p", `"src-evil/p"`},
		{"a link out", "ln -s /etc/passwd src/l", "out of the work tree"},
		{"a link out, with dots", "ln -s ../../x src/l", "out of the work tree"},
		{"a link to a link out", "ln -s l2 src/l1; ln -s .. src/l2; ln -s l2/.. src/l3", "out of the work tree"},
		{"through a link within", "ln -s ../secret src/d; echo x >src/d/new", `"secret/new"`},
		{"a link to git's folder", "ln -s ../.git src/g", "out of the work tree"},
		{"git's folder", "rm -f .git; echo x >.git", "-"},
		{"a folder of git's", "mkdir -p src/.git/hooks; echo x >src/.git/hooks/pre-commit", "git's own"},
		{"a repository within", "git init -q src/inner && echo x >src/inner/f", "git's own"},
		{"in another case", "mkdir src/.GIT; echo x >src/.GIT/config", "git's own"},
		{"in a submodule", "echo x >sub/f", "belongs to a submodule"},
		{"a submodule away", "rmdir sub", "belongs to a submodule"},
		{"ignored", "echo x >x.log", `"x.log"`},
		{"in an ignored folder", "mkdir out; echo x >out/f", `"out/f"`},
		{"a new ignore file hides nothing", "echo '*' >src/.gitignore; mkdir n; echo x >n/f", `"n/f"`},
		{"an attribute hides nothing", "echo '* -diff' >.gitattributes", `".gitattributes"`},
		{"a mode", "chmod +x secret/b.txt", `"secret/b.txt": modified`},
		{"setuid", "echo x >src/x; chmod u+s src/x", "special permissions"},
		{"a pipe", "mkfifo src/p", "neither a file nor a link"},
		{"a hard link", "ln secret/b.txt src/hard", "hard link"},
		{"too many files", "for i in 1 2 3 4 5 6 7 8 9 10 11; do echo $i >src/f$i; done", "11 files changed"},
		{"too much", "head -c 60000 /dev/urandom >src/big", "bytes, but max_diff_bytes"},
		{"too large to look at", "truncate -s 100M src/big", "larger"},
		{"fails and breaks a limit", "echo x >secret/new; exit 3", `"secret/new"`},
		{"a file in place of a folder", "rm -r secret; echo x >secret", `"secret"`},
		{"a folder in place of a file", "rm README.md; mkdir README.md; echo x >README.md/x", `"README.md"`},
		{"a child that stays", "(sleep 0.3; echo x >secret/late) & echo x >src/ok", ""},
		{"outside", "echo x >" + outside + "; echo x >src/ok", ""},
		{"the person's tree", "echo x >" + w.repo + "/README.md; echo x >src/ok", ""},
		{"git's folder itself", "echo x >" + w.repo + "/.git/hooks/x || git update-ref refs/heads/main HEAD~1 || git config a.b c || git tag x || echo x >src/ok", ""},
		{"denied", "true; sh -c 'rm  -r -f src'", "denied"},
		{"a name with a line in it", `echo x >"$(printf 'a\nb')"`, `"a\nb"`},
	}
	hooks := w.git("config", "--list", "--local")
	for n, c := range cases {
		var denied []string // for one: elsewhere a loop with $i, say, would be in doubt
		if c.name == "denied" {
			denied = []string{"rm -rf"}
		}
		w.queued(spec.Task{ID: fmt.Sprintf("t%02d", n), Steps: runs(c.command), Denied: denied, Retries: 3})
	}
	reports, err := runnerAt(w.dir).Run(t.Context(), "core", 0, time.Time{})
	if err != nil || len(reports) != len(cases) {
		t.Fatalf("%d of %d: %v", len(reports), len(cases), err)
	}
	for n, c := range cases {
		r, id := reports[n], fmt.Sprintf("t%02d", n)
		if r.TaskID != id {
			t.Fatalf("report %d is of %s", n, r.TaskID)
		}
		switch {
		case c.want == "" && !r.OK():
			t.Errorf("%s: %s", c.name, r.Reason)
		case c.want == "":
		case c.want == "-" && r.OK() && r.CommitHash != "":
			t.Errorf("%s: was done", c.name)
		case c.want == "-":
		case r.OK(), r.Kind != "violation", !strings.Contains(r.Reason, c.want), !w.in(Failed, id), len(r.Steps) > 0 && len(r.Steps[0].Failed) != 1:
			t.Errorf("%s: %s: %q, want %q; %d tries", c.name, r.Kind, r.Reason, c.want, len(r.Steps))
		}
		if !r.OK() && r.CommitHash != "" {
			t.Errorf("%s: was committed", c.name)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("something was written outside")
	}
	if got := w.git("config", "--list", "--local"); got != hooks {
		t.Errorf("the repository's settings are %q", got)
	}
	if got := w.git("status", "--porcelain", "--untracked-files=no"); got != "" || w.git("tag") != "" {
		t.Errorf("the person's tree has changed: %q", got)
	}
	proved("escapes", len(cases))
}

// Nothing that a repository or a step brings along runs outside of the sandbox.
func TestRepositoryProgramsDoNotRun(t *testing.T) {
	w := newWorld(t)
	ran := filepath.Join(w.dir, "ran")
	program := filepath.Join(w.dir, "program")
	w.write("program", "#!/bin/sh\necho \"$0 $*\" >>"+ran+"\ncat\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("repo/.gitattributes", "*.txt filter=evil diff=evil merge=evil\n")
	w.git("add", ".gitattributes")
	w.git("commit", "-qm", "attributes")
	for _, hook := range []string{"pre-commit", "post-commit", "post-checkout", "reference-transaction", "pre-push", "commit-msg", "prepare-commit-msg", "post-index-change", "post-rewrite", "pre-auto-gc"} {
		w.write("repo/.git/hooks/"+hook, "#!/bin/sh\necho "+hook+" >>"+ran+"\n")
		if err := os.Chmod(filepath.Join(w.repo, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"filter.evil.clean": program, "filter.evil.smudge": program, "filter.evil.required": "true", "diff.evil.command": program, "diff.evil.textconv": program, "merge.evil.driver": program,
		"filter.a=b.clean": program, "filter.a=b.process": program, "core.fsmonitor": program, "diff.external": program, "core.editor": program, "core.pager": program, "gpg.program": program, "commit.gpgSign": "true",
		"core.sshCommand": program, "core.askPass": program, "credential.helper": program, "core.alternateRefsCommand": program,
	} {
		w.git("config", name, value)
	}
	_ = os.Remove(ran)
	w.queued(spec.Task{Write: []string{"src/**", ".gitattributes"}, Steps: []spec.TaskStep{
		{ID: "s1", Action: "append", File: "src/a.txt", Text: "two\n"},
		{ID: "s2", Action: "write", File: "src/.gitattributes", Text: "* filter=evil diff=evil\na* filter=a=b\n"},
		{ID: "s3", Action: "create", File: "src/b.bin", Text: "x\n"},
	}, Verify: []string{"true"}})
	r := w.once()
	if !r.OK() || r.CommitHash == "" {
		t.Fatalf("%s", r.Reason)
	}
	if got, err := os.ReadFile(ran); err == nil {
		t.Errorf("these ran:\n%s", got)
	}
	out, err := exec.Command("git", "-C", w.repo, "cat-file", "-p", r.Branch+":src/a.txt").Output()
	if err != nil || string(out) != "one\ntwo\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestVerifyIsReadOnly(t *testing.T) {
	w := newWorld(t)
	cases := map[string]string{
		"true":                                 "",
		"echo x >/tmp/x; echo y >$HOME/y":      "",
		"touch src/new.txt":                    "", // written with what was in it
		"echo x >src/cache.log":                "", // ignored, where it may write
		"echo x >src/other.txt":                "violation",
		"echo x >>src/new.txt":                 "violation",
		"rm src/new.txt":                       "violation",
		"echo x >x.log":                        "violation",
		"chmod +x src/new.txt":                 "violation",
		"sed -i s/one/uno/ src/a.txt":          "violation",
		"false":                                "verify",
		"echo x >src/other.txt; false":         "violation",
		"mkfifo src/p":                         "violation",
		"(sleep 0.2; echo x >src/late) & true": "",
	}
	ids := map[string]string{}
	for command := range cases {
		id := fmt.Sprintf("t%d", len(ids))
		ids[id] = command
		w.queued(spec.Task{ID: id, Steps: []spec.TaskStep{{ID: "s1", Action: "create", File: "src/new.txt", Text: "new\n"}}, Verify: []string{command}})
	}
	reports, err := runnerAt(w.dir).Run(t.Context(), "core", 0, time.Time{})
	if err != nil || len(reports) != len(cases) {
		t.Fatalf("%d of %d: %v", len(reports), len(cases), err)
	}
	for _, r := range reports {
		id, command := r.TaskID, ids[r.TaskID]
		if want := cases[command]; r.Kind != want {
			t.Errorf("%s: %s %q, want %q", command, r.Kind, r.Reason, want)
		}
		if r.OK() && w.git("diff", "--name-only", "main", r.Branch) != "src/new.txt" {
			t.Errorf("%s: committed %q", command, w.git("diff", "--name-only", "main", r.Branch))
		}
		if !r.OK() && !strings.HasPrefix(command, "rm ") && (r.Kept == "" || !slices.Contains(w.left(), r.Kept) || r.CommitHash != "" || !strings.Contains(w.read("repo/tasks/runs/"+id+"/report.md"), r.Kept)) {
			t.Errorf("%s: kept %q of %v", command, r.Kept, w.left())
		}
	}
}

func TestTimeoutIsRetriedFromCleanTree(t *testing.T) {
	w := newWorld(t)
	// The first time it leaves all sorts of things and hangs. The home of the task's commands tells it how often it was tried.
	w.queued(spec.Task{Timeout: 2 * time.Second, Retries: 1, Steps: []spec.TaskStep{
		{ID: "s1", Action: "create", File: "src/new.txt", Text: "new\n"},
		{ID: "s2", Action: "run", Command: `if test ! -e $HOME/tried; then touch $HOME/tried; echo half >src/a.txt; echo half >>src/new.txt; mkdir -p src/d/e; echo x >src/d/e/f; ln -s d src/l; rm README.md; mkdir README.md; rm -r secret; git checkout README.md secret 2>/dev/null
			rm -rf README.md; cp $HOME/readme README.md 2>/dev/null || printf 'read me\n' >README.md; mkdir secret; printf 'mine\n' >secret/b.txt; sleep 60; fi
			test "$(cat src/a.txt src/new.txt README.md secret/b.txt | tr '\n' ' ')" = "one new read me mine " && test ! -e src/d && echo done >src/done.txt`},
	}})
	r := w.once()
	if !r.OK() || len(r.Steps[1].Failed) != 1 || !strings.Contains(r.Steps[1].Failed[0], "timeout") {
		t.Fatalf("%s %+v", r.Reason, r.Steps)
	}
	if got := w.git("diff", "--name-only", "main", r.Branch); got != "src/done.txt\nsrc/new.txt" {
		t.Errorf("committed %q", got)
	}
	w.queued(spec.Task{ID: "t2", Timeout: time.Second, Retries: 1, Steps: runs("echo x >>$HOME/n; wc -l <$HOME/n; sleep 60")})
	if r := w.once(); r.Kind != "timeout" || len(r.Steps[0].Failed) != 2 || r.Steps[0].Command.Stdout != "2\n" || r.Steps[0].Command.ExitCode != -1 {
		t.Errorf("%s %+v", r.Kind, r.Steps)
	}
	w.queued(spec.Task{ID: "t3", Timeout: time.Second, Retries: 2, Steps: runs("echo x >secret/x; sleep 60")})
	if r := w.once(); r.Kind != "violation" || len(r.Steps[0].Failed) != 1 {
		t.Errorf("a violation was tried again: %s %+v", r.Kind, r.Steps)
	}
	w.queued(spec.Task{ID: "t4", Retries: 2, Steps: runs("exit 4")})
	if r := w.once(); r.Kind != "step" || len(r.Steps[0].Failed) != 1 || !strings.Contains(r.Reason, "exit code 4") {
		t.Errorf("%s %+v", r.Kind, r.Steps)
	}
}

// editor is an executor whose behaviour a test says.
type editor func(ctx context.Context, w Work) (Outcome, error)

func (e editor) Edit(ctx context.Context, w Work) (Outcome, error) { return e(ctx, w) }

func TestExecutorIsJudgedAndRetried(t *testing.T) {
	w := newWorld(t)
	step := []spec.TaskStep{{ID: "s1", Action: "edit", File: "src/a.txt", Instructions: "add two"}}
	var saw []Work
	w.queued(spec.Task{Steps: step, Retries: 1}) // no read glob: its own file is read all the same
	r := w.once(func(r *Runner) {
		r.Executor = editor(func(ctx context.Context, w Work) (Outcome, error) {
			saw = append(saw, w)
			if len(saw) == 1 {
				_ = os.WriteFile(filepath.Join(w.Dir, "src", "half.txt"), nil, 0o644)
				return Outcome{Name: "one", Tokens: 5}, fmt.Errorf("the endpoint said 503: %w", ErrTransient)
			}
			return Outcome{Name: "one", Tokens: 7, Summary: "added"}, os.WriteFile(filepath.Join(w.Dir, "src", "a.txt"), []byte("one\ntwo\n"), 0o644)
		})
	})
	if !r.OK() || r.Tokens != 12 || r.Steps[0].Executor != "one" || !slices.Equal(saw[0].Readable, []string{"src/a.txt"}) || saw[0].Earlier != "" || !strings.Contains(saw[1].Earlier, "503") || w.git("diff", "--name-only", "main", r.Branch) != "src/a.txt" {
		t.Errorf("%s %+v %+v", r.Reason, r.Steps, saw)
	}
	for name, c := range map[string]struct {
		do   editor
		kind string
	}{
		"writes beside": {func(_ context.Context, w Work) (Outcome, error) {
			return Outcome{}, os.WriteFile(filepath.Join(w.Dir, "x"), nil, 0o644)
		}, "violation"},
		"breaks git's link": {func(_ context.Context, w Work) (Outcome, error) {
			return Outcome{}, os.WriteFile(filepath.Join(w.Dir, ".git"), []byte("gitdir: /tmp/evil\n"), 0o644)
		}, "violation"},
		"does not know":  {func(context.Context, Work) (Outcome, error) { return Outcome{}, errors.New("no such text") }, "executor"},
		"hangs":          {func(ctx context.Context, _ Work) (Outcome, error) { <-ctx.Done(); return Outcome{}, ctx.Err() }, "timeout"},
		"fails for good": {func(context.Context, Work) (Outcome, error) { return Outcome{}, ErrTransient }, "executor"},
	} {
		id := strings.NewReplacer(" ", "-", "'", "").Replace(name)
		w.queued(spec.Task{ID: id, Steps: step, Timeout: 300 * time.Millisecond})
		if r := w.once(func(r *Runner) { r.Executor = c.do }); r.Kind != c.kind || !w.in(Failed, id) {
			t.Errorf("%s: %s %s", name, r.Kind, r.Reason)
		}
	}
	w.queued(spec.Task{ID: "t8", Steps: []spec.TaskStep{{ID: "s1", Action: "edit", File: "secret/b.txt", Instructions: "x"}}})
	if r := w.once(func(r *Runner) {
		r.Executor = editor(func(context.Context, Work) (Outcome, error) { t.Error("it was asked"); return Outcome{}, nil })
	}); r.Kind != "violation" {
		t.Errorf("a file that it may not write: %s %s", r.Kind, r.Reason)
	}
	w.queued(spec.Task{ID: "t9", Steps: step})
	if _, err := runnerAt(w.dir).Once(t.Context(), "core"); !errors.Is(err, ErrUnable) || !w.in(Queued, "t9") {
		t.Errorf("without an executor: %v", err)
	}
}
