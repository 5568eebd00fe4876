package session

import (
	"strings"
	"testing"
	"time"
)

const task = `* Work
** TODO [#A] Fix the parser [1/2] :code:
SCHEDULED: <2026-05-20 Wed> DEADLINE: <2026-06-01 Mon>
:PROPERTIES:
:ID:       9f1c-22
:END:

:LOGBOOK:
CLOCK: [2026-05-19 Tue 10:00]--[2026-05-19 Tue 11:00] =>  1:00
:END:
It drops tabs.
And more.

*** DONE sub
    CLOSED: [2026-05-18 Mon 09:00]
sub text
*** TODO other
** Next
`

// An edit of a heading's text or state leaves what org knows of the task.
func TestEditsKeepData(t *testing.T) {
	lines := strings.SplitAfter(task, "\n")
	data, children := strings.Join(lines[2:10], ""), strings.Join(lines[12:], "")
	const head = "* Work\n** TODO [#A] Fix the parser [1/2] :code:\n"
	for name, c := range map[string]struct {
		file, text string
		edit       Edit
		want       string
	}{
		"a body":                             {"t.org", task, Edit{Heading: "Fix the parser", Body: ptr("New.")}, head + data + "New.\n" + children},
		"no body":                            {"t.org", task, Edit{Heading: "Fix the parser", Body: ptr("")}, head + data + children},
		"a body where only data stand":       {"t.org", head + data + "** Next\n", Edit{Heading: "Fix the parser", Body: ptr("New.")}, head + data + "New.\n** Next\n"},
		"a body that begins with the data":   {"t.org", task, Edit{Heading: "Fix the parser", Body: ptr(data + "New.")}, head + data + "New.\n" + children},
		"a body with a clock line of before": {"t.org", "* A\nx\nCLOCK: [2026-05-19 Tue 10:00]\n", Edit{Heading: "A", Body: ptr("y\nCLOCK: [2026-05-19 Tue 10:00]")}, "* A\ny\nCLOCK: [2026-05-19 Tue 10:00]\n"},
		"a body that brings data":            {"t.org", "* A\nx\n", Edit{Heading: "A", Body: ptr("SCHEDULED: <2026-05-20 Wed>\ny")}, "* A\nSCHEDULED: <2026-05-20 Wed>\ny\n"},
		"an example of a drawer is text":     {"t.org", "* A\n#+begin_example\n:ID:\n:END:\n#+end_example\n", Edit{Heading: "A", Body: ptr("y")}, "* A\ny\n"},
		"a drawer that stays open is text":   {"t.org", "* A\n:ID:\nx\n", Edit{Heading: "A", Body: ptr("y")}, "* A\ny\n"},
		"a word with a colon is text":        {"t.org", "* A\nDEADLINE: soon\n", Edit{Heading: "A", Body: ptr("y")}, "* A\ny\n"},
		"CRLF":                               {"t.org", "* A\r\n:PROPERTIES:\r\n:END:\r\nx\r\n** B\r\n", Edit{Heading: "A", Body: ptr("y")}, "* A\r\n:PROPERTIES:\r\n:END:\r\ny\r\n** B\r\n"},
		"Markdown keeps sub-headings":        {"t.md", "# A\nx\n\n## B\nb\n", Edit{Heading: "A", Body: ptr("y")}, "# A\ny\n\n## B\nb\n"},
		"a body with headings, no children":  {"t.md", "# A\nx\n", Edit{Heading: "A", Body: ptr("y\n## B")}, "# A\ny\n## B\n"},
		"a state":                            {"t.org", task, Edit{Heading: "Fix the parser", State: ptr("DONE")}, strings.Replace(task, "TODO [#A]", "DONE [#A]", 1)},
		"no state":                           {"t.org", "* TODO A :x:\n", Edit{Heading: "A", State: ptr("")}, "* A :x:\n"},
		"a state where none was":             {"t.org", "* A\n", Edit{Heading: "A", State: ptr("NEXT")}, "* NEXT A\n"},
		"a title in capitals":                {"t.org", "* API design\n", Edit{Heading: "API design", State: ptr("TODO")}, "* TODO API design\n"},
		"an empty title":                     {"t.org", "* TODO\n", Edit{Heading: "* TODO", State: ptr("DONE")}, "* DONE\n"},
		"a state of the file":                {"t.org", "#+TODO: ASK(a) | GIVEN(g!)\n* ASK A\n", Edit{Heading: "A", State: ptr("GIVEN")}, "#+TODO: ASK(a) | GIVEN(g!)\n* GIVEN A\n"},
		"open again":                         {"t.org", "* DONE A\nCLOSED: [2026-05-18 Mon] DEADLINE: <2026-06-01 Mon>\nx\n", Edit{Heading: "A", State: ptr("TODO")}, "* TODO A\nDEADLINE: <2026-06-01 Mon>\nx\n"},
		"open again, nothing else planned":   {"t.org", "* DONE A\nCLOSED: [2026-05-18 Mon]\nx\n", Edit{Heading: "A", State: ptr("TODO")}, "* TODO A\nx\n"},
		"from one end to another":            {"t.org", "* DONE A\nCLOSED: [2026-05-18 Mon]\n", Edit{Heading: "A", State: ptr("CANCELLED")}, "* CANCELLED A\nCLOSED: [2026-05-18 Mon]\n"},
		"a file that logs ends":              {"t.org", "#+STARTUP: showall logdone\n* TODO A\nx\n", Edit{Heading: "A", State: ptr("DONE")}, "#+STARTUP: showall logdone\n* DONE A\nCLOSED: [2026-05-28 Thu 12:30]\nx\n"},
		"one with a plan":                    {"t.org", "#+STARTUP: logdone\n* TODO A\n  SCHEDULED: <2026-05-20 Wed>\nx\n", Edit{Heading: "A", State: ptr("DONE")}, "#+STARTUP: logdone\n* DONE A\n  CLOSED: [2026-05-28 Thu 12:30] SCHEDULED: <2026-05-20 Wed>\nx\n"},
		"a clock line is no plan":            {"t.org", "#+STARTUP: logdone\n* TODO A\nCLOCK: [2026-05-20 Wed 10:00]\n", Edit{Heading: "A", State: ptr("DONE")}, "#+STARTUP: logdone\n* DONE A\nCLOSED: [2026-05-28 Thu 12:30]\nCLOCK: [2026-05-20 Wed 10:00]\n"},
		"a state it has":                     {"t.org", "* DONE A\n", Edit{Heading: "A", State: ptr("DONE")}, "* DONE A\n"},
		"CRLF and a state":                   {"t.org", "* TODO A\r\nx\r\n", Edit{Heading: "A", State: ptr("DONE")}, "* DONE A\r\nx\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h, path := editor(t, c.file, c.text)
			c.edit.File = c.file
			tree, err := h.Apply(c.edit, clock)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); got != c.want || !strings.Contains(got, tree) {
				t.Errorf("\n%q, want\n%q", got, c.want)
			}
		})
	}
}

