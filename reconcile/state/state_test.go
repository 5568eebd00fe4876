package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aisync.dev/aisync/reconcile/fsys"
)

const base = fsys.LogicalPath("/state")

// newDir returns a state folder, its file system and where that lies.
func newDir(t *testing.T, hook fsys.Hook) (*Dir, *fsys.Disk, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, err := fsys.New(fsys.Options{Root: root, Tag: "t1", Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	return Open(w, base), w, root
}

func put(t *testing.T, w fsys.FS, p fsys.LogicalPath, s string) {
	t.Helper()
	if err := writeOver(w, p, []byte(s)); err != nil {
		t.Fatal(err)
	}
}

func text(r fsys.Reader, p fsys.LogicalPath) string {
	b, err := r.ReadFile(p)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

type document struct {
	FormatVersion int    `json:"format_version"`
	Name          string `json:"name"`
}

func TestADocumentIsWrittenPrivatelyAndOnlyIfItChanges(t *testing.T) {
	hook, ops := fsys.CountOps()
	_, w, root := newDir(t, hook)
	p := base.Join("records", "host.json")
	var got document
	if found, err := ReadVersioned(w, p, 2, nil, &got); found || err != nil {
		t.Fatal(found, err)
	}
	if err := WriteVersioned(w, p, 2, document{2, "one"}); err != nil {
		t.Fatal(err)
	}
	if found, err := ReadVersioned(w, p, 2, nil, &got); !found || err != nil || got.Name != "one" {
		t.Fatal(found, err, got)
	}
	before := ops.Load()
	if err := WriteVersioned(w, p, 2, document{2, "one"}); err != nil || ops.Load() != before {
		t.Fatal(err, ops.Load()-before)
	}
	for path, mode := range map[string]fs.FileMode{"state": fs.ModeDir | 0o700, "state/records": fs.ModeDir | 0o700, "state/records/host.json": 0o600} {
		if fi, err := os.Stat(filepath.Join(root, path)); err != nil || fi.Mode() != mode {
			t.Error(path, fi.Mode(), err)
		}
	}
	if err := WriteVersioned(w, p, 2, document{1, "one"}); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a document of the wrong version is written: %v", err)
	}
}

func TestAnOlderDocumentIsMigratedAndKept(t *testing.T) {
	_, w, _ := newDir(t, nil)
	p := base.Join("doc.json")
	migrate := Migrations{
		1: func(b []byte) ([]byte, error) { return []byte(strings.Replace(string(b), "title", "label", 1)), nil },
		2: func(b []byte) ([]byte, error) { return []byte(strings.Replace(string(b), "label", "name", 1)), nil },
	}
	for _, old := range []string{`{"title":"a","format_version":1}`, `{"title":"b","format_version":1}`} {
		put(t, w, p, old)
		var got document
		if _, err := ReadVersioned(w, p, 3, migrate, &got); err != nil || got.Name == "" {
			t.Fatal(got, err)
		}
		if text(w, p) != old {
			t.Fatal("reading wrote")
		}
		if err := WriteVersioned(w, p, 3, document{3, got.Name}); err != nil {
			t.Fatal(err)
		}
		if text(w, base.Join("doc.json.v1.bak")) != old || !strings.Contains(text(w, p), `"format_version":3`) {
			t.Fatal(text(w, base.Join("doc.json.v1.bak")), text(w, p))
		}
	}
	put(t, w, p, `{"format_version":1}`)
	if _, err := ReadVersioned(w, p, 3, Migrations{2: migrate[2]}, &document{}); err == nil || !strings.Contains(err.Error(), "no way") {
		t.Errorf("a missing migration: %v", err)
	}
	no := errors.New("no")
	if _, err := ReadVersioned(w, p, 3, Migrations{1: func([]byte) ([]byte, error) { return nil, no }}, &document{}); !errors.Is(err, no) {
		t.Errorf("a failing migration: %v", err)
	}
}

func TestWhatCannotBeReadIsRefusedWithItsPlaceAndNeverOverwritten(t *testing.T) {
	for _, c := range []struct {
		name, in, place string
		want            error
		say             string
	}{
		{"newer", `{"format_version":9,"name":"a"}`, "doc.json: ", ErrNewer, "upgrade aisync"},
		{"newer, version last", `{"name":"a","format_version":9}`, "doc.json: ", ErrNewer, "format_version 9, and this aisync knows up to 2"},
		{"cut off", "{\"format_version\":2,\n \"name\":", "doc.json:2:8: ", ErrDamaged, "move the file away"},
		{"wrong byte", "{\"format_version\":2,\n \"name\": x}", "doc.json:2:10: ", ErrDamaged, "move the file away"},
		{"wrong type", "{\"format_version\":2,\n \"name\": 5}", "doc.json:2:10: ", ErrDamaged, "move the file away"},
		{"no version", `{"name":"a"}`, "doc.json:1:1: ", ErrDamaged, "no format_version"},
		{"version 0", `{"format_version":0}`, "doc.json:1:1: ", ErrDamaged, "no format_version"},
		{"not an object", `[]`, "doc.json:1:1: ", ErrDamaged, "move the file away"},
		{"empty", ``, "doc.json:1:1: ", ErrDamaged, "move the file away"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, w, root := newDir(t, nil)
			p := base.Join("doc.json")
			put(t, w, p, c.in)
			found, err := ReadVersioned(w, p, 2, nil, &document{})
			if !found || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) ||
				!strings.HasPrefix(err.Error(), filepath.Join(root, "state", c.place)) {
				t.Errorf("read: %v", err)
			}
			if strings.Contains(c.name, "type") || strings.Contains(c.name, "cut") || strings.Contains(c.name, "byte") {
				return // its version is in order, and the version is all that writing looks at
			}
			if err := WriteVersioned(w, p, 2, document{2, "new"}); !errors.Is(err, c.want) || text(w, p) != c.in {
				t.Errorf("write: %v", err)
			}
		})
	}
}

