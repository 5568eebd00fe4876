package session

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/proof"
	"aisync.dev/aisync/reconcile/fsys"
)

// editor is a helper with a context in a project that has one file.
func editor(t *testing.T, name, text string) (Context, string) {
	t.Helper()
	root := newProject(t, name, text)
	return started(t, root, "helper-1f3a", 0), filepath.Join(root, name)
}

func clock() time.Time { return noon }

func ptr(s string) *string { return &s }

func TestEditsStayWithinTheirHeading(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		edit       Edit
		want       string
	}{
		"append to org":                    {"t.org", "* A\na\n* B\nb\n", Edit{Heading: "A", Append: "new"}, "* A\na\nnew\n* B\nb\n"},
		"empty lines stay between":         {"t.org", "* A\na\n\n\n* B\n", Edit{Heading: "A", Append: "new\n"}, "* A\na\nnew\n\n\n* B\n"},
		"a text goes before the children":  {"t.org", "* A\na\n\n** C\nc\n* B\n", Edit{Heading: "A", Append: "new"}, "* A\na\nnew\n\n** C\nc\n* B\n"},
		"a heading goes after them":        {"t.org", "* A\na\n** C\nc\n* B\n", Edit{Heading: "A", Append: "** TODO new\n   text"}, "* A\na\n** C\nc\n** TODO new\n   text\n* B\n"},
		"no final newline":                 {"t.org", "* A\na\n* B\nb", Edit{Heading: "B", Append: "new"}, "* A\na\n* B\nb\nnew\n"},
		"a heading at the end, bare":       {"t.org", "* A\n* B", Edit{Heading: "B", Append: "new"}, "* A\n* B\nnew\n"},
		"a body for it":                    {"t.org", "* A\n* B", Edit{Heading: "B", Body: ptr("new")}, "* A\n* B\nnew\n"},
		"empty lines at the end stay":      {"t.org", "* A\na\n\n\n", Edit{Heading: "A", Append: "new"}, "* A\na\nnew\n\n\n"},
		"CRLF":                             {"t.org", "* A\r\na\r\n* B\r\n", Edit{Heading: "A", Append: "x\ny"}, "* A\r\na\r\nx\r\ny\r\n* B\r\n"},
		"CRLF, an old text of two lines":   {"t.org", "* A\r\na\r\nb\r\n* B\r\n", Edit{Heading: "A", Old: "a\nb", New: "c\nd"}, "* A\r\nc\r\nd\r\n* B\r\n"},
		"CRLF at a bare end":               {"t.org", "* A\r\na\r\n* B", Edit{Heading: "B", Append: "x"}, "* A\r\na\r\n* B\r\nx\r\n"},
		"CRLF in one part alone":           {"t.org", "* A\na\n* B\r\nb\r\n", Edit{Heading: "A", Append: "x"}, "* A\na\nx\n* B\r\nb\r\n"},
		"a new body":                       {"t.org", "* A\nold\n\n* B\n", Edit{Heading: "A", Body: ptr("new")}, "* A\nnew\n\n* B\n"},
		"no body":                          {"t.org", "* A\nold\n* B\n", Edit{Heading: "A", Body: ptr("")}, "* A\n* B\n"},
		"a new state":                      {"t.org", "* TODO A :x:\na\n* B\n", Edit{Heading: "A", Old: "* TODO A", New: "* DONE A"}, "* DONE A :x:\na\n* B\n"},
		"what is elsewhere is not counted": {"t.org", "* A\nx\n* B\nx\n", Edit{Heading: "B", Old: "x", New: "y"}, "* A\nx\n* B\ny\n"},
		"the last newline is not eaten":    {"t.org", "* A\nx\n* B\n", Edit{Heading: "A", Old: "x\n", New: "y"}, "* A\ny\n* B\n"},
		"Markdown":                         {"t.md", "# A\na\n# B\n", Edit{Heading: "A", Append: "new"}, "# A\na\nnew\n# B\n"},
		"a # in a fence is no heading":     {"t.md", "# A\n```sh\n# B\n```\n# B\nb\n", Edit{Heading: "B", Append: "new"}, "# A\n```sh\n# B\n```\n# B\nb\nnew\n"},
		"an underlined heading ends one":   {"t.md", "Title\n=====\n\n## A\na\n\nB\n---\nb\n", Edit{Heading: "A", Append: "new"}, "Title\n=====\n\n## A\na\nnew\n\nB\n---\nb\n"},
		"an underlined heading is one":     {"t.md", "A\n---\na\n\nB\n---\n", Edit{Heading: "A", Append: "new"}, "A\n---\na\nnew\n\nB\n---\n"},
		"a byte order mark":                {"t.org", "\uFEFF* A\na\n", Edit{Heading: "A", Append: "new"}, "\uFEFF* A\na\nnew\n"},
		"nothing changes":                  {"t.org", "* A\na\n", Edit{Heading: "A", Old: "a", New: "a"}, "* A\na\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h, path := editor(t, c.file, c.text)
			c.edit.File = c.file
			tree, err := h.Apply(c.edit, clock)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); got != c.want || !strings.Contains(got, tree) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if journal := strings.Count(read(t, h.Path), "- ["); journal != map[bool]int{true: 0, false: 1}[c.text == c.want] {
				t.Errorf("%d entries in the journal", journal)
			}
		})
	}
}

func TestLossyEditsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		edit       Edit
		want       string
	}{
		"no such heading":               {"t.org", "* A\n", Edit{Heading: "B", Append: "x"}, `no heading "B"`},
		"two of them":                   {"t.org", "* A\n* B\n** TODO A\n", Edit{Heading: "A", Append: "x"}, "lines 1, 3"},
		"no heading given":              {"t.org", "* A\n", Edit{Append: "x"}, "heading required"},
		"a heading beside":              {"t.org", "* A\n* B\n", Edit{Heading: "A", Append: "* C"}, `heading "* C"`},
		"a heading above":               {"t.org", "* A\n** B\n* C\n", Edit{Heading: "B", Body: ptr("x\n* D")}, `heading "* D"`},
		"the heading goes":              {"t.org", "* A\na\n", Edit{Heading: "A", Old: "* A\n", New: ""}, "remove the heading"},
		"its level changes":             {"t.org", "** A\na\n", Edit{Heading: "A", Old: "** A", New: "* A"}, "remove the heading"},
		"a text before it":              {"t.org", "* A\na\n", Edit{Heading: "A", Old: "* A", New: "x\n* A"}, "remove the heading"},
		"a fence that stays open":       {"t.md", "# A\n# B\n", Edit{Heading: "A", Append: "```"}, "left open"},
		"a comment that stays open":     {"t.md", "# A\n# B\n", Edit{Heading: "A", Append: "<!-- x"}, "left open"},
		"an old text that is not there": {"t.org", "* A\na\n* B\nb\n", Edit{Heading: "A", Old: "b", New: "x"}, "changed since"},
		"one that is there twice":       {"t.org", "* A\na a\n", Edit{Heading: "A", Old: "a", New: "x"}, "2 times"},
		"a subtree that has changed":    {"t.org", "* A\na\n", Edit{Heading: "A", Append: "x", Digest: fsys.Digest([]byte("* A\nb\n"))}, "changed since"},
		"nothing to do":                 {"t.org", "* A\n", Edit{Heading: "A"}, "nothing to do"},
		"no text file":                  {"t.org", "* A\n\xff\n", Edit{Heading: "A", Append: "x"}, "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			h, path := editor(t, c.file, c.text)
			c.edit.File = c.file
			_, err := h.Apply(c.edit, clock)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if read(t, path) != c.text || strings.Contains(read(t, h.Path), "- [") {
				t.Errorf("something was written: %q", read(t, path))
			}
		})
	}
}

