package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unsteady is what differs from run to run, and what a page of the docs has for it.
type unsteady []struct {
	pattern *regexp.Regexp
	is      string
}

func (v unsteady) settle(text string) string {
	for _, one := range v {
		text = one.pattern.ReplaceAllString(text, one.is)
	}
	return text
}

// walk runs the commands of a page's walks, which are one session: types gives
// each to a shell and returns what it prints, settled makes that what any other
// run prints. The page has to be as it is then; -update makes it so.
func walk(t *testing.T, page, doc string, types, settled func(string) string) {
	t.Helper()
	asOnPage(t, page, doc, walked(t, page, doc, types, settled))
}

// walked returns doc, a page or a part of it, with what its walks print.
func walked(t *testing.T, page, doc string, types, settled func(string) string) string {
	t.Helper()
	commands := 0
	is := regexp.MustCompile("(?ms)^````walk\n.*?^````$").ReplaceAllStringFunc(doc, func(block string) string {
		var got strings.Builder
		for line := range strings.Lines(block) {
			command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ ")
			if !ok {
				continue // what a command prints
			}
			commands++
			got.WriteString(line)
			out := types(command)
			got.WriteString(out)
			if out != "" && !strings.HasSuffix(out, "\n") {
				got.WriteString("\n")
			}
		}
		return "````walk\n" + settled(got.String()) + "````"
	})
	if commands < 15 {
		t.Errorf("%s: only %d commands were found", page, commands)
	}
	return is
}

// asOnPage fails where a page is not what it shall be; -update makes it so.
func asOnPage(t *testing.T, page, doc, is string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(page, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if is != doc {
		t.Errorf("%s is not true (-want +got; if it is right, run the test with -update):\n%s", page, cmp.Diff(doc, is))
	}
}
