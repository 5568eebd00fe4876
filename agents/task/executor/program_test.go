package executor

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/internal/fakemodel"
	"aisync.dev/aisync/schema/spec"
)

// TestMain is the inside of a box as well, and the agent that runs there.
func TestMain(m *testing.M) {
	if sandbox.IsInside(os.Args) {
		syscall.Exit(sandbox.Main(os.Args)) // os.Exit waits for a second where the race detector is
	}
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		agent(os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

// agent is a program that a runtime could be: it asks its model once, and does
// what its first argument says. It prints what it can see.
func agent(args []string) {
	do, prompt := args[0], args[len(args)-1]
	config, _ := os.ReadFile(filepath.Join(os.Getenv("HOME"), ".agent/url"))
	url := string(config)
	if os.Getenv("BOXED") != "yes" {
		fmt.Println("it is not told of the sandbox")
		os.Exit(5)
	}
	if do == "loads" {
		url = strings.TrimSuffix(url, "/v1") + "/models/load"
		res, err := http.Post(url, "application/json", strings.NewReader("{}"))
		fmt.Println("load:", res.StatusCode, err)
		return
	}
	res, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":`+fmt.Sprintf("%q", prompt)+`}]}`))
	if err != nil {
		fmt.Println("no model:", err)
		os.Exit(3)
	}
	res.Body.Close()
	fmt.Println("model:", res.StatusCode)
	switch do {
	case "edits":
		os.WriteFile("src/hello.py", []byte("print(\"hello, world\")\n"), 0o644)
		os.WriteFile("src/new.py", []byte("x = 1\n"), 0o755)
		os.Remove("src/old.py")
	case "looks":
		for _, name := range append([]string{"secret.env", ".git"}, filepath.SplitList(os.Getenv("SEEN"))...) {
			if _, err := os.Lstat(name); err == nil {
				fmt.Println("sees", name)
			}
		}
		if c, err := net.DialTimeout("tcp", os.Getenv("ELSEWHERE"), time.Second); err == nil {
			c.Close()
			fmt.Println("reaches elsewhere")
		}
		os.WriteFile("src/hello.py", []byte("x\n"), 0o644)
	case "blind":
		os.WriteFile("secret.env", []byte("mine\n"), 0o644)
	case "links":
		os.Symlink("/etc/passwd", "src/link.py")
	case "git":
		os.MkdirAll("src/.git/hooks", 0o755)
	case "fails":
		fmt.Fprintln(os.Stderr, "it will not")
		os.Exit(4)
	case "sleeps":
		time.Sleep(time.Minute)
	}
}

// program is the agent as a runtime of the catalog.
func program(t *testing.T, do, endpoint string) Program {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Program{Program: confine.Program{
		Runtime: spec.Runtime{ID: "agent", Launch: spec.Launch{Headless: []string{"agent", do, "--prompt", "{prompt}"}, Sandbox: map[string]string{"BOXED": "yes"}}},
		Path:    self, Show: []string{self}, Endpoint: endpoint,
		Set: func(url string) (confine.Setting, error) {
			return confine.Setting{Files: map[string][]byte{".agent/url": []byte(url)}, Environment: map[string]string{"SEEN": os.Getenv("SEEN"), "ELSEWHERE": os.Getenv("ELSEWHERE")}}, nil
		},
	}}
}

// boxed gives w a sandbox, as the runner does.
func boxed(t *testing.T, w task.Work) task.Work {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("no sandbox here")
	}
	way, err := sandbox.Find(t.Context())
	if err != nil {
		t.Skipf("no sandbox here: %v", err)
	}
	w.Box = sandbox.Box{Way: way, Tree: w.Dir, Scratch: t.TempDir(), Home: os.Getenv("HOME")}
	return w
}

var trees = map[string]string{"src/hello.py": "print(\"hi\")\n", "src/old.py": "x\n", "secret.env": "zqsecret\n", "src/kept.py": "kept\n"}

func TestProgramEditsCopyAndReachesEndpoint(t *testing.T) {
	w := boxed(t, work(t, trees, "src/hello.py", "src/kept.py", "src/old.py"))
	model := saying(t, "Edited.")
	out, err := program(t, "edits", model.URL+"/v1").Edit(t.Context(), w)
	if err != nil || out.Tokens != 12 || out.Name != "agent" || out.Summary != "model: 200" {
		t.Fatalf("outcome %+v, error %v", out, err)
	}
	if read(t, w.Dir, "src/hello.py") != "print(\"hello, world\")\n" || read(t, w.Dir, "src/new.py") != "x = 1\n" || read(t, w.Dir, "src/kept.py") != "kept\n" {
		t.Error("the work tree is not what the program made of its copy")
	}
	if info, err := os.Stat(filepath.Join(w.Dir, "src/new.py")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the program's file: %v, error %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "src/old.py")); err == nil {
		t.Error("a file that the program removed is there")
	}
	asked := model.Take()
	if len(asked) != 1 || !strings.Contains(string(asked[0].Body), "Greet the world.") || !strings.Contains(string(asked[0].Body), "src/*.py") {
		t.Errorf("asked %d times: %+v", len(asked), asked)
	}
	if left, err := os.ReadDir(w.Box.Scratch); err != nil || len(left) > 0 {
		t.Errorf("left in the scratch folder: %v, error %v", left, err)
	}
}

func TestProgramIsConfined(t *testing.T) {
	elsewhere, err := fakemodel.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	w := boxed(t, work(t, trees, "src/hello.py"))
	w.Box.Show = append(w.Box.Show, tree(t, map[string]string{"secret.env": ""})) // as a task's commands see git's folder
	t.Setenv("SEEN", w.Dir+"/secret.env:"+w.Box.Show[0]+"/secret.env")
	t.Setenv("ELSEWHERE", strings.TrimPrefix(elsewhere.URL, "http://"))
	model := saying(t, "Looked.")
	out, err := program(t, "looks", model.URL+"/v1").Edit(t.Context(), w)
	if err != nil || out.Summary != "model: 200" {
		t.Errorf("outcome %+v, error %v", out, err)
	}
}

func TestProgramViolationsFailStep(t *testing.T) {
	for do, wrong := range map[string]string{
		"blind":   "the program wrote secret.env, which it may not read",
		"links":   "the program made src/link.py, which is not a plain file",
		"git":     "the program made src/.git, which belongs to git",
		"fails":   "ended with exit code 4: it will not",
		"nothing": "changed nothing",
		"loads":   "changed nothing; it said: load: 403",
	} {
		t.Run(do, func(t *testing.T) {
			w := boxed(t, work(t, trees, "src/hello.py"))
			var log strings.Builder
			w.Log = &log
			_, err := program(t, do, saying(t, "Yes.").URL+"/v1").Edit(t.Context(), w)
			if err == nil || errors.Is(err, task.ErrTransient) || !strings.Contains(err.Error(), wrong) {
				t.Errorf("error %v, want one of %q", err, wrong)
			}
			for name, text := range trees {
				if got := read(t, w.Dir, name); got != text {
					t.Errorf("%s is %q", name, got)
				}
			}
			if do == "loads" && !strings.Contains(log.String(), "asked the endpoint for POST /models/load, which is not allowed") {
				t.Errorf("the log does not say what was refused:\n%s", &log)
			}
		})
	}
}

func TestProgramTransientErrors(t *testing.T) {
	w := boxed(t, work(t, trees, "src/hello.py"))
	gone := saying(t, "")
	gone.Close()
	_, err := program(t, "edits", gone.URL+"/v1").Edit(t.Context(), w)
	// The program takes 502 for an answer and edits all the same: that counts.
	if err != nil {
		t.Errorf("error %v", err)
	}
	_, err = program(t, "nothing", gone.URL+"/v1").Edit(t.Context(), w)
	if !errors.Is(err, task.ErrTransient) || !strings.Contains(err.Error(), "the endpoint failed") {
		t.Errorf("error %v", err)
	}
	w.Task.Timeout = 300 * time.Millisecond
	if _, err := program(t, "sleeps", saying(t, "x").URL+"/v1").Edit(t.Context(), w); !errors.Is(err, task.ErrTransient) || !strings.Contains(err.Error(), "was not finished after") {
		t.Errorf("error %v", err)
	}
}
