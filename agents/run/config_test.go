package run

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/schema"
)

func (w *world) config(dir, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, Dir), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, Dir, configFile), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func TestWorkspaceConfigOverridesUsers(t *testing.T) {
	w := newWorld(t)
	w.config(w.home, `{"schemaVersion":1,"runtime":{"maxWorkers":7,"leaseDurationSeconds":600},"adapters":{"claudeCode":{"enabled":true},"opencode":{"defaultSubstrate":"process"}}}`)
	w.config(w.dir, `{"schemaVersion":1,"runtime":{"maxWorkers":2},"adapters":{"unknown":{"enabled":true}},"retention":{"retainLogsDays":0}}`)
	c := must(w.store.Config())
	if c.Settings.MaxWorkers != 2 || c.Settings.LeaseMS != 600_000 || c.Settings.RetainLogsDays != 0 || c.Settings.HeartbeatMS != 120_000 {
		t.Errorf("%+v", c.Settings)
	}
	if !c.Adapters["claude"].Enabled || c.Adapters["claude"].Substrate != Process || c.Adapters["opencode"].Substrate != Process || !c.Adapters["codex"].Enabled {
		t.Errorf("%+v", c.Adapters)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "adapters.unknown") {
		t.Errorf("%v", c.Warnings)
	}
	for _, r := range c.Reasons {
		want := map[string]string{"maxWorkers": filepath.Join(w.dir, Dir, configFile), "leaseDurationSeconds": filepath.Join(w.home, Dir, configFile), "depth": "default"}[r.Setting]
		if want != "" && r.From != want {
			t.Errorf("%+v, want %s", r, want)
		}
	}
}

// The seed's depth is the only one; a config that asks for another is still read.
func TestOnlyStandardDepth(t *testing.T) {
	w := newWorld(t)
	for depth, warnings := range map[string]int{"quick": 1, "standard": 0, "deep": 1} {
		w.config(w.dir, `{"schemaVersion":1,"verification":{"defaultDepth":"`+depth+`"}}`)
		if c := must(w.store.Config()); c.Settings.Depth != Standard || len(c.Warnings) != warnings {
			t.Errorf("%s: depth %s, %v", depth, c.Settings.Depth, c.Warnings)
		}
	}
}

// The hint names the key and the file that decide.
func TestDisabledAdapterNamesSetting(t *testing.T) {
	w := newWorld(t)
	own, users := filepath.Join(w.dir, Dir, configFile), filepath.Join(w.home, Dir, configFile)
	for _, c := range []struct{ own, users, want string }{
		{`{"schemaVersion":1}`, `{"schemaVersion":1}`, "adapter claude is not enabled (default); set adapters.claude.enabled to true in .ilchul/config.json"},
		{`{"schemaVersion":1,"adapters":{"claudeCode":{"enabled":false},"claude":{"enabled":true}}}`, `{"schemaVersion":1}`,
			"adapter claude is not enabled (" + own + "); set adapters.claudeCode.enabled to true in " + own},
		{`{"schemaVersion":1,"adapters":{"claude":{"defaultSubstrate":"tmux"}}}`, `{"schemaVersion":1,"adapters":{"claude":{"enabled":false}}}`,
			"adapter claude is not enabled (" + users + "); set adapters.claude.enabled to true in " + users},
		{`{"schemaVersion":1,"adapters":{"claude":{"enabled":true}}}`, `{"schemaVersion":1,"adapters":{"claudeCode":{"enabled":false}}}`, ""},
	} {
		w.config(w.dir, c.own)
		w.config(w.home, c.users)
		err := must(w.store.Config()).Enabled("claude")
		got := ""
		if no := (*NotEnabled)(nil); errors.As(err, &no) {
			got = no.Error() + "; " + no.Hint()
		}
		if got != c.want {
			t.Errorf("%s over %s:\ngot  %s\nwant %s", c.own, c.users, got, c.want)
		}
	}
	if err := must(w.store.Config()).Enabled("opencode"); err != nil {
		t.Error(err)
	}
}

func TestLeaseIsLongerThanHeartbeat(t *testing.T) {
	w := newWorld(t)
	w.config(w.home, `{"schemaVersion":1,"runtime":{"leaseDurationSeconds":60}}`)
	if _, err := w.store.Config(); err == nil || !strings.Contains(err.Error(), "longer than the heartbeat") {
		t.Errorf("got %v", err)
	}
}

func TestBoundsMatchSchema(t *testing.T) {
	text := string(schema.RunText())
	for name, b := range Bounds {
		i := strings.Index(text, name+"?:")
		if i < 0 {
			t.Fatal(name)
		}
		line, _, _ := strings.Cut(text[i:], "\n")
		for _, n := range []string{">=" + strconv.Itoa(b[0]) + " ", "<=" + strconv.Itoa(b[1]) + " "} {
			if !strings.Contains(line, n) {
				t.Errorf("%s: %q has no %q", name, line, n)
			}
		}
	}
}

