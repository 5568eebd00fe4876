package main

import (
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
		ok, err := sum(strings.NewReader(c.in), &out, excused)
		if err != nil || ok != c.ok || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s gives %v (error %v):\n%s", c.in, ok, err, &out)
		}
	}
	var out strings.Builder
	if ok, err := sum(strings.NewReader(told("TestA", "pass")+told("TestNew", "skip")), &out, nil); !ok || err != nil {
		t.Errorf("without a list every test may be skipped: %v, error %v", ok, err)
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
