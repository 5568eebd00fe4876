package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// committed is a project that was made and committed, with a rule edited since
// if it is to have drifted.
func committed(t *testing.T, drifted bool) person {
	t.Helper()
	p := newPerson(t)
	p.env = append(p.env, "GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost")
	p.must(t, "apply", "--scope", "project", "--yes", "--trust")
	p.shell(t, "git add -A && git commit -q -m made")
	if drifted {
		p.shell(t, "sed -i '5s/.*/# By hand/' .claude/rules/elisp.md; git commit -q -a -m edited")
	}
	return p
}

// job runs a script in the project as a CI job does: without the home and the
// specs of a host.
func (p person) job(t *testing.T, shell, script string, env ...string) (code int, out string) {
	t.Helper()
	cmd := exec.Command(shell, "-e", "-c", script)
	cmd.Dir = p.project()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), quickRaceExit}, env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	var exited *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), said.String()
}

// strictly reads YAML in which every field is known.
func strictly(text []byte, into any) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	return dec.Decode(into)
}

var expression = regexp.MustCompile(`\$\{\{ *(inputs|steps)\.([a-z.-]+) *\}\}`)

func TestGitHubActionAnnotatesDrift(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Name, Description, Author string
		Branding                  map[string]string
		Inputs                    map[string]struct{ Description, Default string }
		Outputs                   map[string]struct{ Description, Value string }
		Runs                      struct {
			Using string
			Steps []struct {
				ID, Shell, Run string
				Env            map[string]string
			}
		}
	}
	if err := strictly(text, &action); err != nil {
		t.Fatal(err)
	}
	if action.Name == "" || action.Description == "" || action.Runs.Using != "composite" || len(action.Runs.Steps) != 1 {
		t.Fatalf("%+v", action)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	step := action.Runs.Steps[0]
	run := func(p person, given map[string]string) (int, string, string, string) {
		t.Helper()
		dir := t.TempDir()
		env := []string{"GITHUB_ACTION_PATH=" + root, "GITHUB_OUTPUT=" + dir + "/output", "GITHUB_STEP_SUMMARY=" + dir + "/summary", "RUNNER_TEMP=" + dir}
		for name, value := range step.Env {
			value = expression.ReplaceAllStringFunc(value, func(e string) string {
				input := expression.FindStringSubmatch(e)[2]
				if _, ok := action.Inputs[input]; !ok {
					t.Errorf("%s uses the input %s, which there is not", name, input)
				}
				if v, ok := given[input]; ok {
					return v
				}
				return action.Inputs[input].Default
			})
			env = append(env, name+"="+value)
		}
		code, out := p.job(t, "bash", step.Run, env...)
		output, _ := os.ReadFile(dir + "/output")
		summary, _ := os.ReadFile(dir + "/summary")
		return code, out, string(output), string(summary)
	}
	program, err := exec.LookPath("aisync")
	if err != nil {
		t.Fatal(err)
	}
	good, bad := committed(t, false), committed(t, true)
	if code, out, output, _ := run(good, map[string]string{"aisync": program}); code != 0 || out != "" || output != "code=0\n" {
		t.Errorf("in order: code %d, output %q\n%s", code, output, out)
	}
	code, out, output, summary := run(bad, map[string]string{"aisync": program, "sarif": "out.sarif", "fail-on": "drift"})
	if code != 2 || output != "code=2\n" || !strings.HasPrefix(out, "::error file=.claude/rules/elisp.md,line=5,title=aisync drift::") || strings.Count(out, "\n") != 1 {
		t.Errorf("drifted: code %d, output %q\n%s", code, output, out)
	}
	if !strings.Contains(summary, "-# Emacs Lisp") || !strings.Contains(summary, "1 drifted, 0 pending") {
		t.Errorf("the summary is %s", summary)
	}
	log, err := os.ReadFile(filepath.Join(bad.project(), "out.sarif"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fromSARIF(t, string(log)); !slices.Equal(got.drift, []string{"file:.claude/rules/elisp.md"}) {
		t.Errorf("SARIF names %v", got)
	}
	if code, out, _, _ := run(bad, map[string]string{"aisync": program, "ignore": "file:CLAUDE.md\n\nfile:.claude/rules/*\n"}); code != 0 {
		t.Errorf("all ignored: code %d\n%s", code, out)
	}
	used := map[string]bool{}
	for _, value := range step.Env {
		for _, m := range expression.FindAllStringSubmatch(value, -1) {
			used[m[2]] = true
		}
	}
	for input := range action.Inputs {
		if !used[input] {
			t.Errorf("nothing uses the input %s", input)
		}
	}
}

func TestPreCommitHooksCheckProjectAndBundle(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", ".pre-commit-hooks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Name, Description, Entry, Language string
		PassFilenames                          bool `yaml:"pass_filenames"`
		AlwaysRun                              bool `yaml:"always_run"`
		RequireSerial                          bool `yaml:"require_serial"`
	}
	if err := strictly(text, &hooks); err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	for _, h := range hooks {
		if h.Name == "" || h.Language != "golang" || h.PassFilenames || !h.AlwaysRun {
			t.Errorf("%+v", h)
		}
		entries[h.ID] = h.Entry
	}
	if got := slices.Sorted(maps.Keys(entries)); !slices.Equal(got, []string{"aisync-drift", "aisync-lint"}) {
		t.Fatalf("hooks %v", got)
	}
	for drifted, want := range map[bool]int{false: 0, true: 2} {
		p := committed(t, drifted)
		// git runs its hooks with these set.
		if code, out := p.job(t, "sh", entries["aisync-drift"], "GIT_DIR=.git", "GIT_INDEX_FILE=.git/index"); code != want {
			t.Errorf("drifted %v: code %d, want %d\n%s", drifted, code, want, out)
		}
		if code, out := p.job(t, "sh", "cd ../rulesets && "+entries["aisync-lint"]); code != 0 {
			t.Errorf("lint: code %d\n%s", code, out)
		}
	}
}

func TestGitLabJobKeepsReport(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "# .gitlab-ci.yml\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/ci.md has no .gitlab-ci.yml")
	}
	var jobs map[string]struct {
		Image        string
		Variables    map[string]string
		BeforeScript []string `yaml:"before_script"`
		Script       []string
		Artifacts    struct {
			When    string
			Reports map[string]string
		}
	}
	if err := strictly([]byte(text), &jobs); err != nil {
		t.Fatal(err)
	}
	job := jobs["aisync-drift"]
	for drifted, want := range map[bool]int{false: 0, true: 2} {
		p := committed(t, drifted)
		if code, out := p.job(t, "bash", strings.Join(job.Script, "\n")); code != want {
			t.Errorf("drifted %v: code %d, want %d\n%s", drifted, code, want, out)
		}
		report, err := os.ReadFile(filepath.Join(p.project(), job.Artifacts.Reports["junit"]))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(fromJUnit(t, string(report)).drift); drifted != strings.Contains(got, "elisp.md") {
			t.Errorf("drifted %v: the report names %s", drifted, got)
		}
	}
}
