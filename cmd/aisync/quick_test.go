package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/cmd/aisync/quick/role"
)

// What package quick answers, the whole program answers with the same bytes, and
// what it leaves alone, it has not begun.
func TestQuickMatchesFullProgram(t *testing.T) {
	quick.Version = "v0.0.0-test"
	t.Cleanup(func() { quick.Version = "" })
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, project := filepath.Join(top, "home"), filepath.Join(top, "a project")
	for _, dir := range []string{filepath.Join(home, ".config/aisync"), filepath.Join(project, ".ai"), filepath.Join(project, "src"), filepath.Join(top, "bin")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(project, ".ai/protocols.org"), "")
	if err := os.Symlink(project, filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	// One agent is here, as the catalog knows it, and one that only a spec will know.
	for _, name := range []string{"codex", "mine"} {
		write(filepath.Join(top, "bin", name), "#!/bin/sh\nread line\n")
		agent := exec.Command(filepath.Join(top, "bin", name))
		agent.Dir = filepath.Join(project, "src")
		hold, err := agent.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := agent.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { hold.Close(); _ = agent.Wait() })
	}
	t.Chdir(project)

	both := func(t *testing.T, argv, environ []string) (quickly bool) {
		t.Helper()
		environ = append([]string{"HOME=" + home, "PATH=/usr/bin:/bin"}, environ...)
		var out, errs, wantOut, wantErrs bytes.Buffer
		code, quickly := quick.Process{Args: argv, Environ: environ, Out: &out, Err: &errs, RoleOf: role.Of}.Answer()
		if !quickly {
			if out.Len()+errs.Len() > 0 {
				t.Errorf("%q %q: left alone, after %q %q", argv, environ, out.String(), errs.String())
			}
			return false
		}
		wantCode := run(argv, strings.NewReader(""), &wantOut, &wantErrs, environ)
		if code != wantCode || out.String() != wantOut.String() || errs.String() != wantErrs.String() {
			t.Errorf("%q %q:\nquick %d %q %q\nwhole %d %q %q", argv, environ, code, out.String(), errs.String(), wantCode, wantOut.String(), wantErrs.String())
		}
		return true
	}
	for _, c := range []struct {
		line    string // words, parted by |
		environ []string
		quickly bool
	}{
		{"aisync|version", nil, true},
		{"aisync|version|--json", nil, false},
		{"aisync|version|--links", nil, false},
		{"aisync|version|x", nil, false},

		{"aisync|session|path", nil, true},
		{"session-context-path", nil, true},
		{"/usr/bin/session-context-path", []string{"AI_AGENT_ID=helper-1f3a"}, true},
		{"session-context-path", []string{"AI_AGENT_ID= ../../etc "}, true},
		{"session-context-path", []string{"AI_AGENT_ID=x", "AI_SESSION_CONTEXT=.ai/session-context.org"}, true},
		{"session-context-path", []string{"AI_SESSION_CONTEXT=" + filepath.Join(top, "link/.ai/session-context.d/pearl.x.org")}, false}, // no such folder yet
		{"session-context-path", []string{"AI_SESSION_CONTEXT=/etc/passwd"}, false},
		{"session-context-path", []string{"AI_PROJECT_DIR=" + filepath.Join(top, "link", "src")}, true},
		{"session-context-path", []string{"AI_PROJECT_DIR=/nowhere/at/all"}, false},
		{"session-context-path|--project|" + top, nil, true},
		{"session-context-path|--project|" + filepath.Join(top, "link"), []string{"HOME="}, true},
		{"session-context-path|--project", nil, false},
		{"session-context-path|--help", nil, false},
		{"session-context-path|x", nil, false}, // no such folder
		{"session-context-path|src", nil, true},
		{"session-context-path|src|src", nil, false},
		{"session-context-path|", nil, false},
		{"session-context-path|src|--project|" + top, nil, false},
		{"session-context-path|" + top, []string{"AI_AGENT_ID=x", "AI_PROJECT_DIR=" + project, "AI_SESSION_CONTEXT=" + filepath.Join(project, ".ai/session-context.org")}, true},
		{"session-context-path|" + filepath.Join(top, "link"), []string{"AI_PROJECT_DIR=" + project, "AI_SESSION_CONTEXT=/etc/passwd"}, false},
		{"aisync|session", nil, false},
		{"aisync|session|path|--|x", nil, false},
		{"aisync|--json|session|path", nil, false}, // right, and not plain
		{"aisync|session|path|-q|--json|--verbose", nil, true},

		{"agent-roster", nil, true},
		{"aisync|roster|--json", nil, true},
		{"aisync|roster|-v", nil, true},
		{"agent-roster|--project|" + home, nil, true},
		{"agent-roster|--project|/nowhere", nil, false},
		{"agent-roster|src", nil, true},
		{"agent-roster|" + home + "|--json", []string{"AI_PROJECT_DIR=" + project}, true},
		{"agent-roster|/nowhere", nil, false},
		{"agent-roster|-v|src|.", nil, false},
		{"agent-roster|--project|" + home + "|src", nil, false},
		{"agent-roster|--proc|/proc", nil, false},
		{"agent-roster|--self|x", nil, false},
		{"agent-roster|--jsno", nil, false},
		{"agent-roster|--json=false", nil, false},
		{"agent-roster", []string{"AISYNC_CLI_ARGS_roster=--json"}, false},
		{"agent-roster", []string{"AISYNC_LOG=1"}, false},
		{"agent-roster", []string{"HOME=relative"}, false},

		{"aisync|detect", nil, true},
		{"aisync|detect|--json", []string{"CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=s"}, true},
		{"aisync|detect|--compat", []string{"GT_RUNTIME=cursor", "GT_STALL_THRESHOLD=x"}, true},
		{"aisync|detect|-q", []string{"GT_RUNTIME=nothing"}, true},
		{"aisync|detect|--field|runtime", []string{"AI_RUNTIME=codex"}, true},
		{"aisync|detect|--field|none", nil, false},
		{"aisync|detect|--field", nil, false},
		{"aisync|detect", []string{"AI_PROJECT_DIR=/nowhere"}, true},
		{"aisync|detect|--role", nil, true},
		{"aisync|detect|--role|--json", []string{"AI_AGENT_ID=helper-1f3a"}, true},
		{"aisync|detect|--role", []string{"AI_PROJECT_DIR=/nowhere"}, true},
		{"aisync|detect|--role|--compat", nil, false},
		{"aisync|detect|--role|--field|runtime", nil, false},

		{"aisync", nil, false},
		{"ai|roster", nil, false},
		{"ensemble|roster", nil, false},
		{"aisync|plan", nil, false},
	} {
		if got := both(t, strings.Split(c.line, "|"), c.environ); got != c.quickly {
			t.Errorf("%s %q: answered quickly: %v", c.line, c.environ, got)
		}
	}
	if got := both(t, nil, nil); got {
		t.Error("a process without any argument was answered")
	}

	// What a spec adds is for the whole program to find out, once.
	spec := filepath.Join(home, ".config/aisync/host.cue")
	roster := []string{"agent-roster", "--verbose"}
	write(spec, "package aisync\n\nhosts: here: runtimes: claude: {}\n")
	if !both(t, roster, nil) {
		t.Error("a spec that adds nothing is in the way")
	}
	write(spec, "package aisync\n\nhosts: here: runtimes: mine: {}\ncatalog: runtimes: mine: {displayName: \"Mine\", command: \"mine\", hooks: \"manual\"}\n")
	if both(t, roster, nil) {
		t.Error("answered before the spec was evaluated")
	}
	var out bytes.Buffer
	run(roster, strings.NewReader(""), &out, &out, []string{"HOME=" + home})
	if !strings.Contains(out.String(), " mine -\n") || !strings.Contains(out.String(), " codex -\n") {
		t.Errorf("%s", out.String())
	}
	if !both(t, roster, nil) {
		t.Error("what was kept is not used")
	}
	for _, where := range []string{"XDG_CACHE_HOME=" + top, "XDG_CONFIG_HOME=" + top} {
		both(t, roster, []string{where})
	}
	write(spec, "package aisync\n\nhosts: here: runtimes: claude: {}\n// no catalog: here\n")
	if both(t, roster, nil) {
		t.Error("answered before the changed spec was evaluated")
	}
}

