package pin

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/fetch/hubtest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

func sha(b []byte) string { return strings.TrimPrefix(fsys.Digest(b), "sha256:") }

// inRepo is a quant of one file of a repository.
func inRepo(name, repo, path string) spec.Quant {
	return spec.Quant{Name: name, Files: []spec.ModelFile{{Path: path, Repo: repo}}}
}

func TestUpdateMovesWhatIsNamedAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		ids       []string
		moved     []string // names of pins, sorted
		unmatched []string
	}{
		{nil, []string{"me/a/a.gguf", "me/b/b-Q8_0.gguf", "me/b:Q8_0"}, nil},
		{[]string{"a"}, []string{"me/a/a.gguf"}, nil},
		{[]string{"b"}, []string{"me/b/b-Q8_0.gguf", "me/b:Q8_0"}, nil},
		{[]string{"model", "c"}, []string{"me/a/a.gguf"}, []string{"c"}}, // by its kind; the other is of the commit of its files
		{[]string{"me/a/a.gguf"}, []string{"me/a/a.gguf"}, nil},
		{[]string{"claude"}, nil, []string{"claude"}},
	} {
		t.Run(strings.Join(c.ids, ","), func(t *testing.T) {
			s := newStage(t)
			s.model("a", "", inRepo("F16", "me/a", "a.gguf"))
			s.model("b", "", spec.Quant{Name: "Q8_0", Repo: "me/b"})
			for n := byte(1); n < 3; n++ {
				s.hub.Add("me/a", hubtest.File{Path: "a.gguf", Data: tiny(t, n)})
				s.hub.Add("me/b", hubtest.File{Path: "b-Q8_0.gguf", Data: tiny(t, n)})
				if n == 1 {
					_, err := s.models(s.settled(Lock))
					must(t, err)
				}
			}
			before := s.hostLock.Lock.Pins()
			r := s.resolver(Lock, update(c.ids...))
			_, err := s.models(r)
			must(t, err)
			res := s.settle(r)
			var moved []string
			for _, p := range s.hostLock.Lock.Pins() {
				if !slices.ContainsFunc(before, func(q reconcile.Pin) bool {
					return q.Kind == p.Kind && q.Name == p.Name && q.Values["commit"] == p.Values["commit"]
				}) {
					moved = append(moved, p.Name)
				}
			}
			slices.Sort(moved)
			if !slices.Equal(moved, c.moved) {
				t.Errorf("moved %q, want %q", moved, c.moved)
			}
			if !slices.Equal(res.Unmatched, c.unmatched) {
				t.Errorf("unmatched %q, want %q", res.Unmatched, c.unmatched)
			}
			for _, ch := range res.Changes {
				if ch.New.Kind == "model" && slices.Contains(c.moved, ch.New.Name) && (ch.Old.Values["sha256"] != sha(tiny(t, 1)) || ch.New.Values["sha256"] != sha(tiny(t, 2))) {
					t.Errorf("change %+v", ch)
				}
			}
		})
	}
}

// settled resolves the models of the host, writes the pins, and returns a
// Resolver of the same mode that finds them.
func (s *stage) settled(mode Mode) *Resolver {
	s.t.Helper()
	r := s.resolver(mode)
	_, err := s.models(r)
	must(s.t, err)
	s.settle(r)
	return s.resolver(mode)
}

