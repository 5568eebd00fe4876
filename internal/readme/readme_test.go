package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// notRun are the ```sh blocks that are not run here, by their first line.
var notRun = map[string]string{
	"git clone":       "needs the address that the reader cloned from; its make test is what runs this test, and .ci/run runs make try",
	"make test":       "it is what runs this test",
	"make try":        ".ci/run runs it",
	"aisync outdated": "asks repositories; testdata/script/update.txtar makes some, and runs each of these",
	"aisync show mcp": "asks the MCP registry; testdata/script/mcp_registry.txtar asks one on loopback",

	"mkdir -p inc/miniaudio": "builds the C++ of an ollama that aisync does not install, with headers of three Debian packages",
	"make bench":             "takes minutes and measures the machine, not the program",

	"aisync=./bin/aisync":       "installs a system; TestInstallerPreparesUnbootedSystem makes the same calls",
	"arch-chroot":               "needs one; the same test makes the call in a chroot of its own",
	"for try in":                "waits for a network; the same test resumes after one that failed",
	"ai --runtime local-openai": "opens a window with an agent program; the walk in agents.md opens such windows",
}

// block is one fenced block of a document.
type block struct {
	line int
	kind string // "sh": commands; "console": "$ command", then what it prints
	text string
}

var fence = regexp.MustCompile("^```([a-z]*)$")

func blocks(doc string) []block {
	var out []block
	open := false
	for i, line := range strings.Split(doc, "\n") {
		if m := fence.FindStringSubmatch(line); m != nil {
			if open = !open; open {
				out = append(out, block{line: i + 1, kind: m[1]})
			}
		} else if open {
			out[len(out)-1].text += line + "\n"
		}
	}
	return out
}

// built is the folder of the program, which is built once for all tests.
var built string

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

func binary(t *testing.T) string {
	t.Helper()
	if built == "" {
		dir, err := os.MkdirTemp("", "aisync-readme-")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("go", "build", "-o", dir, "aisync.dev/aisync/cmd/aisync").CombinedOutput(); err != nil {
			os.RemoveAll(dir)
			t.Fatalf("go build: %v\n%s", err, out)
		}
		for _, link := range []string{"ensemble", "ensemble-tmux", "agent-roster", "session-context-path", "ai"} {
			if err := os.Symlink("aisync", filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		built = dir
	}
	return built
}

func TestDocumentsMatchOutput(t *testing.T) {
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	docs, _ := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	bin := binary(t)
	ran := 0
	for _, doc := range append(docs, filepath.Join(top, "README.md")) {
		name := filepath.Base(doc)
		if name == "commands.md" {
			continue // generated; its examples are the help's, and show parts
		}
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, top, bin)
		for _, b := range blocks(string(text)) {
			switch b.kind {
			case "sh":
				if excused(b) {
					continue
				}
				ran++
				if out, err := w.shell(top, b.text, w.machine()...); err != nil {
					t.Errorf("%s:%d: %v\n%s", name, b.line, err, out)
				}
			case "console":
				ran++
				w.session(t, name, b)
			}
		}
	}
	if ran < 2 {
		t.Errorf("only %d blocks were found and run", ran)
	}
}

func excused(b block) bool {
	for first := range notRun {
		if strings.HasPrefix(b.text, first) {
			return true
		}
	}
	return false
}

// world is a fresh copy of the specs of golden/contract, as a person has them
// who read up to here.
type world struct {
	dir string
	env []string
}

func newWorld(t *testing.T, top, bin string) world {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(top, "golden", "contract"))); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"root/home/me", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := world{dir, append(os.Environ(),
		"PATH="+bin+":"+os.Getenv("PATH"), "HOME=/home/me", "NO_COLOR=1", "AISYNC_OFFLINE=1", "AISYNC_IN_AUTOMATION=1",
		"AI_AGENT_ID=", "AI_SESSION_CONTEXT=", "AI_PROJECT_DIR=", "AI_RUNTIME=", "AI_HELPER=", "AI_MODEL=", "GT_RUNTIME=", // the reader's, where an agent runs this
		"XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"AISYNC_CLI_ARGS=--root "+dir+"/root --host velox --config "+dir+"/host")}
	if out, err := w.shell(dir+"/project", "git init -q -b main"); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return w
}

func (w world) shell(dir, script string, env ...string) (string, error) {
	cmd := exec.Command("bash", "-euc", script)
	cmd.Dir, cmd.Env = dir, append(w.env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// machine is the environment of what is done to the reader's machine rather
// than in the session: a scratch home, and Go's caches where they are.
func (w world) machine() []string {
	return []string{"HOME=" + w.dir + "/home", "AISYNC_CLI_ARGS=", "GOPATH=" + goEnv("GOPATH"), "GOCACHE=" + goEnv("GOCACHE")}
}

func goEnv(name string) string {
	out, _ := exec.Command("go", "env", name).Output()
	return strings.TrimSpace(string(out))
}

// session runs each "$ command" of b in the project and compares what it
// prints with the lines below it. "…" stands for any text of a line, and on a
// line of its own for any lines; "# exit code 2" is the code that is expected.
func (w world) session(t *testing.T, name string, b block) {
	t.Helper()
	for part := range strings.SplitSeq("\n"+b.text, "\n$ ") {
		command, want, _ := strings.Cut(part, "\n")
		if strings.TrimSpace(command) == "" {
			continue
		}
		out, err := w.shell(w.dir+"/project", command)
		code := 0
		if exit, ok := err.(*exec.ExitError); ok {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		wantCode := 0
		if i := strings.Index(command, "# exit code "); i >= 0 {
			wantCode, _ = strconv.Atoi(strings.TrimRight(strings.Fields(command[i+len("# exit code "):])[0], ":,")) // 0 is no failure, and found as one
		}
		if code != wantCode {
			t.Errorf("%s:%d: $ %s\nexit code %d, want %d\n%s", name, b.line, command, code, wantCode, out)
		} else if !matches(want, out) {
			t.Errorf("%s:%d: $ %s\nprints\n%s\nthe document shows\n%s", name, b.line, command, out, want)
		}
	}
}

// matches compares text with a picture of it in which … stands for what is left out.
func matches(picture, text string) bool {
	var re strings.Builder
	for line := range strings.Lines(strings.TrimSpace(picture) + "\n") {
		line = strings.TrimRight(line, " \n")
		if strings.TrimSpace(line) == "…" {
			re.WriteString(`(?:.*\n)*?`)
			continue
		}
		re.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + " *\n")
	}
	if strings.TrimSpace(picture) == "" {
		return strings.TrimSpace(text) == ""
	}
	return regexp.MustCompile(`\A\s*` + re.String() + `\s*\z`).MatchString(strings.TrimSpace(text) + "\n")
}

func TestPicturePatterns(t *testing.T) {
	for _, c := range []struct {
		picture, text string
		want          bool
	}{
		{"a\n…\nd", "a\nb\nc\nd\n", true},
		{"a\n…\nd", "a\nb\nc\n", false},
		{"a … c", "a b c\n", true},
		{"a", "a\nb\n", false},
		{"", "a\n", false},
		{"", "\n", true},
	} {
		if got := matches(c.picture, c.text); got != c.want {
			t.Errorf("matches(%q, %q) = %v, want %v", c.picture, c.text, got, c.want)
		}
	}
}
