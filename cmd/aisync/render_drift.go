package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"aisync.dev/aisync/reconcile"
)

// driftView is what drift reports. Its JSON is documented in docs/json.md.
type driftView struct {
	FormatVersion string            `json:"format_version"`
	Drift         []difference      `json:"drift"`
	Pending       []difference      `json:"pending"`
	Unknown       []difference      `json:"unknown"`
	Ignored       int               `json:"ignored"`
	Checked       int               `json:"checked"`               // resources looked at
	NotSetUp      int               `json:"not_set_up"`            // what git does not carry and no apply made here
	NotChecked    string            `json:"not_checked,omitempty"` // why pending could not be told
	Owners        []reconcile.Owner `json:"owners"`
	Notes         []reconcile.Note  `json:"notes"`
}

// difference is a resource that is not as it should be, with the place in it.
type difference struct {
	reconcile.ChangeDoc
	File string `json:"file"` // relative to the project, or with ~ in the host's home
	Line int    `json:"line"` // of the first place; 0 where there is none
	// Places are the parts of the file that differ.
	Places []spot `json:"places,omitempty"`
}

// spot is one owned part of a file, and what is wrong there.
type spot struct {
	Key  reconcile.LeafKey `json:"key"`
	Line int               `json:"line"`
	Text string            `json:"text"`
}

func (f difference) place() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.File
}

// sections are the findings with the word for them.
func (v *driftView) sections() []section {
	return []section{{"drift", v.Drift}, {"pending", v.Pending}, {"unknown", v.Unknown}}
}

type section struct {
	word string
	list []difference
}

// text prints v for people.
func (v *driftView) text(w io.Writer, p painter, mode diffMode) {
	for _, s := range v.sections() {
		for _, f := range s.list {
			word := s.word
			switch word {
			case "drift":
				word = p.red(word)
			case "pending":
				word = p.yellow(word)
			default:
				word = p.cyan(word)
			}
			fmt.Fprintf(w, "%s  %s  %s%s\n", word, p.bold(safe(f.place())), safe(f.Meaning), p.dim(from(f.Origin)))
			if len(f.Places) > 1 {
				for _, at := range f.Places {
					fmt.Fprintf(w, "      %s:%d: %s\n", safe(f.File), at.Line, safe(at.Text))
				}
			}
			if !wholeText(f.ChangeDoc) || mode == diffFull {
				renderDiff(w, p, f.Lines, mode, "      ", "aisync drift")
			}
		}
	}
	for _, n := range v.Notes {
		if n.Warning {
			fmt.Fprintln(w, p.yellow("warning: ")+safe(n.Text)+p.dim(from(n.Origin)))
		}
	}
	if v.NotChecked != "" {
		fmt.Fprintln(w, "pending: not checked: "+safe(v.NotChecked))
	}
	if v.NotSetUp > 0 {
		fmt.Fprintf(w, "%s that git does not carry %s not set up on this machine (aisync apply does it).\n", plural(v.NotSetUp, "resource"), areOrIs(v.NotSetUp))
	}
	switch {
	case len(v.Drift)+len(v.Pending)+len(v.Unknown) == 0 && v.NotChecked == "":
		fmt.Fprintf(w, "No drift, nothing pending: %s in order.\n", plural(v.Checked, "resource"))
	case len(v.Drift)+len(v.Pending)+len(v.Unknown) == 0:
		fmt.Fprintf(w, "No drift: %s as recorded.\n", plural(v.Checked, "resource"))
	default:
		fmt.Fprintln(w, p.bold(fmt.Sprintf("%d drifted, %d pending, %d unknown of %s.", len(v.Drift), len(v.Pending), len(v.Unknown), plural(v.Checked, "resource"))))
	}
}

func areOrIs(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// github prints workflow commands, which annotate the lines of a pull request.
func (v *driftView) github(w io.Writer) {
	for _, s := range v.sections() {
		level := "error"
		if s.word == "pending" {
			level = "warning"
		}
		for _, f := range s.list {
			where := "file=" + githubProperty(f.File)
			if f.Line > 0 {
				where += fmt.Sprintf(",line=%d", f.Line)
			}
			fmt.Fprintf(w, "::%s %s,title=%s::%s\n", level, where, githubProperty("aisync "+s.word), githubData(f.message()))
		}
	}
	if v.NotChecked != "" {
		fmt.Fprintf(w, "::notice title=aisync pending::%s\n", githubData("not checked: "+v.NotChecked))
	}
}

// message is one difference in one text.
func (f difference) message() string {
	text := string(f.Address) + ": " + f.Meaning + from(f.Origin)
	for i, l := range f.Lines {
		if i == diffLines {
			return text + fmt.Sprintf("\n… %s", plural(len(f.Lines)-i, "more line"))
		}
		op := string(rune(l.Op))
		if l.Op == '@' {
			op = ""
		}
		text += "\n" + op + l.Text
	}
	return text
}

func githubData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func githubProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// sarif returns v as a SARIF 2.1.0 log.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
func (v *driftView) sarif(version string) any {
	type object = map[string]any
	results := []object{}
	for _, s := range v.sections() {
		level := "error"
		if s.word == "pending" {
			level = "warning"
		}
		for _, f := range s.list {
			place := object{"artifactLocation": object{"uri": f.File}}
			if f.Line > 0 {
				place["region"] = object{"startLine": f.Line}
			}
			results = append(results, object{
				"ruleId": s.word, "level": level,
				"message":             object{"text": f.message()},
				"locations":           []object{{"physicalLocation": place}},
				"partialFingerprints": object{"address/v1": string(f.Address)},
			})
		}
	}
	rule := func(id, text string) object { return object{"id": id, "shortDescription": object{"text": text}} }
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool": object{"driver": object{"name": "aisync", "version": version, "rules": []object{
				rule("drift", "not as aisync last made it"),
				rule("pending", "not yet what the spec asks for"),
				rule("unknown", "cannot be observed"),
			}}},
			"results": results,
		}},
	}
}

// junit prints v as a JUnit report: one failed case a difference, and one that
// stands for everything in order.
func (v *driftView) junit(w io.Writer) error {
	type failure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	type testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		File    string   `xml:"file,attr,omitempty"`
		Failure *failure `xml:"failure,omitempty"`
	}
	type suite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	out := suite{Name: "aisync drift"}
	for _, s := range v.sections() {
		for _, f := range s.list {
			out.Cases = append(out.Cases, testCase{"aisync." + s.word, string(f.Address), f.File, &failure{safe(f.Meaning), s.word, safeLines(f.message())}})
		}
	}
	out.Failures = len(out.Cases)
	if rest := v.Checked - out.Failures; rest > 0 || out.Failures == 0 {
		out.Cases = append(out.Cases, testCase{Class: "aisync.drift", Name: plural(max(rest, 0), "resource") + " in order"})
	}
	out.Tests = len(out.Cases)
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
