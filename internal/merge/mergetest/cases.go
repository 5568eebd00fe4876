package mergetest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge/leaf"
)

// neighbours gives a document all leaves, takes one away and gives it back: every
// other leaf is still there and keeps its value and its text. Each document
// takes its turn with every fourth leaf.
func (s Suite) neighbours(t *testing.T) {
	for i, doc := range s.Docs {
		full := MustEdit(t, s.Format, doc, nil, s.Ops...)
		made := slices.Concat(full.Made...)
		before := mustRead(t, s.Format, full.Doc, keys(s.Ops))
		for j := i % 4; j < len(s.Ops); j += 4 {
			op := s.Ops[j]
			without := MustEdit(t, s.Format, string(full.Doc), made, leaf.Op{Key: op.Key})
			back := MustEdit(t, s.Format, string(without.Doc), made, op)
			for _, now := range []leaf.Result{without, back} {
				after := mustRead(t, s.Format, now.Doc, keys(s.Ops))
				if _, there := after[op.Key]; there != bytes.Equal(now.Doc, back.Doc) || !now.Changed {
					t.Errorf("%s in %q: there is %v", op.Key, now.Doc, there)
				}
				for key, old := range before {
					l := after[key]
					if lines := 1 + bytes.Count(now.Doc, []byte("\n")); key != op.Key && (!leaf.Equal(l.Value, old.Value) || l.Raw != old.Raw || l.Line < 1 || l.Line > lines) {
						t.Errorf("%s was edited in %q: %s was %+v, is %+v", op.Key, full.Doc, key, old, l)
					}
				}
			}
		}
	}
}

// absent removes leaves that are not there: nothing changes.
func (s Suite) absent(t *testing.T) {
	for _, doc := range s.Docs {
		have := mustRead(t, s.Format, []byte(doc), keys(s.Ops))
		for _, op := range s.Ops {
			if _, there := have[op.Key]; there {
				continue
			}
			if res := MustEdit(t, s.Format, doc, nil, leaf.Op{Key: op.Key}); res.Changed || string(res.Doc) != doc {
				t.Errorf("%s, which does not exist, was removed from %q: %q", op.Key, doc, res.Doc)
			}
		}
	}
}

// kinds uses a key of each kind: what the format cannot hold is refused.
func (s Suite) kinds(t *testing.T) {
	for kind, key := range map[leaf.Kind]string{
		leaf.KindValue: "/a/b", leaf.KindMember: `/a#"b"`, leaf.KindLine: "line:a", leaf.KindBlock: "block:a",
		leaf.KindHook: `/hooks/Stop#{"matcher":"","type":"command","command":"a"}`,
	} {
		if _, err := leaf.Read(s.Format, nil, []string{key}); (err == nil) != slices.Contains(s.Format.Holds, kind) {
			t.Errorf("key %s: got %v, but the format holds %v", key, err, s.Format.Holds)
		}
	}
}

func (s Suite) edits(t *testing.T) {
	for _, tt := range s.Edits {
		t.Run(tt.Name, func(t *testing.T) {
			res := MustEdit(t, s.Format, tt.Doc, nil, tt.Op)
			if string(res.Doc) != tt.Want {
				t.Errorf("got\n%s\nwant\n%s", res.Doc, tt.Want)
			}
			if res.Changed != (tt.Doc != tt.Want) {
				t.Errorf("changed is %v", res.Changed)
			}
		})
	}
}

func (s Suite) removals(t *testing.T) {
	for _, tt := range s.Removals {
		t.Run(tt.Name, func(t *testing.T) {
			res := MustEdit(t, s.Format, tt.Doc, nil, tt.Op)
			got := MustEdit(t, s.Format, tt.Person(string(res.Doc)), res.Made[0], leaf.Op{Key: tt.Op.Key})
			if string(got.Doc) != tt.Want {
				t.Errorf("got\n%s\nwant\n%s", got.Doc, tt.Want)
			}
		})
	}
}

func (s Suite) reads(t *testing.T) {
	for _, tt := range s.Reads {
		if _, err := leaf.Read(s.Format, []byte(tt.Doc), []string{tt.Key, "x-" + tt.Key}); err == nil {
			t.Errorf("%q was read: not a key", "x-"+tt.Key)
		}
		want, err := leaf.Canonical(leaf.Value(tt.Want))
		if err != nil {
			t.Fatalf("%s: %v", tt.Want, err)
		}
		if l := mustRead(t, s.Format, []byte(tt.Doc), []string{tt.Key})[tt.Key]; !bytes.Equal(l.Value, want) || l.Line != tt.Line {
			t.Errorf("%s of %q: got %s in line %d; want %s in line %d", tt.Key, tt.Doc, l.Value, l.Line, want, tt.Line)
		}
	}
}

func (s Suite) faults(t *testing.T) {
	for _, tt := range s.Faults {
		res, err := leaf.Edit(s.Format, []byte(tt.Doc), []leaf.Op{tt.Op}, nil)
		if !isFault(err) || !strings.Contains(err.Error(), tt.Want) {
			t.Errorf("%.60q: got %v, want %q and a hint", tt.Doc, err, tt.Want)
		}
		if res.Doc != nil {
			t.Errorf("%.60q: an error came with a document", tt.Doc)
		}
	}
}

func (s Suite) priors(t *testing.T) {
	for _, tt := range s.Priors {
		prior := mustRead(t, s.Format, []byte(tt.Doc), []string{tt.Key})[tt.Key]
		other := Set(tt.Key, tt.Other)
		changed := MustEdit(t, s.Format, tt.Doc, nil, other)
		back := MustEdit(t, s.Format, string(changed.Doc), nil, leaf.Op{Key: tt.Key, Value: prior.Value, Raw: prior.Raw})
		if !changed.Changed || string(back.Doc) != tt.Doc {
			t.Errorf("got\n%s\nwant\n%s", back.Doc, tt.Doc)
		}
		lie := MustEdit(t, s.Format, tt.Doc, nil, leaf.Op{Key: tt.Key, Value: other.Value, Raw: prior.Raw + " #"})
		if string(lie.Doc) != string(changed.Doc) {
			t.Errorf("a raw text that says something else was written:\n%s", lie.Doc)
		}
	}
}
