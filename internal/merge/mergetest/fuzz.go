package mergetest

import (
	"errors"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge/leaf"
)

// Fuzz adds leaves that are not in a document and removes them again: the bytes
// must come back. An error must leave nothing half done and be the document's
// fault. The suites differ by their format only.
func Fuzz(f *testing.F, suites ...Suite) {
	for i, doc := range suites[0].Docs {
		f.Add([]byte(doc), uint16(i*7919), "name", int64(i))
	}
	f.Fuzz(func(t *testing.T, doc []byte, mask uint16, name string, seed int64) {
		s := suites[uint64(seed)%uint64(len(suites))]
		op := leaf.Op{Key: leaf.Pointer("fuzz", name), Value: leaf.Quote(name)}
		if !slices.Contains(s.Format.Holds, leaf.KindValue) {
			op = Set("line:"+name, "true")
		}
		var ops []leaf.Op
		for i, o := range s.Ops {
			if mask>>i&1 == 1 && o.Key != op.Key {
				ops = append(ops, o)
			}
		}
		if _, err := leaf.Read(s.Format, nil, []string{op.Key}); err == nil {
			ops = append(ops, op)
		}
		fuzz(t, s.Format, doc, ops, seed)
	})
}

func fuzz(t *testing.T, f leaf.Format, doc []byte, ops []leaf.Op, seed int64) {
	have, err := leaf.Read(f, doc, keys(ops))
	if err != nil {
		var e *leaf.Error
		if !errors.As(err, &e) {
			t.Fatalf("read %q: %v, which does not say where", doc, err)
		}
		return
	}
	var absent []leaf.Op
	for _, op := range ops {
		if _, there := have[op.Key]; !there {
			absent = append(absent, op)
		}
	}
	if _, err := leaf.Edit(f, doc, absent, nil); err != nil {
		var e *leaf.Error
		if !errors.As(err, &e) || strings.Contains(err.Error(), "read back") {
			t.Fatalf("edit %q: %v", doc, err)
		}
		return
	}
	RoundTrip(t, rand.New(rand.NewSource(seed)), f, doc, absent)
}