func TestWorktreeRootIsConfined(t *testing.T) {
	out := t.TempDir()
	w := newWorld(t)
	os.MkdirAll(filepath.Join(w.dir, "in"), 0o700)
	os.MkdirAll(filepath.Join(w.home, Dir), 0o700)
	for name, to := range map[string]string{"away": out, "inner": filepath.Join(w.dir, "in"), "nowhere": filepath.Join(out, "not-there"), "chain": "away", "in/up": "../.."} {
		if err := os.Symlink(to, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	home := must(filepath.EvalSymlinks(w.home))
	for _, c := range []struct{ text, want string }{
		{"", filepath.Join(home, Dir, "worktrees")},
		{".ilchul/worktrees", filepath.Join(w.store.Workspace, ".ilchul/worktrees")},
		{"inner/trees", filepath.Join(w.store.Workspace, "in/trees")},
		{"~/.ilchul/mine", filepath.Join(home, ".ilchul/mine")},
		{filepath.Join(w.dir, "x"), filepath.Join(w.store.Workspace, "x")},
		{"~/elsewhere", "!leads to"},
		{"..", "!contains .."},
		{"a/../../b", "!contains .."},
		{"away", "!leads to"},
		{"away/deeper", "!leads to"},
		{"chain/x", "!leads to"},
		{"nowhere/x", "!dangling link"},
		{"in/up/x", "!leads to"},
		{"/tmp", "!leads to"},
		{".", "!leads to"},
		{w.dir + "-2/x", "!leads to"},
	} {
		got, err := w.store.worktreeRoot(c.text)
		if why, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%q: got %q, %v; want %q", c.text, got, err, why)
			}
		} else if got != c.want {
			t.Errorf("%q: got %q, %v; want %q", c.text, got, err, c.want)
		}
	}
	// The user's root may be a link itself: dotfiles are often kept elsewhere.
	os.RemoveAll(filepath.Join(w.home, Dir))
	os.Symlink(out, filepath.Join(w.home, Dir))
	if got, err := w.store.worktreeRoot(""); err != nil || got != filepath.Join(out, "worktrees") {
		t.Error(got, err)
	}
}

func TestLinkedRootIsRefused(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	os.Symlink(out, filepath.Join(dir, Dir))
	o := Options{Check: schema.CheckRun}
	if _, err := Open(dir, o); err == nil || !strings.Contains(err.Error(), "a link") {
		t.Error(err)
	}
	if _, _, err := Init(dir, o); err == nil {
		t.Error("laid out behind a link")
	}
	if left, _ := os.ReadDir(out); len(left) != 0 {
		t.Error(left)
	}
}

func TestInitIsIdempotent(t *testing.T) {
	w := newWorld(t)
	w.config(w.dir, `{"schemaVersion":1}`)
	os.Remove(filepath.Join(w.store.Path, "learning/policy-hints.json"))
	before := snapshot(t, filepath.Join(w.dir, Dir, "migrations"))
	_, made, err := Init(w.dir, w.options())
	if err != nil || len(made) != 1 || made[0] != ".ilchul/learning/policy-hints.json" {
		t.Errorf("%v %v", made, err)
	}
	if string(must(os.ReadFile(filepath.Join(w.store.Path, configFile)))) != `{"schemaVersion":1}` {
		t.Error("the config was changed")
	}
	for p, is := range snapshot(t, filepath.Join(w.dir, Dir, "migrations")) {
		if before[p] != is {
			t.Errorf("%s was changed", p)
		}
	}
	if errs := w.store.CheckFiles(); len(errs) > 0 {
		t.Error(errs)
	}
	os.MkdirAll(filepath.Join(w.store.Path, "evaluations"), 0o700)
	os.WriteFile(filepath.Join(w.store.Path, "evaluations/x.json"), []byte(`{"schemaVersion":1}`), 0o600)
	if errs := w.store.CheckFiles(); len(errs) != 1 {
		t.Error(errs)
	}
}

func TestOldLogsOfFinishedRun(t *testing.T) {
	w := quickWorld(t)
	w.now = clock.Now()
	r := w.start(task("a"))
	for _, id := range []string{"old", "busy"} {
		if err := r.Register(id, Registration{Adapter: "command", Substrate: Process, Log: "logs/" + id + ".log"}); err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(r.Path, "logs", id+".log"), []byte("x"), 0o600)
	}
	if err := r.Move("old", Move{To: SafeToClose, By: BySupervisor, Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	w.pass(8 * 24 * 3_600_000_000_000)
	if logs := must(r.OldLogs(w.state(r))); len(logs) != 0 {
		t.Errorf("while the run goes on: %v", logs)
	}
	if err := r.Finish(RunCancelled, "enough"); err != nil {
		t.Fatal(err)
	}
	if logs := must(r.OldLogs(w.state(r))); len(logs) != 1 || logs[0].Name != "logs/old.log" || logs[0].AgeDays < 7 {
		t.Errorf("%+v", logs)
	}
}