func TestBackupsOfFilesLinksAndBytes(t *testing.T) {
	d, w, root := newDir(t, nil)
	put(t, w, "/f", "target") // the same text as the link's target
	if err := w.Chmod("/f", 0o751); err != nil {
		t.Fatal(err)
	}
	if err := w.Symlink("/l", "target", fsys.Expect{Absent: true}, nil); err != nil {
		t.Fatal(err)
	}
	file, link := fsys.Digest([]byte("target")), fsys.LinkDigest("target")
	if err := errors.Join(d.KeepBackup(w, "/l", link), d.KeepBackup(w, "/f", file)); err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{file, link} {
		if b, err := d.GetBackup(digest); string(b) != "target" || err != nil {
			t.Errorf("%s: %q %v", digest, b, err)
		}
	}
	if _, err := w.Lstat("/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the file was not moved")
	}
	p, _ := d.backup(file)
	if fi, err := w.Lstat(p); err != nil || fi.Mode() != 0o751 {
		t.Error("its mode is lost", err)
	}
	put(t, w, "/f", "target")
	if err := d.KeepBackup(w, "/f", file); err != nil || text(w, "/f") != "target" {
		t.Error("what is kept already is left to the caller:", err)
	}
	digest, err := d.PutBackup(w, []byte("bytes"))
	if b, gerr := d.GetBackup(digest); err != nil || gerr != nil || string(b) != "bytes" {
		t.Error(err, gerr, b)
	}
	if _, err := d.GetBackup(fsys.Digest([]byte("gone"))); !errors.Is(err, ErrNoBackup) {
		t.Error(err)
	}
	for _, bad := range []string{"", "sha256:", "sha256:../../etc", "md5:00", strings.ToUpper(file)} {
		if _, err := d.GetBackup(bad); err == nil {
			t.Errorf("%q is taken for a digest", bad)
		}
		if err := d.KeepBackup(w, "/f", bad); err == nil {
			t.Errorf("%q is taken for a digest", bad)
		}
	}
	if fi, _ := os.Stat(filepath.Join(root, "state/backups")); fi.Mode().Perm() != 0o700 {
		t.Error(fi.Mode())
	}
}

func TestADamagedBackupIsNoticedAndReplaced(t *testing.T) {
	d, w, _ := newDir(t, nil)
	for _, b := range []string{"one", "two"} {
		digest, err := d.PutBackup(w, []byte(b))
		if err != nil {
			t.Fatal(err)
		}
		p, _ := d.backup(digest)
		put(t, w, p, "rotten")
		if _, err := d.GetBackup(digest); !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		put(t, w, "/old", b)
		if b == "one" {
			err = d.KeepBackup(w, "/old", digest)
		} else {
			_, err = d.PutBackup(w, []byte(b))
		}
		if got, gerr := d.GetBackup(digest); err != nil || gerr != nil || string(got) != b {
			t.Fatal(err, gerr)
		}
	}
}

func TestAFileWithOtherNamesIsCopiedNotMoved(t *testing.T) {
	d, w, root := newDir(t, nil)
	put(t, w, "/old", "one")
	if err := os.Link(filepath.Join(root, "old"), filepath.Join(root, "other")); err != nil {
		t.Fatal(err)
	}
	digest := fsys.Digest([]byte("one"))
	if err := d.KeepBackup(w, "/old", digest); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "other"), []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := d.GetBackup(digest); string(b) != "one" || err != nil {
		t.Fatal(b, err)
	}
	if err := d.KeepBackup(w, "/old", fsys.Digest([]byte("three"))); !errors.Is(err, fsys.ErrChanged) {
		t.Fatalf("bytes are kept under another digest: %v", err)
	}
}

