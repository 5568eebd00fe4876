package reconcile

import (
	"errors"
	"strings"
	"testing"
)

func TestALockIsTheSameBytesWhateverTheOrder(t *testing.T) {
	a, b := &Lock{}, &Lock{}
	p1 := Pin{Kind: "model", Name: "tiny", Values: map[string]string{"sha256": "59a6", "quant": "F32"}}
	p2 := Pin{Kind: "quant", Name: "qwen", Host: "velox", Values: map[string]string{"quant": "Q4_K_M"}}
	a.SetPin(p1)
	a.SetPin(p2)
	b.SetPin(p2)
	b.SetPin(Pin{Kind: "model", Name: "tiny", Values: map[string]string{"sha256": "old"}})
	b.SetPin(p1)
	recs := []Record{
		{Address: "file:x", Leaves: []LeafRecord{{Key: "/b", Live: "2", Provenance: Created}, {Key: "/a", Live: "1", Provenance: Adopted}}},
		{Address: "file:a", Leaves: []LeafRecord{{Live: "1", Provenance: Replaced, Prior: "sha256:secretbackup"}}},
		{Address: "file:~/home", Leaves: []LeafRecord{{Live: "1"}}},
		{Address: "dir:.ai/sessions", Local: true, Leaves: []LeafRecord{{Live: "1"}}},
	}
	a.setRecords(recs)
	recs[0], recs[1] = recs[1], recs[0]
	b.setRecords(recs)
	if string(a.Bytes()) != string(b.Bytes()) {
		t.Errorf("%s\n%s", a.Bytes(), b.Bytes())
	}
	text := string(a.Bytes())
	for _, never := range []string{"secretbackup", "~/home", ".ai/sessions"} {
		if strings.Contains(text, never) {
			t.Errorf("lock holds %s:\n%s", never, text)
		}
	}
	back, err := ParseLock("aisync.lock", a.Bytes())
	if err != nil || string(back.Bytes()) != text {
		t.Errorf("%v\n%s", err, back.Bytes())
	}
	if got, ok := back.Pin("quant", "qwen", "velox"); !ok || got.Values["quant"] != "Q4_K_M" {
		t.Error(got, ok)
	}
	if _, ok := back.Pin("quant", "qwen", "pearl"); ok {
		t.Error("another host's pin was taken")
	}
	if recs := back.records("project:/p"); len(recs) != 2 || len(recs[1].Leaves) != 2 {
		t.Errorf("%+v", recs)
	}
}

func TestADamagedLockIsNamedByLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a merge's markers":  {"{\"format_version\":1}\n<<<<<<< HEAD\n", "aisync.lock:2: not a line of a lock"},
		"no version":         {"{\"kind\":\"model\"}\n", "aisync.lock:1: no format_version"},
		"a blank first line": {"\n{\"kind\":\"model\"}\n", "aisync.lock:1: not a line of a lock"},
		"no kind":            {"{\"format_version\":1}\n{\"name\":\"x\"}\n", "aisync.lock:2: a line without kind"},
		"no fingerprint":     {"{\"format_version\":1}\n{\"kind\":\"target\",\"address\":\"file:x\"}\n", "aisync.lock:2: a target without"},
	} {
		if _, err := ParseLock("aisync.lock", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseLock("aisync.lock", []byte(`{"format_version":2}`)); !errors.Is(err, ErrLockNewer) {
		t.Error(err)
	}
}
