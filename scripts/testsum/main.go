// Testsum reads the output of `go test -json` and prints what a person wants
// of it: Go's own line for each package, the whole output of what failed or was
// skipped, and a count. It exits 1 if anything failed, nothing ran, or a test
// was skipped that the list of -skips does not excuse.
//
// With -alone, up to five tests that failed beside all the others on a busy
// machine are run once more, each alone. One that passes then is named UNSTEADY
// and fails nothing. A data race, a panic and a time-out always fail.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

const module = "aisync.dev/aisync/"

func main() {
	list := flag.String("skips", "", "`file` of the tests that may be skipped: package, test, reason; none: every test may")
	alone := flag.String("alone", "", "`command` that runs a failed test once more, before -run and its package: go test -count=5")
	flag.Parse()
	excused, err := readSkips(*list)
	if err == nil {
		var end result
		end, err = sum(os.Stdin, os.Stdout, excused)
		if err == nil && (end.ok() || *alone != "" && end.passesAlone(os.Stdout, strings.Fields(*alone))) {
			return
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
	}
	os.Exit(1)
}

// readSkips returns the "package test" that may be skipped; nil stands for all.
func readSkips(name string) (map[string]bool, error) {
	if name == "" {
		return nil, nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	excused := map[string]bool{}
	for i, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		if len(f) < 3 {
			return nil, fmt.Errorf("%s:%d: wants a package, a test and the reason", name, i+1)
		}
		excused[f[0]+" "+f[1]] = true
	}
	return excused, nil
}

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

// result tells how the tests ended.
type result struct {
	passed int
	bad    bool            // by more than a test that ran to its end and failed
	failed map[string]bool // "package test", without the tests that a failed part explains
}

func (r result) ok() bool { return r.passed > 0 && !r.bad && len(r.failed) == 0 }

// passesAlone reports whether each of the tests that failed passes alone.
func (r result) passesAlone(out io.Writer, command []string) bool {
	if r.bad || r.passed == 0 || len(r.failed) > 5 {
		return false
	}
	for _, key := range slices.Sorted(maps.Keys(r.failed)) {
		pkg, test, _ := strings.Cut(key, " ")
		said, err := exec.Command(command[0], slices.Concat(command[1:], []string{"-run", pattern(test), pkg})...).CombinedOutput()
		if err != nil {
			fmt.Fprintf(out, "%s failed alone too: %v\n%s", key, err, said)
			return false
		}
		fmt.Fprintf(out, "UNSTEADY: %s failed beside the others and passed alone (%s)\n", key, strings.Join(command, " "))
	}
	return true
}

// pattern matches a test, or a part of one, alone.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// sum reads how the tests of a run ended, and prints it.
func sum(in io.Reader, out io.Writer, excused map[string]bool) (result, error) {
	r := result{failed: map[string]bool{}}
	failed, skipped := 0, 0
	broken := map[string]bool{}     // packages that failed, until a test of theirs tells why
	output := map[string][]string{} // of a test, until it is known how it ends
	var unexcused []string
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text()) // not of go test: make, or a tool that could not start
			continue
		}
		key := strings.TrimPrefix(e.Package, module) + " " + e.Test
		switch e.Action {
		case "output":
			if e.Test == "" {
				printSummary(out, e.Output)
			} else {
				output[key] = append(output[key], e.Output)
			}
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "build-fail":
			r.bad = true
		case "pass", "skip":
			if e.Test != "" && e.Action == "pass" {
				r.passed++
			} else if e.Test != "" {
				skipped++
				fmt.Fprint(out, strings.Join(output[key], ""))
				if excused != nil && !excused[key] {
					unexcused = append(unexcused, key)
				}
			}
			delete(output, key)
		case "fail":
			if e.Test == "" {
				broken[e.Package] = true
				continue
			}
			failed++
			text := strings.Join(output[key], "")
			fmt.Fprint(out, text)
			delete(output, key)
			r.failed[e.Package+" "+e.Test] = true
			r.bad = r.bad || strings.Contains(text, "race detected") || strings.Contains(text, "panic: ")
		}
	}
	for key, lines := range output { // a test that never ended: a panic or a time-out
		r.bad = true
		fmt.Fprintf(out, "%s did not end:\n%s", key, strings.Join(lines, ""))
	}
	for key := range r.failed {
		pkg, _, _ := strings.Cut(key, " ")
		delete(broken, pkg)
		for i := strings.LastIndex(key, "/"); i > len(pkg); i = strings.LastIndex(key[:i], "/") {
			delete(r.failed, key[:i])
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", r.passed, failed, skipped)
	for _, key := range unexcused {
		fmt.Fprintf(out, "skipped, and not among those that may be: %s\n", key)
	}
	r.bad = r.bad || len(broken) > 0 || len(unexcused) > 0
	return r, lines.Err()
}

// printSummary prints a line of a package as a whole, other than the bare PASS
// and the note that it has no tests.
func printSummary(out io.Writer, line string) {
	if line != "PASS\n" && !strings.Contains(line, "[no test files]") {
		fmt.Fprint(out, line)
	}
}