// What an edit would lose without a word, it refuses.
func TestEditsRefuseToLoseData(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		edit       Edit
		want       string
	}{
		"headings for a heading that has some": {"t.org", task, Edit{Heading: "Fix the parser", Body: ptr("x\n*** new")}, "has sub-headings, which stay"},
		"the same in Markdown":                 {"t.md", "# A\n## B\n", Edit{Heading: "A", Body: ptr("x\n## B")}, "has sub-headings, which stay"},
		"other data":                           {"t.org", task, Edit{Heading: "Fix the parser", Body: ptr("SCHEDULED: <2027-01-01 Fri>\nx")}, "planning lines or drawers, which stay"},
		"a drawer in the text":                 {"t.org", "* A\nx\n:NOTES:\nkeep\n:END:\n", Edit{Heading: "A", Body: ptr("y")}, `holds ":NOTES:"`},
		"a clock line in the text":             {"t.org", "* A\nx\nCLOCK: [2026-05-19 Tue 10:00]\n", Edit{Heading: "A", Body: ptr("y")}, `holds "CLOCK: [2026-05-19`},
		"a heading amid an appended text":      {"t.org", "* A\na\n*** deep\n", Edit{Heading: "A", Append: "x\n** new"}, `"*** deep" away from its heading`},
		"an unknown state":                     {"t.org", "* TODO A\n", Edit{Heading: "A", State: ptr("DNOE")}, `unknown state "DNOE"; this file has TODO, DONE`},
		"a state that the file does not have":  {"t.org", "#+TODO: ASK | GIVEN\n* ASK A\n", Edit{Heading: "A", State: ptr("DONE")}, "this file has ASK, GIVEN"},
		"the end of a task that repeats":       {"t.org", "* TODO A\nSCHEDULED: <2026-05-20 Wed .+1w>\n", Edit{Heading: "A", State: ptr("DONE")}, "repeats"},
		"a state in Markdown":                  {"t.md", "# A\n", Edit{Heading: "A", State: ptr("DONE")}, "only headings of org files"},
	} {
		t.Run(name, func(t *testing.T) {
			h, path := editor(t, c.file, c.text)
			c.edit.File = c.file
			if _, err := h.Apply(c.edit, clock); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if read(t, path) != c.text || strings.Contains(read(t, h.Path), "- [") {
				t.Errorf("something was written: %q", read(t, path))
			}
		})
	}
}

