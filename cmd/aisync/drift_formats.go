package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// github prints workflow commands, which annotate the lines of a pull request.
// Nothing of what was found can end a command and begin another.
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
func (v *driftView) github(w io.Writer) {
	for _, s := range v.sections() {
		level := "error"
		if s.word == "pending" {
			level = "warning"
		}
		for _, f := range s.list {
			properties := "title=" + githubProperty("aisync "+s.word)
			if file, line, ok := v.at(f); ok && line > 0 {
				properties = fmt.Sprintf("file=%s,line=%d,%s", githubProperty(file), line, properties)
			} else if ok {
				properties = fmt.Sprintf("file=%s,%s", githubProperty(file), properties)
			}
			fmt.Fprintf(w, "::%s %s::%s\n", level, properties, githubData(termtext.SafeLines(f.message())))
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

// sarif returns a SARIF 2.1.0 log with one run for each of views.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
func sarif(version string, views ...*driftView) any {
	runs := make([]object, len(views))
	for i, v := range views {
		runs[i] = v.sarifRun(version)
	}
	return object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": runs}
}

// sarifRules are the kinds of findings, in the order of sections.
var sarifRules = []object{
	{"id": "drift", "shortDescription": object{"text": "not as aisync last made it"}, "defaultConfiguration": object{"level": "error"}},
	{"id": "pending", "shortDescription": object{"text": "not yet what the spec asks for"}, "defaultConfiguration": object{"level": "warning"}},
	{"id": "unknown", "shortDescription": object{"text": "cannot be observed"}, "defaultConfiguration": object{"level": "error"}},
}

func (v *driftView) sarifRun(version string) object {
	results := []object{}
	for rule, s := range v.sections() {
		for _, f := range s.list {
			results = append(results, object{
				"ruleId": s.word, "ruleIndex": rule, "level": sarifRules[rule]["defaultConfiguration"].(object)["level"],
				"message":             object{"text": termtext.SafeLines(f.message())},
				"locations":           []object{v.sarifLocation(f)},
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

func (v *driftView) sarifLocation(f difference) object {
	where := object{"logicalLocations": []object{{"fullyQualifiedName": string(f.Address), "kind": "resource"}}}
	if file, line, ok := v.at(f); ok {
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
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
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

// junitSuite is v as one failed case a difference, and one that stands for
// everything in order.
func (v *driftView) junitSuite(name string) junitSuite {
	out := junitSuite{Name: name}
	for _, s := range v.sections() {
		for _, f := range s.list {
			c := junitCase{Class: "aisync." + s.word, Name: termtext.Safe(string(f.Address))}
			if file, line, ok := v.at(f); ok {
				c.File, c.Line = termtext.Safe(file), line
			}
			detail := &junitDetail{termtext.Safe(f.Meaning), s.word, termtext.SafeLines(f.message())}
			if s.word == "unknown" {
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

// junit prints suites as one report.
func junit(w io.Writer, suites ...junitSuite) error {
	out := junitSuites{Name: "aisync drift", Suites: suites}
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
