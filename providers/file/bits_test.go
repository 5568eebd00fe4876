package file

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// noModes is a double of a file system that keeps no modes: the test gives
// every file the one of the mount.
type noModes struct{ fsys.FS }

func (noModes) KeepsExec(fsys.LogicalPath, fs.FileMode) bool { return false }

func TestNoDriftOnFileSystemWithoutModes(t *testing.T) {
	plain, script, seed := Whole([]byte("text\n"), 0o644), Whole([]byte("#!/bin/sh\n"), 0o755), Whole([]byte("first\n"), 0o644)
	for _, mount := range []fs.FileMode{0o777, 0o644} {
		for _, keeps := range []bool{false, true} {
			m := newMachine(t)
			if !keeps {
				m.env.FS = noModes{m.env.FS}
				m.env.ReadEnv.FS = m.env.FS
			}
			for _, c := range []struct {
				name   string
				key    reconcile.LeafKey
				body   reconcile.Body
				member bool
			}{{name: "plain", body: plain}, {name: "script", body: script}, {name: "seed", key: reconcile.Seed, body: seed}, {name: "doc.json", key: "/a", body: Value([]byte("1")), member: true}} {
				create := m.decide(c.name, "", act(c.key, reconcile.Create, c.body, nil))
				made := m.apply(t, create)
				path := filepath.Join(m.dir, c.name)
				if err := os.Chmod(path, mount); err != nil {
					t.Fatal(err)
				}
				same := !keeps || (mount&0o100 != 0) == Executable(c.body)
				last := &reconcile.LeafRecord{Live: c.body.Fingerprint()}
				for what, change := range map[string]reconcile.Change{
					"wanted and recorded": m.decide(c.name, "", act(c.key, reconcile.None, c.body, last)),
					"only wanted":         m.decide(c.name, "", act(c.key, reconcile.None, c.body, nil)),
					"only recorded":       m.decide(c.name, "", act(c.key, reconcile.None, nil, last)),
				} {
					if got := change.Before.Token == made.Token; got != same {
						t.Errorf("%s, %o, modes kept %v, %s: is what was written: %v", c.name, mount, keeps, what, got)
					}
					if got := change.Before.Live[c.key] == c.body.Fingerprint(); got != (same || c.member) {
						t.Errorf("%s, %o, modes kept %v, %s: live is what is wanted: %v", c.name, mount, keeps, what, got)
					}
				}
				if c.member {
					continue
				}
				again := m.decide(c.name, "", act(c.key, reconcile.Update, c.body, last))
				if lines := (Provider{}).Explain(context.Background(), m.env.ReadEnv, again); (len(lines) == 0) != same {
					t.Errorf("%s, %o, modes kept %v: %v", c.name, mount, keeps, lines)
				}
				m.put(t, c.name, "other\n")
				if live := m.decide(c.name, "", act(c.key, reconcile.None, c.body, last)).Before.Live[c.key]; live == c.body.Fingerprint() {
					t.Errorf("%s, %o, modes kept %v: an edit of the text is not seen", c.name, mount, keeps)
				}
			}
		}
	}
}

func TestWithoutModesOnlyExecBitMayMove(t *testing.T) {
	m := newMachine(t)
	m.env.ReadEnv.FS = noModes{m.env.FS}
	was, want := Whole([]byte("x\n"), 0o644), Whole([]byte("x\n"), 0o755)
	write(t, filepath.Join(m.dir, "f"), "x\n", 0o644)
	last := &reconcile.LeafRecord{Live: was.Fingerprint()}
	if live := m.decide("f", "", act("", reconcile.Update, want, last)).Before.Live[""]; live != want.Fingerprint() {
		t.Errorf("the bytes that are wanted are taken for %s", live)
	}
	next := Whole([]byte("y\n"), 0o755)
	if live := m.decide("f", "", act("", reconcile.Update, next, last)).Before.Live[""]; live != was.Fingerprint() {
		t.Errorf("what was recorded and not touched is taken for %s", live)
	}
}