func TestModelPinning(t *testing.T) {
	digest := sha([]byte("GGUF"))
	for _, c := range []struct {
		name    string
		quant   string // of the use
		quants  []spec.Quant
		mode    Mode
		set     func(*Resolver)
		reason  Reason // of the error
		fails   string
		offline bool   // the error wraps ErrOffline
		left    string // why it is left out
		asked   bool
		known   bool // its files have a digest
	}{
		{name: "looking", quants: []spec.Quant{inRepo("F16", "me/m", "m.gguf")}, mode: Look},
		{name: "asking", quants: []spec.Quant{inRepo("F16", "me/m", "m.gguf")}, mode: Ask, asked: true}, // Prefetch
		{name: "asking by name", quants: []spec.Quant{{Name: "F16", Repo: "me/m"}}, mode: Ask, asked: true, known: true},
		{name: "asking offline", quants: []spec.Quant{{Name: "F16", Repo: "me/m"}}, mode: Ask, set: offline},
		{name: "not asked for", quants: []spec.Quant{inRepo("F16", "me/m", "m.gguf")}, mode: Pin, set: func(r *Resolver) { r.About = func(a reconcile.Address) bool { return a != "model:m" } }},
		{name: "offline", quants: []spec.Quant{inRepo("F16", "me/m", "m.gguf")}, mode: Pin, set: offline, left: "not pinned: network required (offline)"},
		{name: "offline, by name", quants: []spec.Quant{{Name: "F16", Repo: "me/m"}}, mode: Pin, set: offline, left: "not pinned: network required"},
		{name: "offline, auto", quant: "auto", quants: []spec.Quant{{Name: "F16", Repo: "me/m"}, {Name: "Q8_0", Repo: "me/m"}}, mode: Pin, set: offline, left: "not pinned"},
		{name: "locked", quants: []spec.Quant{inRepo("F16", "me/m", "m.gguf")}, mode: Pin, set: locked, reason: NotPinned, fails: "me/m/m.gguf is not pinned in aisync.lock"},
		{name: "locked, by name", quants: []spec.Quant{{Name: "F16", Repo: "me/m"}}, mode: Look, set: locked, reason: NotPinned, fails: "me/m:F16 is not pinned in aisync.lock"},
		{name: "locked, auto", quant: "auto", quants: []spec.Quant{inRepo("F16", "me/m", "m.gguf")}, mode: Pin, set: locked, reason: NotPinned, fails: `quant: "auto" is not pinned in aisync.lock`},
		{name: "lock offline", quants: []spec.Quant{inRepo("F16", "me/m", "m.gguf")}, mode: Lock, set: offline, fails: "not pinned: network required (offline)", offline: true},
		{name: "gone", quants: []spec.Quant{inRepo("F16", "me/m", "n.gguf")}, mode: Pin, asked: true, left: "it could not be pinned: resolve n.gguf of me/m"},
		{name: "lock of one that is gone", quants: []spec.Quant{inRepo("F16", "me/m", "n.gguf")}, mode: Lock, asked: true, fails: "not found"},
		{name: "a digest of the spec decides", quants: []spec.Quant{{Name: "F16", Files: []spec.ModelFile{{Path: "m.gguf", Repo: "me/m", SHA256: digest, Size: 4}}}}, mode: Pin, known: true},
		{name: "a digest of the spec is checked by lock", quants: []spec.Quant{{Name: "F16", Files: []spec.ModelFile{{Path: "m.gguf", Repo: "me/m", SHA256: digest, Size: 4}}}}, mode: Lock, asked: true, fails: "me/m/m.gguf: the spec says sha256 " + digest + ", but me/m has"},
		{name: "an address alone", quants: []spec.Quant{{Name: "F16", Files: []spec.ModelFile{{Path: "m.gguf", SHA256: digest, Size: 4, Sources: []string{"https://example.org/m.gguf"}}}}}, mode: Lock, known: true},
		{name: "an unknown quant", quant: "Q2_K", quants: []spec.Quant{inRepo("F16", "me/m", "m.gguf"), inRepo("Q8_0", "me/m", "m.gguf")}, mode: Pin, fails: `unknown quant "Q2_K"; known: F16, Q8_0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.hub.Add("me/m", hubtest.File{Path: "m.gguf", Data: tiny(t, 1)}, hubtest.File{Path: "m-F16.gguf", Data: tiny(t, 2)}, hubtest.File{Path: "m-Q8_0.gguf", Data: tiny(t, 3)})
			s.model("m", c.quant, c.quants...)
			r := s.resolver(c.mode)
			if c.set != nil {
				c.set(r)
			}
			got, err := s.models(r)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Fatalf("error %v, want %q", err, c.fails)
			}
			if c.fails != "" && c.reason == NotPinned && r.Locked {
				wantError(t, err, NotPinned, "", c.fails)
			}
			if errors.Is(err, reconcile.ErrOffline) != c.offline {
				t.Errorf("%v: offline is %v", err, !c.offline)
			}
			if asked := len(s.hub.Requests()) > 0; asked != c.asked {
				t.Errorf("asked is %v: %v", asked, s.hub.Requests())
			}
			if err != nil {
				return
			}
			files := got["m"].Files
			if known := len(files) > 0 && files[0].SHA256 != ""; known != c.known {
				t.Errorf("known is %v: %+v", known, files)
			}
			res, err := r.Result()
			must(t, err)
			if (len(res.LeftOut) > 0) != (c.left != "") {
				t.Fatalf("left out %+v, want %q", res.LeftOut, c.left)
			}
			if c.left != "" {
				if l := res.LeftOut[0]; l.Address != "model:m" || l.Pos != s.host.Models[0].Pos || !strings.HasPrefix(l.Err.Error(), c.left) {
					t.Errorf("left out %+v, want %q", l, c.left)
				}
			}
		})
	}
}

func TestADamagedOrContradictedPinIsNamed(t *testing.T) {
	good := map[string]string{"repo": "me/m", "commit": strings.Repeat("a", 40), "sha256": strings.Repeat("b", 64), "size": "7"}
	for _, c := range []struct {
		name, kind, pin string
		values          map[string]string
		quant           spec.Quant
		id, text        string
	}{
		{"size", "model", "me/m/m.gguf", map[string]string{"size": ""}, inRepo("F16", "me/m", "m.gguf"), "me/m/m.gguf", "the pin of model me/m/m.gguf is damaged"},
		{"digest", "model", "me/m/m.gguf", map[string]string{"sha256": "b"}, inRepo("F16", "me/m", "m.gguf"), "me/m/m.gguf", "is damaged"},
		{"commit", "model", "me/m/m.gguf", map[string]string{"commit": ""}, inRepo("F16", "me/m", "m.gguf"), "me/m/m.gguf", "is damaged"},
		{"manifest", "model", "oci://h/m:1#m.gguf", map[string]string{"manifest": "1"}, spec.Quant{Name: "F16", Files: []spec.ModelFile{{Path: "m.gguf", Sources: []string{"oci://h/m:1"}}}}, "oci://h/m:1#m.gguf", "is damaged"},
		{"file", "files", "me/m:F16", map[string]string{"file": ""}, spec.Quant{Name: "F16", Repo: "me/m"}, "m", "the pin of files me/m:F16 is damaged"},
		{"the spec says another digest", "model", "me/m/m.gguf", nil, spec.Quant{Name: "F16", Files: []spec.ModelFile{{Path: "m.gguf", Repo: "me/m", SHA256: strings.Repeat("c", 64)}}}, "m", "the spec says sha256 cccc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.model("m", "", c.quant)
			values := map[string]string{}
			for k, v := range good {
				values[k] = v
			}
			for k, v := range c.values {
				values[k] = v
			}
			s.hostLock.Lock.SetPin(reconcile.Pin{Kind: c.kind, Name: c.pin, Values: values})
			_, err := s.models(s.resolver(Look))
			wantError(t, err, Unfit, c.id, c.text)
		})
	}
}

func TestAllShardsArePinnedToOneCommit(t *testing.T) {
	s := newStage(t)
	first := "q/m-00001-of-00002.gguf"
	s.hub.Add("me/m", hubtest.File{Path: first, Data: tiny(t, 1)}, hubtest.File{Path: "q/m-00002-of-00002.gguf", Data: []byte("GGUF")})
	s.model("m", "", spec.Quant{Name: "F16", Files: []spec.ModelFile{{Path: first, Repo: "me/m", Sources: []string{"https://example.org/" + first}}}})
	q, err := s.models(s.resolver(Lock))
	must(t, err)
	files := q["m"].Files
	if len(files) != 2 || files[1].Path != "q/m-00002-of-00002.gguf" || files[1].Size != 4 || files[0].Commit != files[1].Commit || files[1].Sources[1] != "https://example.org/q/m-00002-of-00002.gguf" {
		t.Errorf("files %+v", files)
	}
	s.own, s.host.Models = spec.Catalog{}, nil
	s.model("bad", "", inRepo("F16", "me/m", "m-00003-of-00002.gguf"))
	if _, err := s.models(s.resolver(Look)); err == nil || !strings.Contains(err.Error(), "no part 3 of 2") {
		t.Errorf("a shard that cannot be: %v", err)
	}
}

func TestAnotherRevisionIsPinnedBesideTheFirst(t *testing.T) {
	s := newStage(t)
	one := s.hub.Add("me/m", hubtest.File{Path: "m.gguf", Data: tiny(t, 1)})
	s.hub.Tag("me/m", "v1")
	two := s.hub.Add("me/m", hubtest.File{Path: "m.gguf", Data: tiny(t, 2)})
	s.model("new", "", inRepo("F16", "me/m", "m.gguf"))
	s.model("old", "", spec.Quant{Name: "F16", Files: []spec.ModelFile{{Path: "m.gguf", Repo: "me/m", Revision: "v1"}}})
	s.settled(Lock)
	got := pins(s.hostLock, "model")
	if len(got) != 2 || got["me/m/m.gguf"]["commit"] != two || got["me/m@v1/m.gguf"]["commit"] != one {
		t.Errorf("pinned %v", got)
	}
}