func TestFindHeading(t *testing.T) {
	org := "#+TODO: ASK(a) | GAVE_UP\n* TODO [#A] Call back [1/3] :home:büro:\n* ASK why\n* API design\n* [50%] half\n* COMMENT notes\n*bold* is none\n* \n#+begin_src\n,* none\n#+end_src\n"
	for heading, line := range map[string]int{
		"Call back": 2, "* TODO [#A] Call back [1/3] :home:büro:": 2, "TODO [#A] Call back [1/3] :home:büro:": 2,
		"why": 3, "ASK why": 3, "API design": 4, "notes": 6, "design": 0, "bold* is none": 0, "none": 0,
	} {
		s, err := Find(org, heading, true)
		if (err == nil) != (line > 0) || s.Line != line {
			t.Errorf("%q: line %d, %v; want %d", heading, s.Line, err, line)
		}
	}
	md := "---\ntitle: x\n---\n# A #\n\n- item\n---\n\n~~~\n# B\n```\n~~~\n<!--\n# B\n-->\n``` a `b` ```\n   ## B ##\n    # code\n#no\n|t|\n---\n```go\n# B\n````\n### C\n"
	for heading, line := range map[string]int{"A": 4, "B": 17, "C": 25, "code": 0, "no": 0, "title: x": 0, "- item": 0, "## B ##": 17} {
		s, err := Find(md, heading, false)
		if (err == nil) != (line > 0) || s.Line != line {
			t.Errorf("%q: line %d, %v; want %d", heading, s.Line, err, line)
		}
	}
}

