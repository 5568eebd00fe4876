package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/realcli"
)

// outcome is what a run of tests saw, and which tests failed, without those that a
// failed part of them explains.
type outcome struct {
	seen   realcli.Seen
	failed []string
}

// tests runs the tests of internal/realcli.
type tests struct {
	cache  realcli.Cache
	short  bool
	folder string // of the compiled tests, and of what they saw
}

// newTests compiles the tests once, for all runs.
func newTests(cache realcli.Cache, short bool) (*tests, error) {
	folder, err := os.MkdirTemp("", "aisync-newest-")
	if err != nil {
		return nil, err
	}
	t := &tests{cache, short, folder}
	if out, err := exec.Command("go", "test", "-c", "-o", t.binary(), "./internal/realcli").CombinedOutput(); err != nil {
		t.close()
		return nil, fmt.Errorf("compile the tests: %w\n%s", err, out)
	}
	return t, nil
}

func (t *tests) binary() string { return filepath.Join(t.folder, "realcli.test") }

func (t *tests) close() { os.RemoveAll(t.folder) }

func (t *tests) install(ctx context.Context, p realcli.Package) error {
	return t.cache.Install(ctx, func(f string, a ...any) {}, p)
}

// run runs the tests that match pattern, but for the parts about the programs skip,
// with these versions of programs; the other programs have their pins.
func (t *tests) run(ctx context.Context, versions map[string]string, pattern string, skip []string) (outcome, error) {
	args := []string{"tool", "test2json", "-p", "realcli", t.binary(), "-test.v=test2json", "-test.count=1", "-test.timeout=3h"}
	if t.short {
		args = append(args, "-test.short")
	}
	if pattern != "" {
		args = append(args, "-test.run="+pattern)
	}
	if len(skip) > 0 {
		args = append(args, "-test.skip="+skipParts(skip))
	}
	var list []string
	for id, v := range versions {
		list = append(list, id+"="+v)
	}
	slices.Sort(list)
	seen := filepath.Join(t.folder, "seen.json")
	os.Remove(seen)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = "internal/realcli"
	cmd.Env = append(os.Environ(), realcli.VersionsVariable+"="+strings.Join(list, " "), realcli.SeenVariable+"="+seen)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return outcome{}, err
	}
	fmt.Printf("tests %s with %s\n", pattern, strings.Join(list, " "))
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	failed, tail := failures(out)
	_ = cmd.Wait() // it fails with the tests
	o := outcome{failed: failed}
	text, err := os.ReadFile(seen)
	if err == nil {
		err = json.Unmarshal(text, &o.seen)
	}
	if err != nil { // the tests did not come to their end
		return outcome{}, fmt.Errorf("tests %s with %s: %w\n%s", pattern, strings.Join(list, " "), errors.Join(err), tail)
	}
	return o, nil
}

// skipParts is a pattern of the parts of tests that have the name of one of ids, at
// any depth that there is.
func skipParts(ids []string) string {
	name := "^(" + strings.Join(ids, "|") + ")$"
	return "./" + name + "|././" + name + "|./././" + name
}

// failures reads the events of a run, prints the output of each test that failed,
// and returns the tests that failed, and the last lines that belong to no test.
func failures(in io.Reader) (failed []string, tail string) {
	output := map[string]string{}
	var loose []string
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch {
		case e.Action == "output" && e.Test == "":
			loose = append(loose, e.Output)
		case e.Action == "output":
			output[e.Test] += e.Output
		case e.Action == "fail" && e.Test != "":
			if !slices.ContainsFunc(failed, func(f string) bool { return strings.HasPrefix(f, e.Test+"/") }) {
				failed = append(failed, e.Test)
				fmt.Print(output[e.Test])
			}
			delete(output, e.Test)
		case e.Action == "pass" || e.Action == "skip":
			delete(output, e.Test)
		}
	}
	if lines.Err() != nil {
		_, _ = io.Copy(io.Discard, in)
	}
	return failed, strings.Join(loose[max(0, len(loose)-20):], "")
}

// exactly is a pattern of these tests and no other. Two tests may only differ in
// their last part: a pattern knows no other choice.
func exactly(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
