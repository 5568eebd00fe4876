package main

import (
	"os"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"aisync.dev/aisync/app/stack"
)

// sourceCommand makes what serve hands out the source of the contract's
// project: source PATH, where PATH may end in //FOLDER.
func sourceCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: source PATH")
	}
	file := filepath.Join(ts.Getenv("CONTRACT"), "project", "aisync.cue")
	text := regexp.MustCompile(`rulesets: "[^"]*"`).ReplaceAllString(ts.ReadFile(file), `rulesets: "`+ts.Getenv("WWW")+"/"+args[0]+`"`)
	ts.Check(os.WriteFile(file, []byte(text), 0o644))
}

// refusedCommand wants that source PATH cannot be pinned, and that the reason
// matches: refused PATH PATTERN.
func refusedCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: refused PATH PATTERN")
	}
	sourceCommand(ts, false, args[:1])
	lock := filepath.Join(ts.Getenv("CONTRACT"), "project", stack.LockName)
	before := ts.ReadFile(lock)
	wantCode(ts, false, []string{"1", "aisync", "lock", "--update", "rulesets", "--scope", "project"})
	if said := ts.ReadFile("stderr"); !regexp.MustCompile(args[1]).MatchString(said) {
		ts.Fatalf("%s: %s", args[0], said)
	}
	if ts.ReadFile(lock) != before {
		ts.Fatalf("%s: the lock was changed", args[0])
	}
}