func TestOnlyFilesOfTheProjectAreEdited(t *testing.T) {
	h, _ := editor(t, "docs/todo.org", "* A\n")
	outside := filepath.Join(t.TempDir(), "x.org")
	write(t, outside, "* A\n")
	for link, to := range map[string]string{"out.org": outside, "link.org": "docs/todo.org", "dir": filepath.Dir(outside)} {
		if err := os.Symlink(to, filepath.Join(h.Root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"out.org", "dir/x.org", outside, "../x.org", "missing.org", ".", "docs", ""} {
		if _, err := h.Apply(Edit{File: file, Heading: "A", Append: "x"}, clock); err == nil {
			t.Errorf("%s was edited", file)
		}
	}
	if read(t, outside) != "* A\n" {
		t.Error("a file outside was written")
	}
	for _, file := range []string{"link.org", "docs/todo.org", filepath.Join(h.Root, "docs/../docs/todo.org")} {
		if _, err := h.Apply(Edit{File: file, Heading: "A", Append: "x"}, clock); err != nil {
			t.Error(err)
		}
	}
	if got := read(t, filepath.Join(h.Root, "docs/todo.org")); got != "* A\nx\nx\nx\n" {
		t.Errorf("%q", got)
	}
	if to, err := os.Readlink(filepath.Join(h.Root, "link.org")); err != nil || to != "docs/todo.org" {
		t.Errorf("the link became %q, %v", to, err)
	}
	if locks, err := filepath.Glob(filepath.Join(h.Root, locks, "*todo*")); err != nil || len(locks) != 1 {
		t.Errorf("one file has the locks %q, %v", locks, err)
	}
}

// The journal is asked for the time after the file was read and before it is
// replaced: here a program without a lock writes the file at that moment.
func TestEditKeepsUnlockedWrites(t *testing.T) {
	h, path := editor(t, "todo.org", "* A\na\n* B\nb\n")
	theirs := "* New\n* A\na\n* B\nb\ntheirs\n"
	first := true
	tree, err := h.Apply(Edit{File: "todo.org", Heading: "A", Append: "ours"}, func() time.Time {
		if first {
			write(t, path, theirs)
		}
		first = false
		return noon
	})
	if err != nil || tree != "* A\na\nours\n" {
		t.Errorf("%q, %v", tree, err)
	}
	if got, want := read(t, path), "* New\n* A\na\nours\n* B\nb\ntheirs\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if n := strings.Count(read(t, h.Path), "- ["); n != 1 {
		t.Errorf("%d entries in the journal", n)
	}
	// What they changed is what the edit wanted to replace: refused, not lost.
	_, err = h.Apply(Edit{File: "todo.org", Heading: "A", Old: "ours", New: "x"}, func() time.Time {
		write(t, path, "* A\nother\n")
		return noon
	})
	if !errors.Is(err, ErrMoved) || read(t, path) != "* A\nother\n" {
		t.Errorf("%v: %q", err, read(t, path))
	}
	// Gone while it was edited.
	_, err = h.Apply(Edit{File: "todo.org", Heading: "A", Append: "x"}, func() time.Time {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
		return noon
	})
	if err == nil {
		t.Error("a file that was removed came back")
	}
}

// A kill in the middle of an edit leaves a file beside it, which blocks no
// process and is kept: another program may have written it.
func TestEditContinuesAfterCrash(t *testing.T) {
	h, path := editor(t, "todo.org", "* A\n")
	left := filepath.Join(h.Root, string(fsys.TempName("todo.org", "session")))
	write(t, left, "* A\nfrom before\n")
	if _, err := h.Apply(Edit{File: "todo.org", Heading: "A", Append: "x"}, clock); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "* A\nx\n" {
		t.Errorf("%q", got)
	}
	kept, err := filepath.Glob(filepath.Join(h.Root, leftOver, "*"))
	if err != nil || len(kept) != 1 || read(t, kept[0]) != "* A\nfrom before\n" {
		t.Errorf("%q, %v", kept, err)
	}
	if _, err := os.Lstat(left); err == nil {
		t.Error("what the crash left is still in the way")
	}
}

// TestMain also is one of many editors: a real process that makes one edit.
func TestMain(m *testing.M) {
	if root := os.Getenv("EDIT_ROOT"); root != "" {
		c := ByID(root, os.Getenv("EDIT_ID"))
		if _, err := c.Apply(Edit{File: "todo.org", Heading: os.Getenv("EDIT_HEADING"), Append: os.Getenv("EDIT_TEXT")}, time.Now); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestConcurrentEdits(t *testing.T) {
	proved, processes := proof.Start(t, 15), 200
	if raced() {
		processes = 40 // each is ten times as slow, and no more is seen of one process
	}
	var text strings.Builder
	for n := range 100 {
		fmt.Fprintf(&text, "* TODO Task %d :tag:\nbody of %d\n\n", n, n)
	}
	root := newProject(t, "todo.org", text.String())
	path := filepath.Join(root, "todo.org")
	var editors []*exec.Cmd
	for n := range processes {
		id := fmt.Sprintf("helper-%04x", n%20)
		started(t, root, id, 0)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "EDIT_ROOT="+root, "EDIT_ID="+id, fmt.Sprintf("EDIT_HEADING=Task %d", n%100), fmt.Sprintf("EDIT_TEXT=edit %d.", n))
		out := &strings.Builder{}
		cmd.Stderr = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if out.Len() > 0 {
				t.Log(out)
			}
		})
		editors = append(editors, cmd)
	}
	// Meanwhile a program without a lock adds headings, reading before
	// writing, as an editor does; its own window is not ours to close, so it
	// exchanges only what is as it has read it.
	disk, err := fsys.New(fsys.Options{Project: root, Tag: "stranger"})
	if err != nil {
		t.Fatal(err)
	}
	strange := 0
	for tries := 0; strange < 20 && tries < 2000; tries++ {
		old, err := disk.ReadFile("todo.org")
		if err != nil {
			t.Fatal(err)
		}
		next := append([]byte(fmt.Sprintf("* Stranger %d.\n", strange)), old...)
		if err := disk.Replace("todo.org", fsys.Content{Bytes: next}, fsys.Expect{Digest: fsys.Digest(old)}, nil); err == nil {
			strange++
		}
		time.Sleep(time.Millisecond)
	}
	for _, cmd := range editors {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	got := read(t, path)
	for n := range processes {
		s, err := Find(got, fmt.Sprintf("Task %d", n%100), true)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("edit %d.\n", n); strings.Count(got, want) != 1 || !strings.Contains(got[s.Start:s.End], want) {
			t.Errorf("%q is lost or elsewhere", want)
		}
	}
	for n := range strange {
		if !strings.Contains(got, fmt.Sprintf("* Stranger %d.\n", n)) {
			t.Errorf("what the stranger wrote is lost: %d", n)
		}
	}
	if strange == 0 {
		t.Error("the stranger never got to write")
	}
	entries := 0
	for n := range 20 {
		entries += strings.Count(read(t, ByID(root, fmt.Sprintf("helper-%04x", n)).Path), "\n- [")
	}
	if entries != processes {
		t.Errorf("%d entries in the journals", entries)
	}
	proved("processes", processes)
}

// raced reports whether the tests run under the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
