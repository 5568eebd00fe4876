package yaml

import (
	"bytes"
	"errors"
	"math/rand"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge/leaf"
	"aisync.dev/aisync/internal/merge/mergetest"
)

func variants(s string) []string {
	out := []string{s, strings.TrimSuffix(s, "\n"), "\xef\xbb\xbf" + s, strings.ReplaceAll(s, "\n", "\r\n")}
	return append(out, strings.ReplaceAll(s, "  ", "    "))
}

func TestRemovingWhatWasAddedGivesTheSameYAMLBytes(t *testing.T) {
	for i, base := range docs {
		for j, doc := range variants(base) {
			if _, err := leaf.Read(YAML, []byte(doc), []string{"/zz/y"}); err != nil {
				if doc == base {
					t.Errorf("a sample cannot be read: %q: %v", doc, err)
				}
				continue // four spaces or no last line end made something else of it
			}
			seed := int64(10*i + j)
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewSource(seed))
			mergetest.RoundTrip(t, r, YAML, []byte(doc), fit(t, r, doc))
		}
	}
}

// fit returns some of pool that doc has room for.
func fit(t *testing.T, r *rand.Rand, doc string) []leaf.Op {
	t.Helper()
	var some []leaf.Op
	for _, op := range ops {
		if _, err := leaf.Edit(YAML, []byte(doc), []leaf.Op{op}, nil); err == nil {
			some = append(some, op)
		} else if e := (*leaf.Error)(nil); !errors.As(err, &e) {
			t.Fatalf("%q: %v", doc, err)
		}
	}
	return mergetest.Pick(t, r, YAML, []byte(doc), some)
}

func TestUnownedYAMLKeepsItsBytes(t *testing.T) {
	for seed := range int64(2) {
		r := rand.New(rand.NewSource(seed))
		for _, doc := range docs {
			added := fit(t, r, doc)
			res, err := leaf.Edit(YAML, []byte(doc), added, nil)
			if err != nil {
				t.Fatalf("seed %d: %q %+v: %v", seed, doc, added, err)
			}
			rest := string(res.Doc)
			for _, line := range strings.Split(doc, "\n") {
				content := strings.Split(line, " #")[0]                          // comments are compared below
				for _, empty := range []string{"{}", "{ }", "[]", "~", "null"} { // gives way to what is put there
					content = strings.TrimSpace(strings.Split(content, empty)[0])
				}
				content = strings.Split(strings.Split(content, "]")[0], "}")[0] // more may come before it
				at := strings.Index(rest, strings.TrimSpace(content))
				if at < 0 {
					t.Fatalf("seed %d: line %q of\n%s\nis not, or not in its place, in\n%s", seed, line, doc, res.Doc)
				}
				rest = rest[at:]
			}
			d, err := read([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			after, err := read(res.Doc)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := commentsOf(d), commentsOf(after); a != b {
				t.Fatalf("comments were\n%s\nare\n%s", a, b)
			}
		}
	}
}

func commentsOf(d *doc) string {
	var b bytes.Buffer
	for _, c := range d.comments {
		b.Write(d.src[c.Start:c.End])
		b.WriteByte('\n')
	}
	return b.String()
}
