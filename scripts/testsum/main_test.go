package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// told is what go test -json says of one test that ended in a way.
func told(test, action string) string {
	at := `"Package":"aisync.dev/aisync/some/where","Test":"` + test + `"`
	return `{"Action":"output",` + at + `,"Output":"what ` + test + ` says\n"}` + "\n" + `{"Action":"` + action + `",` + at + "}\n"
}

func TestOnlyWhatIsExcusedMayBeSkipped(t *testing.T) {
	list := filepath.Join(t.TempDir(), "skips")
	if err := os.WriteFile(list, []byte("# why\n\nsome/where TestOld needs a thing\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	excused, err := readSkips(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   string
		ok   bool
		says string
	}{
		{told("TestA", "pass"), true, "1 passed, 0 failed, 0 skipped\n"},
		{told("TestA", "pass") + told("TestOld", "skip"), true, "what TestOld says\n1 passed, 0 failed, 1 skipped\n"},
		{told("TestA", "pass") + told("TestNew", "skip"), false, "skipped, and not among those that may be: some/where TestNew\n"},
		{told("TestOld", "skip"), false, "0 passed"},
		{told("TestA", "pass") + told("TestB", "fail"), false, "what TestB says\n1 passed, 1 failed"},
		{told("TestA", "pass") + told("TestB", "run"), false, "TestB did not end"},
		{"make: *** no rule\n", false, "no rule"},
	} {
		var out strings.Builder
		end, err := sum(strings.NewReader(c.in), &out, excused)
		if ok := end.ok(); err != nil || ok != c.ok || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s gives %v (error %v):\n%s", c.in, end, err, &out)
		}
	}
	var out strings.Builder
	if end, err := sum(strings.NewReader(told("TestA", "pass")+told("TestNew", "skip")), &out, nil); !end.ok() || err != nil {
		t.Errorf("without a list every test may be skipped: %v, error %v", end, err)
	}
}

func TestWhatFailedRunsOnceMoreAlone(t *testing.T) {
	end := func(more string) result {
		t.Helper()
		r, err := sum(strings.NewReader(told("TestA", "pass")+more), io.Discard, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole := `{"Action":"fail","Package":"aisync.dev/aisync/some/where"}` + "\n"
	other := `{"Action":"fail","Package":"aisync.dev/aisync/else/where"}` + "\n"
	says := func(text string) string {
		return `{"Action":"output","Package":"p","Test":"TestR","Output":"` + text + `\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestR"}` + "\n"
	}
	many := ""
	for _, name := range strings.Fields("TestB TestC TestD TestE TestF TestG") {
		many += told(name, "fail")
	}
	for _, c := range []struct {
		name, in, command string
		want              bool
	}{
		{"a test that passes alone", told("TestB/part", "fail") + told("TestB", "fail") + whole, "true", true},
		{"a test that fails alone too", told("TestB", "fail") + whole, "false", false},
		{"a data race", says("    testing.go:1617: race detected during execution of test"), "true", false},
		{"a panic", says("panic: runtime error"), "true", false},
		{"a test that did not end", told("TestB", "fail") + told("TestC", "run"), "true", false},
		{"a package that failed without a test", told("TestB", "fail") + whole + other, "true", false},
		{"more tests than bad luck has", many + whole, "true", false},
	} {
		var out strings.Builder
		if got := end(c.in).passesAlone(&out, []string{c.command}); got != c.want {
			t.Errorf("%s: %v\n%s", c.name, got, &out)
		} else if got && out.String() != "UNSTEADY: aisync.dev/aisync/some/where TestB/part failed beside the others and passed alone (true)\n" {
			t.Errorf("%s: it prints %q", c.name, out.String())
		}
	}
	var out strings.Builder
	if !end(told("TestB/a.b", "fail")+told("TestB", "fail")).passesAlone(&out, []string{"sh", "-c", `test "$*" = '-run ^TestB$/^a\.b$ aisync.dev/aisync/some/where'`, "sh"}) {
		t.Errorf("it runs something else: %s", &out)
	}
}

func TestAnExcuseNeedsAReason(t *testing.T) {
	list := filepath.Join(t.TempDir(), "skips")
	if err := os.WriteFile(list, []byte("\nsome/where TestOld\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readSkips(list); err == nil || !strings.Contains(err.Error(), ":2: wants") {
		t.Errorf("error %v", err)
	}
	if _, err := readSkips("../../.ci/skips"); err != nil {
		t.Error(err)
	}
}
