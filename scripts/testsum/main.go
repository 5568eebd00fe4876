// Testsum reads the output of `go test -json` and prints what a person wants
// of it: Go's own line for each package, the whole output of what failed, and
// a count. It exits 1 if anything failed or nothing ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

func main() {
	passed, failed, skipped := 0, 0, 0
	bad := false
	output := map[string][]string{} // of a test, until it is known how it ends
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text()) // not of go test: make, or a tool that could not start
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output":
			if e.Test == "" {
				printSummary(e.Output)
			} else {
				output[key] = append(output[key], e.Output)
			}
		case "build-output":
			fmt.Print(e.Output)
		case "build-fail":
			bad = true
		case "pass", "skip":
			if e.Test != "" && e.Action == "pass" {
				passed++
			} else if e.Test != "" {
				skipped++
				fmt.Print(strings.Join(output[key], ""))
			}
			delete(output, key)
		case "fail":
			bad = true
			if e.Test != "" {
				failed++
				fmt.Print(strings.Join(output[key], ""))
			}
			delete(output, key)
		}
	}
	for key, lines := range output { // a test that never ended: a panic or a time-out
		fmt.Printf("%s did not end:\n%s", key, strings.Join(lines, ""))
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		bad = true
	}
	if bad || failed > 0 || passed == 0 {
		os.Exit(1)
	}
}

// printSummary prints a line of a package as a whole, other than the bare PASS
// and the note that it has no tests.
func printSummary(line string) {
	if line != "PASS\n" && !strings.Contains(line, "[no test files]") {
		fmt.Print(line)
	}
}
