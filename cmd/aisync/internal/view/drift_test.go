package view

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"aisync.dev/aisync/app/drift"
)

func TestNothingThatWasFoundEndsAWorkflowCommand(t *testing.T) {
	v := &drift.Report{Drift: []drift.Difference{{File: "a,b:c%.md"}}}
	v.Drift[0].Address, v.Drift[0].Meaning = "file:a,b:c%.md", "edited\r\n::stop-commands::x\n\x1b[31m100%"
	var out bytes.Buffer
	GitHub(v, &out)
	want := "::error file=a%2Cb%3Ac%25.md,title=aisync drift::file:a,b:c%25.md: edited\\x0d%0A::stop-commands::x%0A\\x1b[31m100%25\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

func TestReportsPointIntoTheRepositoryAndEscapeNames(t *testing.T) {
	v := &drift.Report{Prefix: "tools/x/", Drift: []drift.Difference{{File: "a b/ü?.md", Line: 3}}, Unknown: []drift.Difference{{}}}
	v.Drift[0].Address, v.Drift[0].Meaning = "file:a b/ü?.md", "edited"
	v.Unknown[0].Address, v.Unknown[0].Meaning = "gitconfig:core.hooksPath", "no git"
	b, err := json.Marshal(SARIF("1", v))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"uri":"tools/x/a%20b/%C3%BC%3F.md"`, `"startLine":3`, `"executionSuccessful":false`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	var out bytes.Buffer
	if err := Junit(&out, SuiteOf(v, "x\x00<>")); err != nil {
		t.Fatal(err)
	}
	var suites JunitSuites
	if err := xml.Unmarshal(out.Bytes(), &suites); err != nil || suites.Errors != 1 || suites.Failures != 1 {
		t.Errorf("%v\n%s", err, out.String())
	}
}