// The journal has the lines that an edit changes or takes away, as they were.
func TestJournalHasOldText(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		edit Edit
		want string // after the intent
	}{
		"append takes nothing":  {"* A\na\n* B\n", Edit{Heading: "A", Append: "x"}, ""},
		"body":                  {"* A\none\n- [ ] two\n** C\n", Edit{Heading: "A", Body: ptr("x")}, "  #+begin_example\n  one\n  - [ ] two\n  #+end_example\n"},
		"old and new":           {"* A\none two\nthree\n", Edit{Heading: "A", Old: "two", New: "2"}, "  #+begin_example\n  one two\n  #+end_example\n"},
		"state":                 {"* TODO A\na\n", Edit{Heading: "A", State: ptr("DONE")}, "  #+begin_example\n  ,* TODO A\n  #+end_example\n"},
		"org in it":             {"* A\n#+end_example\n  ,* x\n** C\nc\n", Edit{Heading: "A", Old: "#+end_example\n  ,* x\n** C\n", New: ""}, "  #+begin_example\n  ,#+end_example\n    ,,* x\n  ,** C\n  #+end_example\n"},
		"text before a heading": {"* A\na\n", Edit{Heading: "A", Old: "a\n", New: "ba\n"}, "  #+begin_example\n  a\n  #+end_example\n"},
		"no final newline":      {"* A\na", Edit{Heading: "A", Body: ptr("b")}, "  #+begin_example\n  a\n  #+end_example\n"},
		"only empty lines":      {"* A\n\nx\n", Edit{Heading: "A", Old: "\nx", New: "x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := editor(t, "t.org", c.text)
			c.edit.File = "t.org"
			if _, err := h.Apply(c.edit, clock); err != nil {
				t.Fatal(err)
			}
			_, item, _ := strings.Cut(read(t, h.Path), "\n- [")
			if _, got, _ := strings.Cut(item, "\n"); got != c.want {
				t.Errorf("\n%s\nwant\n%s", got, c.want)
			}
			if own := Subtrees(read(t, h.Path), true); len(own) != 2 {
				t.Errorf("the journal has headings of the old text: %v", own)
			}
		})
	}
}

// Where another program changes the lines between the journal and the write, the
// journal has theirs too.
func TestJournalHasOldTextOfOthers(t *testing.T) {
	h, path := editor(t, "todo.org", "* A\na\n")
	first := true
	_, err := h.Apply(Edit{File: "todo.org", Heading: "A", Body: ptr("ours")}, func() (now time.Time) {
		if first {
			write(t, path, "* A\ntheirs\n")
		}
		first = false
		return noon
	})
	if err != nil || read(t, path) != "* A\nours\n" {
		t.Errorf("%v %q", err, read(t, path))
	}
	if journal := read(t, h.Path); !strings.Contains(journal, "\n  a\n") || !strings.Contains(journal, "\n  theirs\n") {
		t.Error(journal)
	}
}
