package pin

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

var tool = reconcile.Pin{Kind: "package", Name: "npm/tool", Values: map[string]string{"version": "1.0.0"}}

func TestFileIsWrittenOnlyWhereItSaysSomethingNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	o := fsys.Options{Tag: "t"}
	f, err := ReadFile(path)
	must(t, err)
	if f.Found() || f.Changed() || f.Digest() != "" {
		t.Errorf("no file: %+v", f)
	}
	must(t, f.Save(o))
	if _, err := os.Stat(path); err == nil {
		t.Error("an empty lock was written")
	}
	f.Set([]reconcile.Pin{tool})
	if !f.Changed() {
		t.Error("a new pin is no change")
	}
	must(t, f.Save(o))
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), `"name":"npm/tool"`) || f.Changed() || f.Digest() != fsys.Digest(b) {
		t.Errorf("wrote %q, %v", b, err)
	}
	again, err := ReadFile(path)
	must(t, err)
	if pin, ok := again.Lock.Pin("package", "npm/tool", ""); !again.Found() || !ok || pin.Values["version"] != "1.0.0" {
		t.Errorf("read %+v", again)
	}
	again.Lock.Unpin(func(reconcile.Pin) bool { return false })
	must(t, again.Save(o))
	if _, err := os.Stat(path); err == nil || again.Found() {
		t.Error("a lock without a pin stays")
	}
	if got := (*File)(nil).Digest(); got != "" {
		t.Errorf("no project: %q", got)
	}
}

func TestFileOfAnotherWriterIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	f, err := ReadFile(path)
	must(t, err)
	f.Set([]reconcile.Pin{tool})
	must(t, os.WriteFile(path, []byte("theirs\n"), 0o644))
	err = f.Save(fsys.Options{Tag: "t"})
	wantError(t, err, NotWritable, "", "write "+path+": ")
	if !errors.Is(err, fsys.ErrChanged) || !strings.HasSuffix(err.Error(), "; the folder of a spec must be writable until everything in it is pinned") {
		t.Errorf("error %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "theirs\n" {
		t.Errorf("holds %q, %v", b, err)
	}
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path+":1: ") {
		t.Errorf("a file that is no lock: %v", err)
	}
	if _, err := ReadFile(filepath.Dir(path)); err == nil || !strings.HasPrefix(err.Error(), "read lock: ") {
		t.Errorf("a folder: %v", err)
	}
	gone := filepath.Join(t.TempDir(), "gone", FileName)
	f = &File{Path: gone, Lock: &reconcile.Lock{}}
	f.Set([]reconcile.Pin{tool})
	wantError(t, f.Save(fsys.Options{Tag: "t"}), NotWritable, "", "write "+gone)
	if err := f.Sweep(fsys.Options{Tag: "t"}); err != nil {
		t.Errorf("sweep where there is no folder: %v", err)
	}
}

func TestSweepRemovesWhatAKilledSaveLeft(t *testing.T) {
	dir := t.TempDir()
	stay := []string{".aisync.lock.aisync", ".other.lock.aisync-1", FileName, "aisync.lock.aisync-1", "host.cue"}
	for _, name := range append([]string{".aisync.lock.aisync-1", "...aisync.lock.aisync-2.aisync-3"}, stay...) {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	f := &File{Path: filepath.Join(dir, FileName), Lock: &reconcile.Lock{}}
	must(t, f.Sweep(fsys.Options{Tag: "t"}))
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if slices.Sort(stay); !slices.Equal(got, stay) {
		t.Errorf("left %q, want %q", got, stay)
	}
}
