package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

const document = `# Guarantees

<!-- proof:begin -->
| # | guarantee | tests | tried | seconds |
|--:|---|--:|---|--:|
| 1 | It holds | 1 | 5 kills | 0.1 |
| 2 | So does this | 1 |  | 0.1 |
<!-- proof:end -->

## 1. It holds

- ` + "`TestHolds`, `holds.txtar`, `TestHolds`" + `

## 2. So does this

- ` + "`FuzzIt`" + `
`

func TestRowsAreTheSectionsOfTheDocument(t *testing.T) {
	rows, err := readRows(document)
	if err != nil || len(rows) != 2 || rows[0].title != "It holds" || !slices.Equal(rows[0].names, []string{"TestHolds", "holds.txtar"}) {
		t.Fatalf("%+v, %v", rows, err)
	}
	for what, doc := range map[string]string{
		"a section without a test": "## 1. A\n\nnothing\n",
		"a number left out":        "## 1. A\n`TestA`\n## 3. B\n`TestB`\n",
		"no section":               "# A\n",
	} {
		if rows, err := readRows(doc); err == nil {
			t.Errorf("%s: %+v", what, rows)
		}
	}
	if err := sameRows(document, rows); err != nil {
		t.Error(err)
	}
	for what, doc := range map[string]string{
		"a row too many":      strings.Replace(document, "<!-- proof:end", "| 3 | Gone | 1 |  | 0 |\n<!-- proof:end", 1),
		"a row of other text": strings.Replace(document, "| It holds |", "| It held |", 1),
		"no table":            strings.Replace(document, "<!-- proof:begin -->", "", 1),
	} {
		if sameRows(doc, rows) == nil {
			t.Errorf("%s is the document's table", what)
		}
	}
}

func TestFiguresAreOfTheLinesThatTestsPrint(t *testing.T) {
	events := `{"Action":"output","Test":"TestHolds","Output":"proof: 1/TestHolds kills=1200 faults=7 seconds=3.0\n"}
{"Action":"output","Test":"TestHolds/part","Output":"    x_test.go:1: proof: kills=34\n"}
{"Action":"run","Test":"TestHolds/part"}
{"Action":"run","Test":"TestHolds/part/of_it"}
{"Action":"run","Test":"TestHolds/part/too"}
{"Action":"pass","Test":"TestHolds/part/of_it","Elapsed":1}
{"Action":"pass","Test":"TestHolds/part/too","Elapsed":1}
{"Action":"pass","Test":"TestHolds/part","Elapsed":1}
{"Action":"pass","Test":"FuzzIt/seed#0","Elapsed":1}
{"Action":"pass","Test":"TestHolds","Elapsed":2.5}
{"Action":"pass","Test":"TestScripts","Elapsed":9}
{"Action":"pass","Test":"TestScripts/holds","Elapsed":0.5}
{"Action":"output","Test":"FuzzIt","Output":"fuzz: elapsed: 3s, execs: 1000 (3/sec), new interesting: 1 (total: 2)\n"}
{"Action":"output","Test":"FuzzIt","Output":"fuzz: elapsed: 6s, execs: 2500 (3/sec), new interesting: 1 (total: 2)\n"}
{"Action":"pass","Test":"FuzzIt","Elapsed":6}
`
	rows, err := readRows(document)
	if err != nil {
		t.Fatal(err)
	}
	all := results{}
	if _, err := collect(all, strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	want := `| # | guarantee | tests | tried | seconds |
|--:|---|--:|---|--:|
| 1 | It holds | 2 | 2 cases, 7 faults, 1,234 kills | 3.0 |
| 2 | So does this | 1 | 2,500 inputs, 1 seeds | 6.0 |
`
	if got := table(rows, all); got != want {
		t.Errorf("the table is\n%s", got)
	}
	if err := judge(rows, all, io.Discard); err != nil {
		t.Error(err)
	}
	if out, err := withTable(document, want); err != nil || sameRows(out, rows) != nil || !strings.Contains(out, want) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestATargetWhoseTimeWasOverDidNotFail(t *testing.T) {
	over := `{"Action":"output","Package":"x","Test":"FuzzIt","Output":"--- FAIL: FuzzIt (10.08s)\n"}
{"Action":"output","Package":"x","Test":"FuzzIt","Output":"    context deadline exceeded\n"}
`
	end := `{"Action":"fail","Package":"x","Test":"FuzzIt"}
{"Action":"fail","Package":"x"}
`
	for text, failed := range map[string]int{
		over + end: 0,
		over + `{"Action":"output","Package":"x","Test":"FuzzIt","Output":"    Failing input written to testdata/fuzz/FuzzIt/1\n"}` + "\n" + end: 1,
		strings.ReplaceAll(over+end, "FuzzIt", "TestIt"): 1,
	} {
		all := results{}
		if _, err := collect(all, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if got := all.of("FuzzIt").failed + all.of("TestIt").failed; got != failed || all.of("x").failed != 0 {
			t.Errorf("%d failed, want %d:\n%s", got, failed, text)
		}
	}
}

func TestWhatDidNotPassProvesNothing(t *testing.T) {
	rows, err := readRows(document)
	if err != nil {
		t.Fatal(err)
	}
	for what, last := range map[string]string{
		"failed":       `{"Action":"fail","Test":"FuzzIt"}`,
		"a part of it": `{"Action":"fail","Test":"FuzzIt/seed"}` + "\n" + `{"Action":"pass","Test":"FuzzIt"}`,
		"skipped":      `{"Action":"skip","Test":"FuzzIt"}`,
		"never ran":    ``,
		"no build":     `{"Action":"pass","Test":"FuzzIt"}` + "\n" + `{"Action":"fail","Package":"x"}`,
	} {
		all := results{}
		text := `{"Action":"pass","Test":"TestHolds"}` + "\n" + `{"Action":"pass","Test":"TestScripts/holds"}` + "\n" + last
		if _, err := collect(all, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if judge(rows, all, io.Discard) == nil {
			t.Errorf("%s, and all is proved", what)
		}
	}
}
