package statearchive

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func unpack(b []byte, dir string, check func(Head) error) (Head, Summary, error) {
	return Unpack(bytes.NewReader(b), int64(len(b)), dir, check)
}

// What no Pack writes is refused, and nothing is written outside.
func TestUnpackRefuses(t *testing.T) {
	for _, name := range []string{"../evil", "records/../../evil", "/evil", "evil", "records", "id.json/x", "lock", "keys/coder", "records//x", "records/"} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, n := range []string{headName, name} {
			f, err := z.Create(n)
			if err != nil {
				t.Fatal(err)
			}
			if n == headName {
				if _, err := f.Write([]byte(`{"format_version": 1}`)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		top := t.TempDir()
		dir := filepath.Join(top, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, _, err := unpack(b.Bytes(), dir, func(Head) error { return nil }); !errors.Is(err, ErrNoArchive) {
			t.Errorf("%q: %v", name, err)
		}
		if left, _ := os.ReadDir(top); len(left) != 1 {
			t.Errorf("%q: wrote %v", name, left)
		}
	}
}

func TestUnpackGivesWhatPackTook(t *testing.T) {
	from, temp, to := t.TempDir(), t.TempDir(), t.TempDir()
	files := map[string]string{"records/host.json": "{}", "applies/1.json": "{}", "applies/2.json": "{}", "backups/7e/7e4f": "before", "id.json": "{}", "secrets.key": "key", "contents/host.zip": "zip"}
	for name, text := range files {
		put(t, from, name, text)
	}
	for _, left := range []string{"lock", "aisync.log", "keys/coder", "services/coder.log", "records.index", "records/.new-1", "work-trees/x/y"} {
		put(t, from, left, "no")
	}
	var b bytes.Buffer
	sum, err := Pack(&b, from, Head{Aisync: "v1", Host: "h", Home: "/home/me", Made: time.Now()})
	if err != nil || sum.Records != 1 || sum.Applies != 2 || sum.Files != len(files) {
		t.Fatal(sum, err)
	}
	refused := errors.New("no")
	if _, _, err := unpack(b.Bytes(), t.TempDir(), func(Head) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	h, got, err := unpack(b.Bytes(), temp, func(Head) error { return nil })
	if err != nil || got != sum || h.Home != "/home/me" || h.FormatVersion != Version {
		t.Fatal(h, got, err)
	}
	if found, err := Present(to); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
	put(t, to, "lock", "")
	if err := os.Mkdir(filepath.Join(to, "records"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Move(temp, to); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if is, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(is) != text {
			t.Errorf("%s: %q, %v", name, is, err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "keys")); err == nil {
		t.Error("keys of services are in the archive")
	}
	if found, err := Present(to); err != nil || len(found) != 4 {
		t.Error(found, err)
	}
	// Every cut, and every changed byte of a content, is noticed.
	broken := bytes.Clone(b.Bytes())
	broken[bytes.Index(broken, []byte("backups/7e/7e4f"))+len("backups/7e/7e4f")+10] ^= 0xff
	if _, _, err := unpack(broken, t.TempDir(), func(Head) error { return nil }); !errors.Is(err, ErrNoArchive) {
		t.Errorf("a changed byte: %v", err)
	}
	for n := 0; n < b.Len(); n += 7 {
		if _, _, err := unpack(b.Bytes()[:n], t.TempDir(), func(Head) error { return nil }); !errors.Is(err, ErrNoArchive) {
			t.Fatalf("cut at %d of %d bytes: %v", n, b.Len(), err)
		}
	}
}
