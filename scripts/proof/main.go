// Proof runs the tests that docs/guarantees.md names, section by section, and
// makes the table at its top of what they tried. The document is the one place
// that says what is proved by what: a name in backticks is a test, a fuzz
// target or a script of cmd/aisync.
//
// A test tells what it tried in a line "proof: WHAT=N …" (internal/proof).
// Without -full every test runs in its short form.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	full := flag.Bool("full", false, "run the long form of each test (AISYNC_PROOF=full), fuzz, and write the table")
	fuzz := flag.Duration("fuzz", 10*time.Second, "how long each target is fuzzed with -full")
	write := flag.Bool("write", false, "write the table, of short forms too")
	only := flag.Bool("fuzz-only", false, "fuzz every target of the tree, named or not, and do nothing else")
	doc := flag.String("doc", "docs/guarantees.md", "the `document` that names the tests")
	flag.Parse()
	do := func() error { return prove(*doc, *full, *write || *full, *fuzz) }
	if *only {
		do = func() error { return fuzzOnly(*fuzz) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

func prove(doc string, full, write bool, fuzz time.Duration) error {
	text, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	rows, err := readRows(string(text))
	if err != nil {
		return err
	}
	where, err := findTests(".")
	if err != nil {
		return err
	}
	began := time.Now()
	results, err := runAll(rows, where, full, fuzz)
	if err != nil {
		return err
	}
	fmt.Print("\n", table(rows, results))
	how := "Short forms"
	if full {
		how = fmt.Sprintf("Long forms, each target fuzzed for %s", fuzz)
	}
	how += fmt.Sprintf(": %s in all.\n", time.Since(began).Round(time.Second))
	fmt.Print("\n", how)
	if err := judge(rows, results, os.Stdout); err != nil {
		return err
	}
	if !write {
		return sameRows(string(text), rows)
	}
	out, err := withTable(string(text), table(rows, results)+"\n"+how)
	if err != nil {
		return err
	}
	return os.WriteFile(doc, []byte(out), 0o644)
}

// fuzzOnly fuzzes all that can be fuzzed and prints how much was tried.
func fuzzOnly(d time.Duration) error {
	where, err := findTests(".")
	if err != nil {
		return err
	}
	r := row{n: 1, title: "every fuzz target"}
	for _, name := range slices.Sorted(maps.Keys(where)) {
		if strings.HasPrefix(name, "Fuzz") {
			r.names = append(r.names, name)
		}
	}
	all := results{}
	if err := fuzzAll(all, r.names, where, d); err != nil {
		return err
	}
	for _, name := range r.names {
		fmt.Printf("%-30s %12s inputs %8.1f s\n", name, grouped(all.of(name).tried["inputs"]), all.of(name).seconds)
	}
	return judge([]row{r}, all, os.Stdout)
}
