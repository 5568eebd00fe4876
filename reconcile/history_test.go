package reconcile_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	. "aisync.dev/aisync/reconcile"
)

// applyFile is where the newest entry of the history lies.
func (m *machine) applyFile() string {
	m.Helper()
	files, err := filepath.Glob(filepath.Join(m.root, string(state), "applies/*.json"))
	if err != nil || len(files) == 0 {
		m.Fatalf("%v, %v", files, err)
	}
	return files[len(files)-1]
}

func TestHeadsAreTheHistoryWithoutChanges(t *testing.T) {
	m := newMachine(t)
	odd := `"]},{"changes":[{` + "\n" + `\`
	m.apply(want(host, whole("file:~/a", HostOwner, "1"), key("file:~/b.json", HostOwner, LeafKey("/"+odd), `{"x": [1, "]}"]}`)))
	m.apply(want(host), func(o *ApplyOptions) { o.Command = odd })
	m.apply(want(host, whole("file:~/a", HostOwner, "2")))
	if err := m.undo("", Choice{}); err != nil {
		t.Fatal(err)
	}
	for _, rewrite := range []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.ReplaceAll(s, `,"changes":[`, `, "changes": [`) }, // as others write JSON
	} {
		b, err := os.ReadFile(m.applyFile())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.applyFile(), []byte(rewrite(string(b))), 0o600); err != nil {
			t.Fatal(err)
		}
		s := m.open().store
		whole, err := s.History()
		if err != nil || len(whole) != 4 {
			t.Fatalf("%d entries, %v", len(whole), err)
		}
		heads, err := s.Heads()
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			if whole[i].Resources != len(whole[i].Changes) || whole[i].Resources == 0 {
				t.Errorf("%s counts %d of %d resources", whole[i].ID, whole[i].Resources, len(whole[i].Changes))
			}
			whole[i].Changes = nil
		}
		if !reflect.DeepEqual(heads, whole) {
			t.Errorf("%+v\nwant\n%+v", heads, whole)
		}
	}
}

func TestHeadsOfADamagedHistory(t *testing.T) {
	for _, damage := range []func(string) string{
		func(s string) string { return s[:len(s)/2] },
		func(s string) string { return s + "x" },
		func(s string) string { return strings.Replace(s, `"format_version":1`, `"format_version":99`, 1) },
	} {
		m := newMachine(t)
		m.apply(want(host, whole("file:~/a", HostOwner, "1")))
		b, err := os.ReadFile(m.applyFile())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.applyFile(), []byte(damage(string(b))), 0o600); err != nil {
			t.Fatal(err)
		}
		if heads, err := m.open().store.Heads(); err == nil {
			t.Errorf("%+v", heads)
		}
	}
}

func TestRollbackDecodesTheChangesOfOneApply(t *testing.T) {
	m := newMachine(t)
	m.apply(want(host, whole("file:~/a", HostOwner, "1")))
	first := m.applyFile()
	m.apply(want(host, whole("file:~/a", HostOwner, "2")))
	b, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first, []byte(strings.Replace(string(b), `"writes":true`, `"writes":none`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.undo("", Choice{}); err != nil || m.read("~/a") != "1" {
		t.Errorf("%q, %v", m.read("~/a"), err)
	}
	if err := m.undo("", Choice{}); err == nil {
		t.Error("what cannot be read was taken back")
	}
}
