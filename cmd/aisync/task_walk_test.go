package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/internal/fakegitea"
	"aisync.dev/aisync/internal/fakemodel"
)

// desk is a scratch machine with a clone of a repository, the server that it is
// from, and a model.
type desk struct {
	t     *testing.T
	dir   string
	env   []string
	gitea *fakegitea.Server
	model *fakemodel.Server
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	name = filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// types runs a command in the clone, and returns what it prints.
func (d *desk) types(command string) (string, error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env = filepath.Join(d.dir, "home/src/chiffon"), d.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (d *desk) must(command string) {
	d.t.Helper()
	if out, err := d.types(command); err != nil {
		d.t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// fileBlocks are the files of a page: blocks whose first line says after the
// language what they are called.
var fileBlocks = regexp.MustCompile("(?ms)^```(?:cue|markdown) ([^\n]+)\n(.*?)^```$")

// newDesk sets up what docs/tasks.md speaks of.
func newDesk(t *testing.T, doc string) *desk {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a sandbox that aisync can make")
	}
	if _, err := sandbox.Find(t.Context()); err != nil {
		t.Skipf("no sandbox here: %v", err)
	}
	d := &desk{t: t, dir: t.TempDir()}
	var asked atomic.Int32
	var err error
	d.model, err = fakemodel.Start(func(q fakemodel.Request) fakemodel.Reply {
		hello := "src/hello.sh\n<<<<<<< SEARCH\necho hi\n=======\necho 'hello, world'\n>>>>>>> REPLACE\n"
		manual := "docs/manual.md\n<<<<<<< SEARCH\nIt says hi.\n=======\nIt greets the world.\n>>>>>>> REPLACE\n"
		if !strings.Contains(string(q.Body), "manual") {
			return fakemodel.Reply{Text: hello}
		}
		if asked.Add(1) == 1 {
			return fakemodel.Reply{Text: manual + "\nAnd a note beside it:\n\nsrc/notes.sh\n<<<<<<< SEARCH\n=======\n# greets\n>>>>>>> REPLACE\n"}
		}
		return fakemodel.Reply{Text: manual}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.model.Close() })
	var issues []fakegitea.Issue
	for _, block := range fileBlocks.FindAllStringSubmatch(doc, -1) {
		name, text := block[1], block[2]
		if number, ok := strings.CutPrefix(name, "issue "); ok {
			i, err := readIssue(number+".md", text)
			if err != nil {
				t.Fatal(err)
			}
			issues = append(issues, i)
			continue
		}
		d.write("home/"+strings.TrimPrefix(name, "~/"), strings.ReplaceAll(text, "http://127.0.0.1:8081", d.model.URL))
	}
	if d.gitea, err = fakegitea.Start("me/chiffon", giteaToken, issues...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.gitea.Close() })
	d.env = []string{
		"HOME=" + d.dir + "/home", "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost", quickRaceExit,
	}
	d.write("home/.config/gitea-token", giteaToken+"\n")
	d.must("chmod 600 ~/.config/gitea-token")
	d.write("home/src/chiffon/src/hello.sh", "echo hi\n")
	d.write("home/src/chiffon/docs/manual.md", "# Manual\n\nIt says hi.\n")
	d.must("git init -q -b main && git add . && git commit -qm 'The program says hi' && git init -q --bare ../../../chiffon.git && git remote add origin ../../../chiffon.git && git push -q origin main")
	d.gitea.Branches(func(name string) bool {
		return exec.Command("git", "-C", filepath.Join(d.dir, "chiffon.git"), "rev-parse", "--verify", "--quiet", "refs/heads/"+name).Run() == nil
	})
	return d
}

// What varies from run to run, as docs/tasks.md has it.
var varyingTasks = unsteady{
	{regexp.MustCompile(`\b\d{8}-\d{6}(-\d+)?\b`), "20260202-100000"},
	{regexp.MustCompile(`\b\d{8}T\d{6}\.\d+Z-[0-9a-f]{6}\b`), "20260202T100000.123Z-1a2b3c"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "2026-02-02T10:00:00Z"},
	{regexp.MustCompile(`from \d{4}-\d\d-\d\d \d\d:\d\d to \d\d:\d\d`), "from 2026-02-02 02:00 to 02:04"},
	{regexp.MustCompile(`((?:commit|base) .*)\b[0-9a-f]{40}\b`), "${1}4f1c2d8a9be0357146d2c8f0a1b3e5d7c9f80a42"},
	{regexp.MustCompile(`(sandbox[ |]+)bwrap\b`), "${1}namespaces"},
	{regexp.MustCompile(`(took \| )[0-9.]+(?:ms|s)\b`), "${1}2s"},
	{regexp.MustCompile(`\bin [0-9.]+ s\b`), "in 0.2 s"},
	{regexp.MustCompile(`(work-trees/chiffon)-[0-9a-f]{8}\b`), "${1}-1a2b3c4d"},
}

func (d *desk) likeTheDocs(text string) string {
	text = strings.ReplaceAll(text, d.dir+"/home", "/home/me")
	text = strings.ReplaceAll(text, d.gitea.URL, "https://gitea.example")
	text = strings.ReplaceAll(text, d.model.URL, "http://127.0.0.1:8081")
	return varyingTasks.settle(text)
}

// The whole way, as docs/tasks.md has it: an issue becomes a task, a person
// approves it, a model does it, the branch is pushed and asked to be taken over,
// the report goes back. -update writes what the commands print.
func TestIssueToBranchWalkthrough(t *testing.T) {
	const name = "../../docs/tasks.md"
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, string(doc))
	walk(t, name, string(doc), func(command string) string {
		if set, ok := strings.CutPrefix(command, "export "); ok {
			set = strings.NewReplacer("https://gitea.example", d.gitea.URL, "$HOME", d.dir+"/home").Replace(set)
			d.env = append(d.env, strings.Fields(set)...)
			return ""
		}
		out, _ := d.types(command) // some shall fail: what they print is compared
		return out
	}, d.likeTheDocs)
	d.whatWasHeard()
}

// whatWasHeard judges what the others have of the work, apart from the page.
func (d *desk) whatWasHeard() {
	branch, err := os.ReadFile(filepath.Join(d.dir, "home/src/chiffon/tasks/runs/task-42/branch-name.txt"))
	if err != nil {
		d.t.Fatal(err)
	}
	pulls, comments := d.gitea.Pulls(), d.gitea.Comments()
	if len(pulls) != 1 || pulls[0].Head != strings.TrimSpace(string(branch)) || pulls[0].Base != "main" || !strings.Contains(pulls[0].Title, "task-42: The program greets the world") || !strings.Contains(pulls[0].Body, "For #42.") {
		d.t.Errorf("pull requests: %+v", pulls)
	}
	if len(comments) != 1 || comments[0].Issue != 42 || !strings.Contains(comments[0].Body, "task-42: done") || !strings.Contains(comments[0].Body, d.gitea.URL+"/me/chiffon/pulls/100") {
		d.t.Errorf("comments: %+v", comments)
	}
	out, err := exec.Command("git", "-C", filepath.Join(d.dir, "chiffon.git"), "log", "--format=%s", "main.."+strings.TrimSpace(string(branch))).Output()
	if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); err != nil || len(lines) != 1 || !strings.Contains(lines[0], "task-42") {
		d.t.Errorf("the branch that was pushed has the commits %q, error %v", lines, err)
	}
	// The token is with the server, and in the file that it was read from.
	err = filepath.WalkDir(d.dir, func(p string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasSuffix(p, "/.config/gitea-token") {
			return err
		}
		text, err := os.ReadFile(p)
		if strings.Contains(string(text), giteaToken) {
			d.t.Errorf("the token is in %s", p)
		}
		return err
	})
	if said := fmt.Sprint(pulls, comments); err != nil || strings.Contains(said, giteaToken) {
		d.t.Errorf("error %v; the server was told: %s", err, said)
	}
}
