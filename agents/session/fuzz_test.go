package session

import (
	"strings"
	"testing"
	"time"
)

// Whatever a context file holds, an edit of one heading changes nothing outside
// of what stands below it, and what is appended is there.
func FuzzEdit(f *testing.F) {
	f.Add("* Goals\ntext\n** TODO [#A] One [1/2] :tag:\n* Next\n", "Goals", "- more", true)
	f.Add("#+TODO: A(a) | B\r\n* A x\r\n** y", "x", "z", true)
	f.Add("---\na: b\n---\n# One\n\nTwo\n---\n```\n# no\n```\n<!--\n# no\n-->\n## One\n", "Two", "text\n", false)
	f.Add("\uFEFF# A", "A", "\n# B", false)
	f.Fuzz(func(t *testing.T, text, heading, add string, org bool) {
		name := map[bool]string{true: "a.org", false: "a.md"}[org]
		end := 0
		for _, s := range Subtrees(text, org) {
			if s.Start < end || s.Body < s.Start || s.End < s.Body || s.End > len(text) || !strings.Contains(text[s.Start:s.Body], s.Heading) {
				t.Fatalf("%+v", s)
			}
			end = s.Body
		}
		next, tree, err := Edit{Heading: heading, Append: add}.on(name, text, clock)
		if err != nil {
			return
		}
		s, err := Find(text, heading, org)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(next, text[:s.Start]) || !strings.HasSuffix(next, text[s.End:]) || !strings.Contains(next, tree) {
			t.Fatalf("more than the subtree has changed:\n%q\n%q", text, next)
		}
		want := strings.TrimRight(strings.ReplaceAll(add, "\r\n", "\n"), "\r\n")
		if !strings.Contains(strings.ReplaceAll(tree, "\r\n", "\n"), want) {
			t.Fatalf("%q was to be appended:\n%q", add, tree)
		}
	})
}

// A file of nothing but headings is read in the time of its length.
func TestSubtreesIsLinear(t *testing.T) {
	const n = 200_000
	began := time.Now()
	found := Subtrees(strings.Repeat("* a\n", n), true)
	if len(found) != n || found[0].End != 4 || found[n-1].End != 4*n {
		t.Errorf("%d headings, %+v, %+v", len(found), found[0], found[len(found)-1])
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}
