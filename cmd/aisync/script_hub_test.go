package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"aisync.dev/aisync/internal/fetch/hubtest"
)

// hubKey is where a script's own hub is kept.
type hubKey struct{}

// hubCommand is a Hugging Face of the script's own, which HF_ENDPOINT names
// from the first use on:
//
//	hub add REPO NAME=FILE...   a commit of REPO, which main moves to
//	hub tag REPO NAME           main's commit gets another name
//	hub rename REPO NAME        REPO is NAME now; its old name redirects
//	hub gate REPO TOKEN         REPO needs TOKEN
//	hub terms REPO TOKEN        nor with TOKEN: its terms are not accepted
//	hub break FAULT             it misbehaves: a name of hubtest.Faults
//	hub mend                    and no more
//	hub forget                  what was asked of it until now
//	hub asked HOST [PART]       fails if nothing was asked of HOST, hub or cdn, at an address that holds PART
func hubCommand(ts *testscript.TestScript, neg bool, args []string) {
	h, ok := ts.Value(hubKey{}).(*hubtest.Hub)
	if !ok {
		ts.Fatalf("the script has no hub")
	}
	ts.Setenv("HF_ENDPOINT", h.URL)
	if len(args) == 0 || neg && args[0] != "asked" {
		ts.Fatalf("usage: hub add|gate|break|mend|forget|asked")
	}
	switch rest := args[1:]; args[0] {
	case "add":
		var files []hubtest.File
		for _, arg := range rest[1:] {
			name, file, _ := strings.Cut(arg, "=")
			files = append(files, hubtest.File{Path: name, Data: []byte(ts.ReadFile(file))})
		}
		ts.Setenv("COMMIT", h.Add(rest[0], files...))
	case "tag":
		h.Tag(rest[0], rest[1])
	case "terms":
		h.Gate(rest[0], rest[1], false)
	case "rename":
		h.Rename(rest[0], rest[1])
	case "gate":
		h.Gate(rest[0], rest[1], true)
	case "break":
		want := strings.Join(rest, " ")
		for _, f := range hubtest.Faults(483136) {
			if f.Name == want {
				h.Break(f)
				return
			}
		}
		ts.Fatalf("no fault is called %q", want)
	case "mend":
		h.Mend()
	case "forget":
		h.Forget()
	case "asked":
		n := 0
		for _, r := range h.Requests() {
			if r.Host == rest[0] && (len(rest) < 2 || strings.Contains(r.Path, rest[1])) {
				n++
			}
		}
		if (n > 0) == neg {
			ts.Fatalf("%d requests to %s", n, rest[0])
		}
	default:
		ts.Fatalf("hub cannot %s", args[0])
	}
}

// startHub gives a script its hub.
func startHub(t testscript.T) *hubtest.Hub {
	if tb, ok := t.(testing.TB); ok {
		return hubtest.New(tb)
	}
	return nil
}

// peerCommand starts aisync models serve, puts its address into PEER, and, when
// the script ends, interrupts it and wants it to end well.
func peerCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: peer")
	}
	var program string
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "aisync")); err == nil {
			program = filepath.Join(dir, "aisync")
			break
		}
	}
	cmd := exec.Command(program, "models", "serve", "--listen", "127.0.0.1:0")
	for _, name := range []string{"PATH", "HOME", "AISYNC_CLI_ARGS"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	_, address, ok := strings.Cut(strings.TrimSpace(line), " at ")
	if !ok {
		ts.Fatalf("models serve said %q", line)
	}
	ts.Setenv("PEER", address)
	ts.Defer(func() {
		ts.Check(cmd.Process.Signal(os.Interrupt))
		ts.Check(cmd.Wait()) // ^C is the way to end it: exit code 0
	})
}