// The role begins after a little more, too.
func TestQuickRoleStartsBeforeMostPackages(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "detect", "--role")
	cmd.Args[0] = "aisync"
	cmd.Dir, cmd.Env = t.TempDir(), []string{"HOME=" + t.TempDir(), "AI_HELPER=1", "AI_AGENT_ID=x", "GODEBUG=inittrace=1"}
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if out, err := cmd.Output(); err != nil || string(out) != "helper\n" {
		t.Fatalf("%q %v\n%s", out, err, trace.String())
	}
	if s := trace.String(); !strings.Contains(s, "init encoding/json ") || strings.Contains(s, "init github.com/spf13/cobra ") {
		t.Errorf("it comes late:\n%s", s)
	}
}

// The short commands of the ledger begin after a little more, and still before
// most of what takes long.
func TestQuickClaimStartsBeforeMostPackages(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	call := func(words ...string) (out, errs string) {
		t.Helper()
		cmd := exec.Command(program, words...)
		cmd.Args[0] = "ensemble"
		cmd.Dir, cmd.Env = dir, []string{"USER=me", "GODEBUG=inittrace=1"}
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		if err := cmd.Run(); err != nil {
			t.Fatalf("%q: %v\n%s%s", words, err, o.String(), e.String())
		}
		return o.String(), e.String()
	}
	late := func(trace string) bool { return strings.Contains(trace, "init github.com/spf13/cobra ") }
	for _, words := range [][]string{{"init"}, {"claim", "src/x.go"}, {"note", "begun"}, {"inbox"}, {"release", "src/x.go"}} {
		if out, trace := call(words...); out == "" || late(trace) || !strings.Contains(trace, "init regexp ") {
			t.Errorf("%q: %q\n%s", words, out, trace)
		}
	}
	if out, trace := call("overview"); out == "" || !late(trace) {
		t.Errorf("an overview, which may take memory, does not come late: %q", out)
	}
	if out, trace := call("claim", "src/x.go", "--wait=1"); out == "" || !late(trace) {
		t.Errorf("a claim that may wait does not come late: %q", out)
	}
}

