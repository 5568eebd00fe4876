package executor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const block = "a.txt\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"

func TestParseAnswerIsAllOrNothing(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		files  []string // of its edits
		words  string
		wrong  string // part of the error
	}{
		"one edit":               {answer: block, files: []string{"a.txt"}},
		"fenced":                 {answer: "```\n" + block + "```\n", files: []string{"a.txt"}},
		"a fence in between":     {answer: strings.Replace(block, "a.txt\n", "a.txt\n```python\n", 1) + "```\n", files: []string{"a.txt"}},
		"words around":           {answer: "I change it.\n\n" + block + "\nDone.", files: []string{"a.txt"}, words: "I change it.\nDone."},
		"two":                    {answer: block + "\n" + strings.Replace(block, "a.txt", "b/c d.txt", 1), files: []string{"a.txt", "b/c d.txt"}},
		"carriage returns":       {answer: strings.ReplaceAll(block, "\n", "\r\n"), files: []string{"a.txt"}},
		"longer markers":         {answer: "a.md\n<<<<<<<< SEARCH\nTitle\n=======\n========\nName\n=======\n>>>>>>>> REPLACE\n", files: []string{"a.md"}},
		"a shorter line inside":  {answer: "a.md\n<<<<<<< SEARCH\n======\n=======\n=====\n>>>>>>> REPLACE\n", files: []string{"a.md"}},
		"nothing but words":      {answer: "It is right as it is.", words: "It is right as it is."},
		"no name":                {answer: strings.TrimPrefix(block, "a.txt\n"), wrong: "no line before it names the file"},
		"the name used up":       {answer: block + strings.TrimPrefix(block, "a.txt\n"), wrong: "no line before it names the file"},
		"a sentence for a name":  {answer: "`a.txt`:\n" + strings.TrimPrefix(block, "a.txt\n"), wrong: "is not a path"},
		"no end":                 {answer: "a.txt\n<<<<<<< SEARCH\nold\n=======\nnew\n", wrong: "has no end"},
		"no divider":             {answer: "a.txt\n<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\n", wrong: "line 4 of the answer"},
		"two dividers":           {answer: "a.txt\n<<<<<<< SEARCH\nold\n=======\nx\n=======\nnew\n>>>>>>> REPLACE\n", wrong: "markers of 8 characters or more"},
		"a block in a block":     {answer: "a.txt\n<<<<<<< SEARCH\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n", wrong: "line 3 of the answer"},
		"an end alone":           {answer: "a.txt\n>>>>>>> REPLACE\n", wrong: "outside of a block"},
		"a divider alone":        {answer: block + "=======\n", wrong: "outside of a block"},
		"empty":                  {answer: "a.txt\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n", wrong: "is empty"},
		"one good, one not":      {answer: block + "b.txt\n<<<<<<< SEARCH\n", wrong: "has no end"},
		"absolute":               {answer: strings.Replace(block, "a.txt", "/etc/passwd", 1), wrong: "not a path below"},
		"above":                  {answer: strings.Replace(block, "a.txt", "../x", 1), wrong: "not a path below"},
		"above, in the middle":   {answer: strings.Replace(block, "a.txt", "a/../../x", 1), wrong: "not a path below"},
		"the folder itself":      {answer: strings.Replace(block, "a.txt", ".", 1), wrong: "not a path below"},
		"git's":                  {answer: strings.Replace(block, "a.txt", ".git/config", 1), wrong: "belongs to git"},
		"git's, of a submodule":  {answer: strings.Replace(block, "a.txt", "sub/.GIT", 1), wrong: "belongs to git"},
		"a path of another kind": {answer: strings.Replace(block, "a.txt", `a\b`, 1), wrong: "is not a path"},
	} {
		edits, words, err := parseAnswer(c.answer)
		var files []string
		for _, e := range edits {
			files = append(files, e.file)
		}
		switch {
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong) || edits != nil):
			t.Errorf("%s: %d edits, error %v, want one of %q", name, len(edits), err, c.wrong)
		case c.wrong == "" && (err != nil || !slices.Equal(files, c.files) || words != c.words):
			t.Errorf("%s: files %q, words %q, error %v", name, files, words, err)
		}
	}
}