func TestAFaultWhileKeepingLosesNothing(t *testing.T) {
	digest := fsys.Digest([]byte("one"))
	for n := int64(1); ; n++ {
		fault, seen := fsys.FailAt(n, syscall.ENOSPC)
		var on bool
		d, w, _ := newDir(t, func(op fsys.Op) error {
			if !on {
				return nil
			}
			return fault(op)
		})
		put(t, w, "/old", "one")
		on = true
		err := d.KeepBackup(w, "/old", digest)
		on = false
		b, gerr := d.GetBackup(digest)
		if err != nil && text(w, "/old") != "one" || err == nil && (gerr != nil || string(b) != "one") {
			t.Fatal(n, err, gerr)
		}
		if seen.Load() < n {
			if n < 3 {
				t.Fatal("no operation seen")
			}
			return
		}
		if err == nil {
			t.Fatalf("operation %d failed unnoticed", n)
		}
	}
}

func TestContentsKeepWhatIsNamedAndComeInOneFile(t *testing.T) {
	hook, ops := fsys.CountOps()
	d, w, root := newDir(t, hook)
	add, all := map[string][]byte{}, map[string]bool{}
	digest := func(i int) string { return fsys.Digest(fmt.Append(nil, "text ", i)) }
	for i := range 3 {
		add[digest(i)], all[digest(i)] = fmt.Append(nil, "text ", i), true
	}
	if _, ok := d.ReadContent("host", digest(0)); ok {
		t.Fatal("something is there before anything was written")
	}
	if err := d.WriteContents(w, "host", add, all); err != nil {
		t.Fatal(err)
	}
	before := ops.Load()
	if err := d.WriteContents(w, "host", add, all); err != nil || ops.Load() != before {
		t.Fatal("the same was written twice", err)
	}
	fresh := map[string][]byte{digest(3): []byte("text 3")}
	if err := d.WriteContents(w, "host", fresh, map[string]bool{digest(1): true, digest(3): true}); err != nil {
		t.Fatal(err)
	}
	for _, reader := range []*Dir{d, Open(w, base)} {
		for i, want := range []bool{false, true, false, true} {
			b, ok := reader.ReadContent("host", digest(i))
			if ok != want || ok && string(b) != fmt.Sprint("text ", i) {
				t.Errorf("text %d: %q %v", i, b, ok)
			}
		}
	}
	wrong := map[string][]byte{digest(4): []byte("another text")}
	if err := d.WriteContents(w, "wrong", wrong, map[string]bool{digest(4): true}); err != nil {
		t.Fatal(err)
	}
	if b, ok := d.ReadContent("wrong", digest(4)); ok {
		t.Errorf("%q passes for another text", b)
	}
	if _, ok := d.ReadContent("other", digest(1)); ok {
		t.Error("another owner sees it")
	}
	zip := filepath.Join(root, "state/contents/host.zip")
	if fi, err := os.Stat(zip); err != nil || fi.Mode() != 0o600 {
		t.Error(fi, err)
	}
	if b, err := os.ReadFile(zip); err != nil || !strings.Contains(string(b), "text 3") {
		t.Error("texts are stored as they are", err)
	}
}

func TestADamagedContentsFileCountsAsNone(t *testing.T) {
	d, w, _ := newDir(t, nil)
	digest := fsys.Digest([]byte("alpha"))
	put(t, w, base.Join("contents/host.zip"), "this is no zip")
	if _, ok := d.ReadContent("host", digest); ok {
		t.Fatal("read from nowhere")
	}
	if err := d.WriteContents(w, "host", map[string][]byte{digest: []byte("alpha")}, map[string]bool{digest: true}); err != nil {
		t.Fatal(err)
	}
	if b, ok := d.ReadContent("host", digest); !ok || string(b) != "alpha" {
		t.Fatal("not written anew")
	}
	put(t, w, base.Join("contents/host.zip"), strings.Replace(text(w, base.Join("contents/host.zip")), "alpha", "omega", 1))
	if b, ok := Open(w, base).ReadContent("host", digest); ok {
		t.Fatalf("%q passes for another text", b)
	}
}

func TestWhatKeepsALinkIsJSON(t *testing.T) {
	d, w, _ := newDir(t, nil)
	if err := w.Symlink("/l", "a \"b\"", fsys.Expect{Absent: true}, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.KeepBackup(w, "/l", fsys.LinkDigest("a \"b\"")); err != nil {
		t.Fatal(err)
	}
	p, _ := d.backup(fsys.LinkDigest("a \"b\""))
	var got map[string]string
	if err := json.Unmarshal([]byte(text(w, p)), &got); err != nil || got["link"] != "a \"b\"" {
		t.Fatal(text(w, p), err)
	}
}
