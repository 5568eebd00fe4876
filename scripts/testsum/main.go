// Testsum reads the output of `go test -json` and prints what a person wants
// of it: Go's own line for each package, the whole output of what failed or was
// skipped, and a count. It exits 1 if anything failed, nothing ran, or a test
// was skipped that the list of -skips does not excuse.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const module = "aisync.dev/aisync/"

func main() {
	list := flag.String("skips", "", "`file` of the tests that may be skipped: package, test, reason; none: every test may")
	flag.Parse()
	excused, err := readSkips(*list)
	if err == nil {
		var ok bool
		if ok, err = sum(os.Stdin, os.Stdout, excused); ok && err == nil {
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

// sum reports whether something ran and all is well.
func sum(in io.Reader, out io.Writer, excused map[string]bool) (ok bool, err error) {
	passed, failed, skipped := 0, 0, 0
	bad := false
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
			bad = true
		case "pass", "skip":
			if e.Test != "" && e.Action == "pass" {
				passed++
			} else if e.Test != "" {
				skipped++
				fmt.Fprint(out, strings.Join(output[key], ""))
				if excused != nil && !excused[key] {
					unexcused = append(unexcused, key)
				}
			}
			delete(output, key)
		case "fail":
			bad = true
			if e.Test != "" {
				failed++
				fmt.Fprint(out, strings.Join(output[key], ""))
			}
			delete(output, key)
		}
	}
	for key, lines := range output { // a test that never ended: a panic or a time-out
		bad = true
		fmt.Fprintf(out, "%s did not end:\n%s", key, strings.Join(lines, ""))
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	for _, key := range unexcused {
		fmt.Fprintf(out, "skipped, and not among those that may be: %s\n", key)
	}
	return !bad && failed == 0 && passed > 0 && len(unexcused) == 0, lines.Err()
}

// printSummary prints a line of a package as a whole, other than the bare PASS
// and the note that it has no tests.
func printSummary(out io.Writer, line string) {
	if line != "PASS\n" && !strings.Contains(line, "[no test files]") {
		fmt.Fprint(out, line)
	}
}