// tree is a work tree of some files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEditsMustMatchOnce(t *testing.T) {
	for name, c := range map[string]struct {
		was, old, new string
		is            string
		wrong         string
	}{
		"in the middle":            {was: "a\nb\nc\n", old: "b", new: "x\ny", is: "a\nx\ny\nc\n"},
		"at the end":               {was: "a\nb\n", old: "b", new: "x", is: "a\nx\n"},
		"all":                      {was: "a\n", old: "a", new: "b", is: "b\n"},
		"taken out":                {was: "a\nb\n", old: "a\n", new: "", is: "b\n", wrong: "not in"},
		"without a newline at end": {was: "a\nb", old: "b", new: "x", is: "a\nx"},
		"carriage returns stay":    {was: "a\r\nb\r\n", old: "b", new: "x\ny", is: "a\r\nx\r\ny\r\n"},
		"only some returns":        {was: "a\r\nb\n", old: "b", new: "x", is: "a\r\nx\n"},
		"not there":                {was: "a\n", old: "b", new: "x", wrong: "not in f.txt"},
		"blanks differ":            {was: "\ta\n", old: "    a", new: "x", wrong: "not in f.txt"},
		"twice":                    {was: "a\nb\na\n", old: "a", new: "x", wrong: "more than once (at its lines 1, 3)"},
		"twice, overlapping":       {was: "a\na\na\n", old: "a\na", new: "x", wrong: "more than once"},
		"a part of a line":         {was: "abc\n", old: "bc", new: "x", wrong: "not in f.txt"},
		"made where one is":        {was: "a\n", old: "", new: "x", wrong: "exists and is not empty"},
		"made where it is empty":   {was: "", old: "", new: "x", is: "x\n"},
	} {
		dir := tree(t, map[string]string{"f.txt": c.was})
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		f := newFiles(root, []string{"f.txt"})
		e := edit{file: "f.txt", new: strings.Split(c.new, "\n")}
		if c.old != "" {
			e.old = strings.Split(c.old, "\n")
		}
		err = f.apply(e)
		if err == nil {
			err = f.write()
		}
		switch {
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong) || read(t, dir, "f.txt") != c.was):
			t.Errorf("%s: %q, error %v", name, read(t, dir, "f.txt"), err)
		case c.wrong == "" && (err != nil || read(t, dir, "f.txt") != c.is):
			t.Errorf("%s: %q, error %v", name, read(t, dir, "f.txt"), err)
		}
		root.Close()
	}
}

func TestEditsOnlyReadableFiles(t *testing.T) {
	dir := tree(t, map[string]string{"open.txt": "a\n", "closed.txt": "a\n", "picture": "\x89PNG\x00"})
	outside := tree(t, map[string]string{"x": "a\n"})
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, wrong := range map[string]string{
		"closed.txt": "not one of the readable files",
		"picture":    "not a text",
		"absent.txt": "not one of the readable files",
		"out/x":      "not one of the readable files",
	} {
		f := newFiles(root, []string{"open.txt", "picture"})
		if err := f.apply(edit{file: name, old: []string{"a"}, new: []string{"b"}}); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: error %v, want one of %q", name, err, wrong)
		}
	}
	f := newFiles(root, nil)
	if err := f.apply(edit{file: "closed.txt", new: []string{"b"}}); err == nil {
		t.Error("a file that may not be read was written over")
	}
	f = newFiles(root, nil)
	if err := f.apply(edit{file: "out/y", new: []string{"b"}}); err == nil {
		if err := f.write(); err == nil {
			t.Error("a file was made through a link that leads out")
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "y")); err == nil {
		t.Error("a file was made outside of the work tree")
	}
}

// Whatever a model says: its edits name files below the work tree, fit or
// change nothing, and an edit that was made can be read back.
func FuzzAnswer(f *testing.F) {
	f.Add(block, "old\nother\n")
	f.Add("x\n"+block+"b.txt\n<<<<<<<< SEARCH\n========\n=======\nnew\n>>>>>>>> REPLACE", "a")
	f.Add("a.txt\n<<<<<<< SEARCH\n=======\n\n>>>>>>> REPLACE", "")
	f.Add(strings.ReplaceAll(block, "\n", "\r\n"), "old\r\n")
	f.Fuzz(func(t *testing.T, answer, content string) {
		edits, _, err := parseAnswer(answer)
		if err != nil && edits != nil {
			t.Fatal("edits beside an error")
		}
		whole, ok := newText([]byte(content), 0o644)
		if ok && string(whole.bytes()) != content {
			t.Fatalf("%q came back as %q", content, whole.bytes())
		}
		for _, e := range edits {
			if !filepath.IsLocal(e.file) || strings.Contains(strings.ToLower("/"+e.file+"/"), "/.git/") {
				t.Fatalf("an edit of %q", e.file)
			}
			if !ok || len(e.old) == 0 {
				continue
			}
			fs := &files{known: map[string]bool{}, now: map[string]*text{e.file: &whole}}
			if err := fs.apply(e); err != nil {
				if len(fs.changed) > 0 {
					t.Fatal("a failed edit changed something")
				}
				continue
			}
			if got := len(fs.now[e.file].lines); got != len(whole.lines)-len(e.old)+len(e.new) {
				t.Fatalf("%d lines became %d by an edit of %d to %d", len(whole.lines), got, len(e.old), len(e.new))
			}
		}
	})
}
