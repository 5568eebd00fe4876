package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// sourced is a body of a file that holds now, and held before what past says.
func sourced(t *testing.T, now string, past ...string) reconcile.Body {
	t.Helper()
	src := filepath.Join(t.TempDir(), "a.md")
	write(t, src, now, 0o644)
	body := FromSource(src, reconcile.Fingerprint(fsys.Digest([]byte(now))), 0o644, nil)
	return WithPast(body, func() [][]byte {
		var out [][]byte
		for _, p := range past {
			out = append(out, []byte(p))
		}
		return out
	})
}

func TestAnUneditedEarlierVersionIsKnownWhateverItsLineEnds(t *testing.T) {
	m := newMachine(t)
	for live, want := range map[string]bool{
		"one\ntwo\n": true, "one\r\ntwo\r\n": true, "zero\n": true, "one\ntwo": false, "one\nTWO\n": false, "now\n": false,
	} {
		write(t, filepath.Join(m.dir, "a.md"), live, 0o644)
		target := reconcile.Target{Resource: reconcile.Resource{Address: "file:a.md", Leaves: []reconcile.Leaf{{Body: sourced(t, "now\n", "one\ntwo\n", "zero\n")}}}}
		o := Provider{}.Observe(t.Context(), m.env.ReadEnv, []reconcile.Target{target})[0]
		if o.Former[""] != want {
			t.Errorf("%q: former %v", live, o.Former[""])
		}
		target.Last = []reconcile.LeafRecord{{Live: "sha256:x"}} // then the record is what counts
		if o := (Provider{}).Observe(t.Context(), m.env.ReadEnv, []reconcile.Target{target})[0]; o.Former[""] {
			t.Errorf("%q: recorded, and former", live)
		}
	}
}

func TestTheNearestVersionIsTheBaseAndOfEquallyNearTheOldest(t *testing.T) {
	versions := [][]byte{[]byte("a\nb\nnew\n"), []byte("a\nb\nold\n"), []byte("x\ny\nz\n")}
	for doc, want := range map[string]string{
		"a\nb\nmine\n": "a\nb\nold\n", "a\nb\nnew\nmine\n": "a\nb\nnew\n", "x\ny\n": "x\ny\nz\n", "nothing\nof\nit\n": "",
	} {
		got, ok := nearest(versions, []byte(doc))
		if string(got) != want || ok != (want != "") {
			t.Errorf("%q: from %q, %v; want %q", doc, got, ok, want)
		}
	}
}

func TestOverlappingEditsLeaveMarkersUntilResolved(t *testing.T) {
	m := newMachine(t)
	base, mine, theirs := "one\ntwo\n", "ONE\ntwo\n", "eins\ntwo\n"
	m.put(t, "a.md", mine)
	last := &reconcile.LeafRecord{Live: reconcile.Fingerprint(fsys.Digest([]byte(base)))}
	l := act("", reconcile.Update, sourced(t, theirs, base), last) // no text was kept: the history has it
	l.MergeBoth = true
	c := m.decide("a.md", "", l)
	if clean, marked := (Provider{}).CanMerge(t.Context(), m.env.ReadEnv, c, l); clean || !marked {
		t.Fatalf("clean %v, marked %v", clean, marked)
	}
	out := m.apply(t, c)
	text := m.get(t, "a.md")
	if !out.LeafMarked[""] || !merge.HasMarkers([]byte(text)) || !strings.HasSuffix(text, ">>>>>>> the bundle\ntwo\n") {
		t.Errorf("%v, %q", out.LeafMarked, text)
	}
	target := c.Target
	target.Last = []reconcile.LeafRecord{{Live: out.Token, Marked: true}}
	for text, want := range map[string]bool{text: true, "both\ntwo\n": false} {
		m.put(t, "a.md", text)
		if o := (Provider{}).Observe(t.Context(), m.env.ReadEnv, []reconcile.Target{target})[0]; o.Marked[""] != want {
			t.Errorf("%q: marked %v", text, o.Marked[""])
		}
	}
	// Where the line ends are others, lines still are the same.
	m.put(t, "a.md", "one\r\nTWO\r\n")
	l = act("", reconcile.Update, sourced(t, theirs, base), last)
	if clean, _ := (Provider{}).CanMerge(t.Context(), m.env.ReadEnv, m.decide("a.md", "", l), l); clean {
		t.Error("lines that touch were merged")
	}
	if err := os.Remove(filepath.Join(m.dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	if clean, marked := (Provider{}).CanMerge(t.Context(), m.env.ReadEnv, m.decide("a.md", "", l), l); clean || marked {
		t.Error("a file that is gone can be merged")
	}
}
