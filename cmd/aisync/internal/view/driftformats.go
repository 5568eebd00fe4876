package view

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"aisync.dev/aisync/app/drift"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// GitHub prints workflow commands, which annotate the lines of a pull request. It
// escapes what was found, so that no text can begin another command.
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
func GitHub(v *drift.Report, w io.Writer) {
	for _, s := range Sections(v) {
		level := "error"
		if s.Word == "pending" {
			level = "warning"
		}
		for _, f := range s.List {
			properties := "title=" + githubProperty("aisync "+s.Word)
			if file, line, ok := v.At(f); ok && line > 0 {
				properties = fmt.Sprintf("file=%s,line=%d,%s", githubProperty(file), line, properties)
			} else if ok {
				properties = fmt.Sprintf("file=%s,%s", githubProperty(file), properties)
			}
			fmt.Fprintf(w, "::%s %s::%s\n", level, properties, githubData(termtext.SafeLines(message(f))))
		}
	}
	if v.NotChecked != "" {
		fmt.Fprintf(w, "::notice title=aisync pending::%s\n", githubData("not checked: "+v.NotChecked))
	}
}

func githubData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func githubProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

type object = map[string]any

// SARIF returns a SARIF 2.1.0 log with one run for each of views.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
func SARIF(version string, views ...*drift.Report) any {
	runs := make([]object, len(views))
	for i, v := range views {
		runs[i] = sarifRun(v, version)
	}
	return sarifLog(runs...)
}

func sarifLog(runs ...object) any {
	return object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": runs}
}

// sarifRules are the kinds of findings, in the order of sections.
var sarifRules = []object{
	{"id": "drift", "shortDescription": object{"text": "not as aisync last made it"}, "defaultConfiguration": object{"level": "error"}},
	{"id": "pending", "shortDescription": object{"text": "not yet what the spec asks for"}, "defaultConfiguration": object{"level": "warning"}},
	{"id": "unknown", "shortDescription": object{"text": "cannot be observed"}, "defaultConfiguration": object{"level": "error"}},
}

func sarifRun(v *drift.Report, version string) object {
	results := []object{}
	for rule, s := range Sections(v) {
		for _, f := range s.List {
			results = append(results, object{
				"ruleId": s.Word, "ruleIndex": rule, "level": sarifRules[rule]["defaultConfiguration"].(object)["level"],
				"message":             object{"text": termtext.SafeLines(message(f))},
				"locations":           []object{sarifLocation(v, f)},
				"partialFingerprints": object{"address/v1": string(f.Address)},
			})
		}
	}
	how := object{"executionSuccessful": len(v.Unknown) == 0}
	if v.NotChecked != "" {
		how["toolExecutionNotifications"] = []object{{"level": "note", "message": object{"text": "pending: not checked: " + v.NotChecked}}}
	}
	return object{
		"tool":        object{"driver": object{"name": "aisync", "version": version, "rules": sarifRules}},
		"invocations": []object{how},
		"results":     results,
	}
}

func sarifLocation(v *drift.Report, f drift.Difference) object {
	where := object{"logicalLocations": []object{{"fullyQualifiedName": string(f.Address), "kind": "resource"}}}
	if file, line, ok := v.At(f); ok {
		artifact := object{"uri": (&url.URL{Path: file}).String(), "uriBaseId": "%SRCROOT%"}
		if path.IsAbs(file) {
			artifact = object{"uri": (&url.URL{Scheme: "file", Path: file}).String()}
		}
		place := object{"artifactLocation": artifact}
		if line > 0 {
			place["region"] = object{"startLine": line}
		}
		where["physicalLocation"] = place
	}
	return where
}

// A JUnit report, as CI systems read it: there is no standard but
// https://github.com/testmoapp/junitxml.
type (
	JunitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []JunitSuite `xml:"testsuite"`
	}
	JunitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		File    string       `xml:"file,attr,omitempty"`
		Line    int          `xml:"line,attr,omitempty"`
		Failure *junitDetail `xml:"failure,omitempty"`
		Error   *junitDetail `xml:"error,omitempty"`
		Skipped *junitDetail `xml:"skipped,omitempty"`
	}
	junitDetail struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// SuiteOf is v as one failed case a difference, and one that stands for
// everything in order.
func SuiteOf(v *drift.Report, name string) JunitSuite {
	out := JunitSuite{Name: name}
	for _, s := range Sections(v) {
		for _, f := range s.List {
			c := junitCase{Class: "aisync." + s.Word, Name: termtext.Safe(string(f.Address))}
			if file, line, ok := v.At(f); ok {
				c.File, c.Line = termtext.Safe(file), line
			}
			detail := &junitDetail{termtext.Safe(f.Meaning), s.Word, termtext.SafeLines(message(f))}
			if s.Word == "unknown" {
				c.Error, out.Errors = detail, out.Errors+1
			} else {
				c.Failure, out.Failures = detail, out.Failures+1
			}
			out.Cases = append(out.Cases, c)
		}
	}
	if rest := v.Checked - len(out.Cases); rest > 0 || len(out.Cases) == 0 {
		out.Cases = append(out.Cases, junitCase{Class: "aisync.drift", Name: quantity.Count(max(rest, 0), "resource") + " in order"})
	}
	if v.NotChecked != "" {
		out.Cases = append(out.Cases, junitCase{Class: "aisync.pending", Name: "pending", Skipped: &junitDetail{Message: termtext.Safe("not checked: " + v.NotChecked)}})
		out.Skipped++
	}
	out.Tests = len(out.Cases)
	return out
}

// Junit prints suites as one report.
func Junit(w io.Writer, suites ...JunitSuite) error {
	out := JunitSuites{Name: "aisync drift", Suites: suites}
	for _, s := range suites {
		out.Tests, out.Failures, out.Errors = out.Tests+s.Tests, out.Failures+s.Failures, out.Errors+s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
