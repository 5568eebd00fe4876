package bats

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shim is what the scripts need of bats: run, skip, and a folder for each test.
const shim = `set -eu
run() { set +e; output=$(trap - ERR EXIT; "$@" 2>&1); status=$?; set -e; mapfile -t lines <<<"$output"; }
skip() { echo "SKIP $*"; exit 0; }
trap 'code=$?; declare -F teardown >/dev/null && teardown; exit $code' EXIT
trap 'echo "failed: $BASH_COMMAND (line $LINENO)" >&2; echo "status ${status-}" >&2; echo "${output-}" >&2' ERR
set -E
`

var test = regexp.MustCompile(`(?m)^@test "(.*)" \{$`)

// program builds the program and its links, in a folder for PATH.
func program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, "aisync.dev/aisync/cmd/aisync").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, link := range []string{"agent-roster", "session-context-path", "ai", "ensemble"} {
		if err := os.Symlink("aisync", filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func environment(t *testing.T, bin string) []string {
	var env []string
	for _, pair := range os.Environ() {
		// Who runs the tests may be an agent too.
		if !strings.HasPrefix(pair, "AI_") && !strings.HasPrefix(pair, "GT_") && !strings.HasPrefix(pair, "AISYNC_") && !strings.HasPrefix(pair, "XDG_") {
			env = append(env, pair)
		}
	}
	return append(env, "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
}

func TestScriptsCallProgram(t *testing.T) {
	bin := program(t)
	scripts, err := filepath.Glob("testdata/*.bats")
	if err != nil || len(scripts) < 3 {
		t.Fatalf("%q, %v", scripts, err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		tests := test.FindAllStringSubmatch(string(text), -1)
		if len(tests) == 0 {
			t.Errorf("%s: no tests", script)
		}
		n := -1
		functions := test.ReplaceAllStringFunc(string(text), func(string) string {
			n++
			return "test_" + string(rune('A'+n)) + "() {"
		})
		for i, m := range tests {
			t.Run(strings.TrimSuffix(filepath.Base(script), ".bats")+"/"+m[1], func(t *testing.T) {
				temp, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("bash", "-c", shim+functions+"\nsetup\ntest_"+string(rune('A'+i)))
				cmd.Env = append(environment(t, bin), "BATS_TEST_TMPDIR="+temp)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if why, ok := strings.CutPrefix(string(out), "SKIP "); ok {
					t.Skip(why)
				}
			})
		}
		if len(tests) > 26 {
			t.Errorf("%s has more tests than letters", script)
		}
	}
}

func TestScriptsUnderBats(t *testing.T) {
	bats, err := exec.LookPath("bats")
	if err != nil {
		t.Skip("bats is not installed")
	}
	cmd := exec.Command(bats, "testdata")
	cmd.Env = environment(t, program(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A runner that passes whatever it is given proves nothing.
func TestTheShimFails(t *testing.T) {
	for script, want := range map[string]bool{
		`run false; [ "$status" -eq 1 ]`:             true,
		`run false; [ "$status" -eq 0 ]`:             false,
		`run echo a; [ "$output" = b ]`:              false,
		`run printf 'a\nb\n'; [ "${lines[1]}" = b ]`: true,
		`false; true`: false,
	} {
		out, err := exec.Command("bash", "-c", shim+"t() {\n"+script+"\n}\nt").CombinedOutput()
		if (err == nil) != want {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}
