package merge

import (
	"bytes"
	"errors"
	"math/rand"
	"testing"
)

// fuzzEdit adds the leaves of ops that are not in doc and removes them again:
// the bytes must come back. An error must leave nothing half done and be the
// document's fault.
func fuzzEdit(t *testing.T, f Format, doc []byte, ops []Op, seed int64) {
	var keys []string
	for _, op := range ops {
		keys = append(keys, op.Key)
	}
	have, err := Read(f, doc, keys)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("read %q: %v, which does not say where", doc, err)
		}
		return
	}
	var absent []Op
	for _, op := range ops {
		if _, there := have[op.Key]; !there {
			absent = append(absent, op)
		}
	}
	if _, err := Edit(f, doc, absent, nil); err != nil {
		var e *Error
		if !errors.As(err, &e) || bytes.Contains([]byte(err.Error()), []byte("read back")) {
			t.Fatalf("edit %q: %v", doc, err)
		}
		return
	}
	roundTrip(t, rand.New(rand.NewSource(seed)), f, doc, absent)
}

func choose(pool []Op, mask uint16) (ops []Op) {
	for i, op := range pool {
		if mask>>i&1 == 1 {
			ops = append(ops, op)
		}
	}
	return ops
}

func FuzzEditJSON(f *testing.F) {
	for i, doc := range jsonDocs {
		f.Add([]byte(doc), uint16(i*7919), "name", int64(i))
	}
	f.Fuzz(func(t *testing.T, doc []byte, mask uint16, name string, seed int64) {
		ops := choose(jsonPool, mask)
		if k := Pointer("fuzz", name); checkKey(JSON, k) == nil {
			ops = append(ops, Op{Key: k, Value: quote(name)})
		}
		fuzzEdit(t, JSONC, doc, ops, seed)
	})
}

func FuzzEditTOML(f *testing.F) {
	for i, doc := range tomlDocs {
		f.Add([]byte(doc), uint16(i*7919), "name", int64(i))
	}
	f.Fuzz(func(t *testing.T, doc []byte, mask uint16, name string, seed int64) {
		ops := choose(tomlPool, mask)
		if k := Pointer("fuzz", name); checkKey(TOML, k) == nil {
			ops = append(ops, Op{Key: k, Value: quote(name)})
		}
		fuzzEdit(t, TOML, doc, ops, seed)
	})
}

func FuzzEditText(f *testing.F) {
	for i, doc := range textDocs {
		f.Add([]byte(doc), uint16(i*7919), "name", int64(i))
	}
	f.Fuzz(func(t *testing.T, doc []byte, mask uint16, name string, seed int64) {
		ops := choose(textPool, mask)
		if k := LineKey(name); checkKey(Text, k) == nil && name != "@AGENTS.md" && name != "loose" {
			ops = append(ops, Op{Key: k, Value: Value("true")})
		}
		format := []Format{Text, Markdown, Slashes}[uint64(seed)%3]
		fuzzEdit(t, format, doc, ops, seed)
	})
}

func checkKey(format Format, s string) error {
	_, err := parseKeys(format, []string{s})
	return err
}
