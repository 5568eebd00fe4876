package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// freePort sets variables to free ports.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: freeport VARIABLE...")
	}
	for _, name := range args {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		defer l.Close()
		ts.Setenv(name, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
}

// squat listens on a port until the script ends, as some other program would.
func squat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: squat PORT")
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+args[0])
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
}

// ask gets an address, with the key of a service of aisync's where that is asked for;
// with ! it fails if a server answers there.
func ask(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: ask URL [TEXT]")
	}
	resp, err := http.Get(args[0])
	keys, _ := filepath.Glob(ts.Getenv("HOME") + "/.local/state/aisync/keys/*") // the pattern is sound
	for _, key := range keys {
		if err == nil && resp.StatusCode == http.StatusUnauthorized {
			resp.Body.Close()
			req, _ := http.NewRequest(http.MethodGet, args[0], nil) // it was got before
			req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(key)))
			resp, err = http.DefaultClient.Do(req)
		}
	}
	if neg {
		if err == nil {
			ts.Fatalf("%s answers %s", args[0], resp.Status)
		}
		return
	}
	ts.Check(err)
	defer resp.Body.Close()
	var body strings.Builder
	if err := resp.Write(&body); err != nil || len(args) == 2 && !strings.Contains(body.String(), args[1]) {
		ts.Fatalf("%s: %v, no %q in\n%s", args[0], err, args[1:], body.String())
	}
}

// chat asks a model for a few words, of which it wants at least one token, with the
// key in a file. With ! it wants to be refused.
func chat(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: chat URL MODEL [KEYFILE]")
	}
	question := fmt.Sprintf(`{"model": %q, "max_tokens": 4, "messages": [{"role": "user", "content": "hi"}]}`, args[1])
	req, err := http.NewRequest(http.MethodPost, args[0]+"/chat/completions", strings.NewReader(question))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	if len(args) == 3 {
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[2])))
	}
	resp, err := http.DefaultClient.Do(req)
	if neg && err == nil && resp.StatusCode == http.StatusUnauthorized {
		return
	}
	if neg {
		ts.Fatalf("%s is not refused: %v", args[0], err)
	}
	ts.Check(err)
	defer resp.Body.Close()
	var answer struct {
		Usage struct {
			Tokens int `json:"completion_tokens"`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Usage.Tokens == 0 {
		ts.Fatalf("%s: %s, %d tokens, %v", args[0], resp.Status, answer.Usage.Tokens, err)
	}
}

// ollamaFolder is where the tests keep the real ollama, "" where it is not.
func ollamaFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(cache, "aisync-test/ollama/v0.9.6")
	if _, err := os.Stat(filepath.Join(dir, "ollama")); err != nil {
		return ""
	}
	return dir
}

// llamaFolder is where the tests keep the real llama-server, "" where it is not.
func llamaFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(cache, "aisync-test/llama-server/bin")
	if _, err := os.Stat(filepath.Join(dir, "llama-server")); err != nil {
		return ""
	}
	return dir
}

// startsItself reports whether the llama-server in dir can start itself anew, as
// that of several models does: an older scripts/llama-server started it through a
// loader, and it then starts that one.
func startsItself(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "llama-server"))
	return err == nil && !strings.Contains(string(text), "--library-path")
}

// endServices ends the supervisors of services below dir, and waits until they
// are at their end: they write there until then.
func endServices(dir string) {
	for i := range 1000 {
		left := supervisors(dir)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			if i%200 == 0 {
				_ = syscall.Kill(pid, syscall.SIGTERM) // it may be gone
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// supervisors finds processes "services supervise" that work below dir.
func supervisors(dir string) []int {
	var pids []int
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is sound
	for _, path := range lines {
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte("\x00services\x00supervise\x00"+dir+"/")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))) // digits
			pids = append(pids, pid)
		}
	}
	return pids
}

// eventually runs a command until it exits 0, for ten seconds at most.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: eventually COMMAND [ARG...]")
	}
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := ts.Exec(args[0], args[1:]...)
		if err == nil {
			return
		}
		if time.Now().After(until) {
			ts.Fatalf("%v: %v", args, err)
		}
	}
}