// The rest of the program takes three times as long to begin as these answers
// take: what is needed for them must not come to import what begins late.
func TestAnswersComeBeforeTheRestHasBegun(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"session", "path"}, {"detect"}, {"roster"}} {
		cmd := exec.Command(program, words...)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"HOME=" + t.TempDir(), "GODEBUG=inittrace=1"}
		var trace bytes.Buffer
		cmd.Stderr = &trace
		if out, err := cmd.Output(); err != nil || len(out) == 0 && words[0] != "roster" {
			t.Fatalf("%q: %v\n%s%s", words, err, out, trace.String())
		}
		if !strings.Contains(trace.String(), "init encoding/json ") {
			t.Fatalf("%q: there is no trace of what began:\n%s", words, trace.String())
		}
		for _, late := range []string{"github.com/cockroachdb/apd/v3", "path/filepath", "regexp", "google.golang.org/protobuf/types/descriptorpb"} {
			if strings.Contains(trace.String(), "init "+late+" ") {
				t.Errorf("%q: %s began first; which import of cmd/aisync/quick waits for it, or comes as late?\ngo list -deps ./cmd/aisync/quick", words, late)
			}
		}
	}
}

// TestHooksComeBeforeTheRestHasBegun: a program waits for its hooks.
func TestHooksComeBeforeTheRestHasBegun(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	early, tool := []string{"github.com/cockroachdb/apd/v3", "path/filepath", "regexp", "mvdan.cc/sh/v3/fileutil", "aisync.dev/aisync/internal/gitrepo"}, []string{"github.com/spf13/cobra", "google.golang.org/protobuf/types/descriptorpb"}
	for _, c := range []struct {
		event, input string
		late         []string
	}{
		{"SessionStart", `{"session_id":"one"}`, early},
		{"Stop", `{"session_id":"one"}`, early},
		{"PostToolUse", `{"session_id":"one","tool_name":"Bash","tool_input":{"command":"make"}}`, early},
		{"PreToolUse", `{"session_id":"one","tool_name":"Edit","tool_input":{"file_path":"x"}}`, early},
		{"PreToolUse", `{"session_id":"one","tool_name":"Bash","tool_input":{"command":"make 2>&1"}}`, early},
		{"PreToolUse", `{"session_id":"one","tool_name":"Bash","tool_input":{"command":"make >log"}}`, tool},
	} {
		event := c.event
		cmd := exec.Command(program, "hook", event, "--runtime", "claude")
		cmd.Dir, cmd.Env = t.TempDir(), []string{"HOME=" + t.TempDir(), "GODEBUG=inittrace=1"}
		cmd.Stdin = strings.NewReader(c.input)
		var trace bytes.Buffer
		cmd.Stderr = &trace
		if err := cmd.Run(); err != nil || !strings.Contains(trace.String(), "init encoding/json ") || !strings.Contains(trace.String(), ".pi-ensemble is missing") {
			t.Fatalf("%s: %v\n%s", event, err, trace.String())
		}
		for _, late := range c.late {
			if strings.Contains(trace.String(), "init "+late+" ") {
				t.Errorf("%s: %s began first; which import of cmd/aisync/quick/hook waits for it, or comes as late?", event, late)
			}
		}
	}
}
