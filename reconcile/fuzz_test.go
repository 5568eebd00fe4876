package reconcile

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"testing"
	"testing/fstest"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
)

// memory is a folder of state, without a disk: what reads it is fuzzed.
type memory struct {
	fsys.Reader
	files fstest.MapFS
}

func (m memory) ReadFile(p fsys.LogicalPath) ([]byte, error)   { return m.files.ReadFile(string(p)) }
func (m memory) Lstat(p fsys.LogicalPath) (fs.FileInfo, error) { return m.files.Stat(string(p)) }
func (m memory) Physical(p fsys.LogicalPath) (string, error)   { return "/" + string(p), nil }
func (m memory) ReadDir(p fsys.LogicalPath) ([]fs.DirEntry, error) {
	return m.files.ReadDir(string(p))
}

func file(b []byte) *fstest.MapFile { return &fstest.MapFile{Data: b} }

// A plan that was read says the same when it is written and read again, and is
// compared with another one without a hitch.
func FuzzReadPlan(f *testing.F) {
	doc := PlanDoc{
		FormatVersion: PlanFormat, Meta: PlanMeta{Host: "velox", Scope: "all"}, Conflicts: []Conflict{{}}, Notes: []Note{{}},
		Changes: []ChangeDoc{{
			Address: "file:~/.codex/config.toml", Action: Update, Owners: []string{"host"}, Before: "sha256:00", Origin: []Position{{File: "a.cue", Line: 1, Col: 2}},
			Leaves: []LeafDoc{{Key: "/a", Action: Update, Want: "sha256:01", Value: json.RawMessage(`{"a": [1]}`)}},
			Lines:  []Line{{Op: '+', Text: "a"}},
		}},
	}
	seed, err := json.Marshal(doc)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"format_version": "2.0"}`))
	f.Add([]byte(`{"format_version": "1.7", "changes": null, "later": {}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := ReadPlan("p.json", b)
		if err != nil {
			return
		}
		_ = d.Check(&Plan{}, PlanMeta{})
		once, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := ReadPlan("p.json", once)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		if twice, err := json.Marshal(again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v\n%s\n%s", err, once, twice)
		}
	})
}

// Whatever lies in the state folder, it is read or refused; what a torn journal
// says is counted up to its last whole line.
func FuzzOpenStore(f *testing.F) {
	head := []byte(`{"head":{"format_version":1,"id":"apply0001","changes":[{"address":"file:~/a","action":"create","path":"/home/me/a","before":"","after":"sha256:0","writes":true,"keys":[""]}]}}` + "\n")
	done := []byte(`{"done":{"address":"file:~/a","action":"create","after":"sha256:0","writes":true,"keys":[""]}}` + "\n")
	f.Add([]byte(`{"format_version":1,"owner":"host","dirs":["/home/me/.codex"],"records":[{"address":"file:~/a","leaves":[{"live":"sha256:0","provenance":"created"}],"private":{}}]}`), append(head, done...), head)
	f.Add([]byte(`{"format_version":2}`), head[:40], []byte(`{"format_version":1}`))
	f.Add([]byte(`{"records":[],"format_version":1}`), append(head, `{"done":{`...), []byte(`[]`))
	f.Fuzz(func(t *testing.T, records, journal, entry []byte) {
		const base = "state"
		d := state.Open(nil, base)
		r := memory{files: fstest.MapFS{
			string(d.Records().Join("host.json")):    file(records),
			string(d.Journal()):                      file(journal),
			string(d.Applies().Join("apply01.json")): file(entry),
			string(d.ID()):                           file(entry),
			path.Join(base, "contents", "host.zip"):  file(entry),
		}}
		s, err := OpenStore(r, base)
		if err != nil {
			return
		}
		s.UseLock("host", "aisync.lock", &Lock{})
		owners, err := s.Owners()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range owners {
			for _, rec := range s.Records(o) {
				s.On(rec.Address)
			}
		}
		s.Lineage()
		_, _ = s.History()
		if s.Unfinished() {
			torn, err := OpenStore(memory{files: fstest.MapFS{string(d.Journal()): file(append(journal, `{"done":{"address":"file:~/torn"`...))}}, base)
			if err != nil || !torn.Unfinished() {
				t.Fatalf("half a line behind it changes what the journal says: %v", err)
			}
			for _, step := range append(s.journal.Entry().Changes, EntryStep{Address: "file:~/torn"}) {
				_, was := s.journal.Done(step.Address)
				if _, is := torn.journal.Done(step.Address); is != was && bytes.HasSuffix(journal, []byte("\n")) {
					t.Fatalf("half a line behind it changes what the journal says of %s", step.Address)
				}
			}
		}
	})
}
