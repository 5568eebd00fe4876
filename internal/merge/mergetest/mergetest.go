// Package mergetest is the suite that every format of package merge passes: it
// proves that a format keeps what it does not own, takes back what it added, and
// says where a document is wrong. Describe a format by a Suite, and call Run in a
// test and Fuzz in a fuzz target.
package mergetest

import (
	"bytes"
	"errors"
	"math/rand"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge/leaf"
)

// Suite is one format with the documents and leaves that it is tested with.
type Suite struct {
	Format leaf.Format
	Docs   []string  // valid documents, each with room for all of Ops; an empty one too
	Ops    []leaf.Op // leaves to add; several share a container, and some are in Docs

	Edits    []Edit
	Removals []Removal
	Reads    []Read
	Faults   []Fault
	Priors   []Prior
}

// Edit is an edit of a document, and what it gives.
type Edit struct {
	Name, Doc, Want string
	Op              leaf.Op
}

// Removal adds a leaf to Doc, lets a person edit the result, and removes the
// leaf again: what the person wrote must stay.
type Removal struct {
	Name, Doc string
	Op        leaf.Op
	Person    func(doc string) string
	Want      string
}

// Read is a leaf of a document. Want need not be canonical.
type Read struct {
	Doc, Key, Want string
	Line           int
}

// Fault is a document that Op does not fit, and a part of the error.
type Fault struct {
	Doc  string
	Op   leaf.Op
	Want string
}

// Prior is a leaf whose value is replaced by Other and comes back as it was
// written.
type Prior struct{ Doc, Key, Other string }

// Set is the op that gives key a value.
func Set(key, value string) leaf.Op { return leaf.Op{Key: key, Value: leaf.Value(value)} }

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	if len(s.Docs) < 2 || len(s.Ops) < 2 || len(s.Edits) == 0 || len(s.Reads) == 0 {
		t.Fatal("the suite needs several documents and leaves, edits and reads")
	}
	t.Run("RoundTrips", func(t *testing.T) { RoundTrips(t, s, Variants, 1) })
	t.Run("Neighbours", s.neighbours)
	t.Run("Absent", s.absent)
	t.Run("Kinds", s.kinds)
	t.Run("Edits", s.edits)
	t.Run("Removals", s.removals)
	t.Run("Reads", s.reads)
	t.Run("Faults", s.faults)
	t.Run("Priors", s.priors)
}

// Variants writes a document with and without a last line end, with a byte
// order mark, and with the other line ends.
func Variants(s string) []string {
	other := strings.ReplaceAll(s, "\r\n", "\n")
	if other == s {
		other = strings.ReplaceAll(s, "\n", "\r\n")
	}
	return []string{s, strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r"), "\xef\xbb\xbf" + s, other}
}

// RoundTrips adds some of the leaves to each variant of each document and
// removes them again, for so many seeds.
func RoundTrips(t *testing.T, s Suite, variants func(string) []string, seeds int) {
	for seed := range int64(seeds) {
		r := rand.New(rand.NewSource(seed))
		for _, base := range s.Docs {
			for _, doc := range variants(base) {
				t.Logf("seed %d", seed)
				RoundTrip(t, r, s.Format, []byte(doc), Pick(t, r, s.Format, []byte(doc), s.Ops))
			}
		}
	}
}

// owned is what a caller keeps of a leaf.
type owned struct {
	op   leaf.Op
	made []string
}

// RoundTrip adds ops in batches and removes them in some order, keeping
// records as a caller does, and wants the bytes of doc back.
func RoundTrip(t *testing.T, r *rand.Rand, f leaf.Format, doc []byte, ops []leaf.Op) {
	t.Helper()
	var records []owned
	union := func() (all []string) {
		for _, o := range records {
			all = append(all, o.made...)
		}
		return all
	}
	edit := func(doc []byte, ops []leaf.Op) leaf.Result {
		t.Helper()
		res, err := leaf.Edit(f, doc, ops, union())
		if err != nil {
			t.Fatalf("edit %+v of\n%q: %v", ops, doc, err)
		}
		again, err := leaf.Edit(f, res.Doc, ops, union())
		if err != nil || again.Changed || !bytes.Equal(again.Doc, res.Doc) {
			t.Fatalf("editing twice is not editing once: %v\n%q\n%q", err, res.Doc, again.Doc)
		}
		return res
	}
	now := doc
	for rest := ops; len(rest) > 0; {
		n := 1 + r.Intn(len(rest))
		res := edit(now, rest[:n])
		for i, op := range rest[:n] {
			records = append(records, owned{op, res.Made[i]})
		}
		now, rest = res.Doc, rest[n:]
	}
	full := now
	r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	for len(records) > 0 {
		n := 1 + r.Intn(len(records))
		var gone []leaf.Op
		for _, o := range records[:n] {
			gone = append(gone, leaf.Op{Key: o.op.Key})
		}
		now = edit(now, gone).Doc
		records = records[n:]
	}
	if !bytes.Equal(now, doc) {
		t.Fatalf("removing what was added does not give the document back\nbefore %q\nfull   %q\nafter  %q\nops %+v", doc, full, now, ops)
	}
}

// Pick returns some of pool whose keys are not in doc, in some order.
func Pick(t *testing.T, r *rand.Rand, f leaf.Format, doc []byte, pool []leaf.Op) []leaf.Op {
	t.Helper()
	have := mustRead(t, f, doc, keys(pool))
	var ops []leaf.Op
	for _, i := range r.Perm(len(pool)) {
		if _, there := have[pool[i].Key]; !there && r.Intn(3) > 0 {
			ops = append(ops, pool[i])
		}
	}
	return ops
}

func keys(ops []leaf.Op) []string {
	out := make([]string, len(ops))
	for i, op := range ops {
		out[i] = op.Key
	}
	return out
}

func mustRead(t *testing.T, f leaf.Format, doc []byte, keys []string) map[string]leaf.Leaf {
	t.Helper()
	have, err := leaf.Read(f, doc, keys)
	if err != nil {
		t.Fatalf("read %q: %v", doc, err)
	}
	return have
}

// MustEdit edits doc.
func MustEdit(t *testing.T, f leaf.Format, doc string, made []string, ops ...leaf.Op) leaf.Result {
	t.Helper()
	res, err := leaf.Edit(f, []byte(doc), ops, made)
	if err != nil {
		t.Fatalf("edit %q: %v", doc, err)
	}
	return res
}

// isFault reports whether err is an *Error that says what to do.
func isFault(err error) bool {
	var e *leaf.Error
	return errors.As(err, &e) && e.Hint != ""
}
