package converge

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

func TestFailuresDoubleThePause(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const every = 4 * time.Hour
	var last *Report
	for i, want := range []time.Duration{0, 8 * time.Hour, 16 * time.Hour, 24 * time.Hour, 24 * time.Hour} {
		r := &Report{Failed: []string{"x"}}
		r.Close(last, every, now)
		until := r.Waits(every, now)
		if want == 0 && !until.IsZero() || want > 0 && until.Sub(now) != want {
			t.Errorf("failure %d: waits until %v", i+1, until)
		}
		if !r.Waits(every, now.Add(25*time.Hour)).IsZero() {
			t.Errorf("failure %d: waits for ever", i+1)
		}
		if !r.Waits(every, now.Add(-48*time.Hour)).IsZero() {
			t.Errorf("failure %d: waits for a clock that was set back", i+1)
		}
		last = r
	}
	good := &Report{}
	good.Close(last, every, now)
	if good.Failures != 0 || !good.Waits(every, now).IsZero() {
		t.Errorf("after a run that worked: %+v", good)
	}
	rare := &Report{Failed: []string{"x"}}
	rare.Close(last, 72*time.Hour, now)
	if until := rare.Waits(72*time.Hour, now); until.Sub(now) != 72*time.Hour {
		t.Errorf("every three days: waits until %v", until)
	}
	if !(*Report)(nil).Waits(every, now).IsZero() {
		t.Error("the first run waits")
	}
}

func TestFilesAreReadBack(t *testing.T) {
	p := place.Places{State: fsys.LogicalPath(t.TempDir())}
	if a, err := ReadAs(p); a != nil || err != nil {
		t.Error(a, err)
	}
	env := environ.Env{"PATH": "/bin", "HF_TOKEN": "secret", "CODEX_HOME": "/x", "OTHER": "y"}
	got := Variables(env, []spec.Runtime{{HomeVar: "CODEX_HOME"}, {}})
	if !maps.Equal(got, map[string]string{"PATH": "/bin", "CODEX_HOME": "/x"}) {
		t.Error(got)
	}
	if err := (As{Host: "h", Env: got}).Write(p); err != nil {
		t.Fatal(err)
	}
	if a, err := ReadAs(p); err != nil || a.Host != "h" || a.Env["PATH"] != "/bin" {
		t.Error(a, err)
	}
	r := &Report{Changed: []string{"file:~/x"}, Waiting: []Waiting{{"file:~/y", "edited"}}}
	r.Close(nil, time.Hour, time.Now())
	if err := r.Write(p); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadReport(p); err != nil || len(b.Changed) != 1 || b.Waiting[0].Why != "edited" {
		t.Error(b, err)
	}
	at := filepath.Join(string(p.State), "converge", "last.json")
	if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	for _, bad := range []string{"{", `{"format_version": "2.0"}`} {
		if err := os.WriteFile(at, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadReport(p); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
