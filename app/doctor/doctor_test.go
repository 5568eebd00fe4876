package doctor_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/app/doctor"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/stacktest"
	"aisync.dev/aisync/internal/netjail"
)

// TestMain is also the process that doctor starts of this program to cut another
// one off from the network.
func TestMain(m *testing.M) {
	if netjail.IsInside(os.Args) {
		os.Exit(netjail.Main(os.Args))
	}
	os.Exit(m.Run())
}

// examine returns the results of all checks by name.
func examine(t *testing.T, s *stacktest.Stage, o doctor.Options) map[string]doctor.Result {
	t.Helper()
	e := doctor.Open(t.Context(), s.Machine(), o)
	out := map[string]doctor.Result{}
	for _, r := range doctor.Examine(t.Context(), e, e.Checks()) {
		out[r.Name] = r
	}
	return out
}

// text returns the findings of r, with their fixes.
func text(r doctor.Result) string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s: %s (fix: %s)", f.Level, f.What, f.Fix))
	}
	return strings.Join(out, "\n")
}

// machine returns one with a model, a rule and a hook, on which all is in order.
func machine(t *testing.T) *stacktest.Stage {
	t.Helper()
	s := stacktest.New(t, map[string]string{stacktest.HostSpec: stacktest.ModelHost(t, `runtimes: claude: {}`)})
	s.Apply()
	s.Write("home/.claude.json", fmt.Sprintf(`{"projects": {%q: {"hasTrustDialogAccepted": true}}}`, s.Path("p")))
	return s
}

func TestChecksFindNothingOnAMachineInOrder(t *testing.T) {
	got := examine(t, machine(t), doctor.Options{Deep: true})
	for _, c := range doctor.Checks() {
		r, ok := got[c.Name]
		if !ok || r.Result != "ok" || len(r.Findings) != 0 || r.Doc != c.Doc {
			t.Errorf("%s: %s\n%s", c.Name, r.Result, text(r))
		}
	}
	if r := got["runtime-claude"]; r.Doc != "claude is installed, in the version that the spec asks for, and its own checks find nothing" {
		t.Errorf("%+v", r)
	}
}

func TestChecksFindWhatIsWrong(t *testing.T) {
	const state = "home/.local/state/aisync/"
	hostLock := "home/.config/aisync/aisync.lock"
	for _, c := range []struct {
		check, name string
		spoil       func(*testing.T, *stacktest.Stage)
		want        string // findings, as far as the machine decides them
		fix         string
	}{
		{"spec", "syntax", write(stacktest.HostSpec, "package aisync\n\nhosts: {\n"), "fail: ", "aisync validate"},
		{"schema", "another version", write("p/cue.mod/pkg/aisync.dev/aisync/schema.cue", "package aisync\n"), "warn: ", "aisync init"},
		{"folders", "a file in the way", func(t *testing.T, s *stacktest.Stage) {
			s.Env["XDG_CACHE_HOME"] = s.Path(stacktest.Rule)
		}, "fail: ", "a folder that you may write"},
		{"tools", "a package manager", func(t *testing.T, s *stacktest.Stage) {
			s.Write(stacktest.HostSpec, strings.Replace(s.Read(stacktest.HostSpec), "claude: {}", `claude: install: via: "npm"`, 1))
		}, "fail: npm is not in PATH, and the spec installs claude with it", "install npm"},
		{"lock", "no lock", write(hostLock, "no lock\n"), "fail: ", "aisync lock"},
		{"lock", "a newer one", write(hostLock, `{"format_version": 999}`+"\n"), "fail: ", "upgrade aisync"},
		{"records", "an interrupted apply", func(t *testing.T, s *stacktest.Stage) {
			s.Write(state+"journal.jsonl", "no journal\n")
		}, "fail: ", ""},
		{"leftovers", "a temp file", write("p/.claude/rules/.x.md.aisync-1-new", "x"), "warn: ", "look into it, then: rm "},
		{"drift", "an edited rule", write("p/.claude/rules/x.md", "# mine\n"), "file:.claude/rules/x.md is not as it was made: edited since the last apply", "aisync apply --restore --target file:.claude/rules/x.md"},
		{"drift", "a new rule", write("rules/languages/x/common/rules/y.md", "# Y\n"), "fail: not done yet:\n", "aisync apply"},
		{"hooks", "not executable", func(t *testing.T, s *stacktest.Stage) {
			if err := os.Chmod(s.Path("p/.claude/hooks/x.sh"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "fail: file:.claude/hooks/x.sh: it is not executable", "aisync apply --restore"},
		{"hooks", "no interpreter", write("p/.claude/hooks/x.sh", "#!/no/such/sh\n"), "its interpreter /no/such/sh is not there", "install sh"},
		{"hooks", "no program", func(t *testing.T, s *stacktest.Stage) {
			s.Write(stacktest.ProjectSpec, strings.Replace(s.Read(stacktest.ProjectSpec), `name: "p"`, `name: "p", mcp: web: command: "no-such-program"`, 1))
		}, "fail: aisync.cue:3:", "install no-such-program"},
		{"models", "gone", func(t *testing.T, s *stacktest.Stage) { s.Remove(stacktest.TinyFile) }, "fail: model tiny ", "model:tiny"},
		{"models", "another context", func(t *testing.T, s *stacktest.Stage) {
			s.Write(stacktest.HostSpec, strings.Replace(s.Read(stacktest.HostSpec), "context: 2048", "context: 9999", 1))
		}, "warn: model tiny: its file says a context of 2048 tokens, and the catalog or its pin 9999", "correct the catalog's entry"},
		{"memory", "too large", func(t *testing.T, s *stacktest.Stage) {
			s.Facts.Memory.Total = 1 << 20
			s.Write(stacktest.HostSpec, strings.Replace(s.Read(stacktest.HostSpec), "match: {}", `match: {}, services: big: {kind: "llama-server", model: "tiny", port: 18098}`, 1))
		}, "fail: big at once: it ", "aisync models fit"},
		{"clock", "an apply in the future", func(t *testing.T, s *stacktest.Stage) {
			all, err := os.ReadDir(s.Path(state + "applies"))
			if err != nil {
				t.Fatal(err)
			}
			year := fmt.Sprint(time.Now().UTC().Year())
			for _, entry := range all {
				name := state + "applies/" + entry.Name()
				s.Write(name, strings.ReplaceAll(s.Read(name), `"`+year, `"2999`))
			}
		}, "warn: the clock says ", "set the clock"},
		{"trust", "not trusted", func(t *testing.T, s *stacktest.Stage) {
			s.Remove("home/.claude.json")
			s.Write(stacktest.ProjectSpec, strings.Replace(s.Read(stacktest.ProjectSpec), `name: "p"`, `name: "p", mcp: web: command: "sh"`, 1))
			s.Apply()
		}, "warn: claude: written, not trusted", "claude"},
		{"trust", "an effect", write("p/.claude/settings.local.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}`), "for your yes; aisync plan lists them", "aisync apply"},
		{"runs", "a folder of the predecessor", write("p/.kapi/state.json", "{}"), "warn: ", "keep it or remove it"},
		{"contents", "bytes of a model", func(t *testing.T, s *stacktest.Stage) {
			info, err := os.Stat(s.Path(stacktest.TinyFile))
			if err != nil {
				t.Fatal(err)
			}
			b := []byte(s.Read(stacktest.TinyFile))
			b[len(b)-1] ^= 1
			if err := os.Chmod(s.Path(stacktest.TinyFile), 0o644); err != nil {
				t.Fatal(err)
			}
			s.Write(stacktest.TinyFile, string(b))
			if err := os.Chtimes(s.Path(stacktest.TinyFile), info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, "fail: model:tiny: ", "aisync apply --restore --target model:tiny"},
		{"runtime-claude", "not installed", func(t *testing.T, s *stacktest.Stage) { delete(s.Facts.Programs, "claude") }, "claude is not in PATH, and the spec does not install it", "install claude, or take claude out of runtimes"},
	} {
		t.Run(c.check+"/"+c.name, func(t *testing.T) {
			s := machine(t)
			c.spoil(t, s)
			r := examine(t, s, doctor.Options{Deep: true, NoPrompt: true})[c.check]
			if got := text(r); r.Result == "ok" || !strings.Contains(got, c.want) || !strings.Contains(got, c.fix) {
				t.Errorf("%s: %s\n%s", c.check, r.Result, got)
			}
		})
	}
}

// write returns what spoils a machine by a file.
func write(name, content string) func(*testing.T, *stacktest.Stage) {
	return func(_ *testing.T, s *stacktest.Stage) { s.Write(name, content) }
}

func TestBrokenInputIsReportedOnceAndSkippedElsewhere(t *testing.T) {
	s := machine(t)
	s.Write(stacktest.HostSpec, "package aisync\n\nhosts: 1\n")
	got := examine(t, s, doctor.Options{})
	if got["spec"].Result != "fail" {
		t.Errorf("spec: %+v", got["spec"])
	}
	for _, name := range []string{"drift", "hooks", "models", "memory", "trust"} {
		if r := got[name]; r.Result != "skip" || !strings.Contains(text(r), "the check of spec says why") {
			t.Errorf("%s: %s\n%s", name, r.Result, text(r))
		}
	}
	for _, name := range []string{"records", "leftovers", "managed-files", "clock"} {
		if r := got[name]; r.Result != "ok" {
			t.Errorf("%s: %s\n%s", name, r.Result, text(r))
		}
	}
}

func TestNothingCanBeLoaded(t *testing.T) {
	s := machine(t)
	s.Env["AISYNC_SERVICE_MANAGER"] = "init"
	got := examine(t, s, doctor.Options{})
	for _, name := range []string{"spec", "folders", "records"} {
		if r := got[name]; r.Result != "fail" || !strings.Contains(text(r), "AISYNC_SERVICE_MANAGER=init") {
			t.Errorf("%s: %s\n%s", name, r.Result, text(r))
		}
	}
}

func TestBuiltinHostIsNeverAFailure(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.HostSpec: ""})
	s.Set = func(m *stack.Machine) { m.Places.Project = "" }
	for name, r := range examine(t, s, doctor.Options{NoPrompt: true}) {
		if r.Result == "fail" {
			t.Errorf("%s\n%s", name, text(r))
		}
	}
}

func TestOptionsChooseChecks(t *testing.T) {
	s := machine(t)
	names := func(o doctor.Options) (out []string) {
		for _, c := range doctor.Open(t.Context(), s.Machine(), o).Checks() {
			out = append(out, c.Name)
		}
		return out
	}
	if shallow, deep := names(doctor.Options{}), names(doctor.Options{Deep: true}); slices.Contains(shallow, "contents") || !slices.Contains(deep, "contents") {
		t.Errorf("%q and %q", shallow, deep)
	}
	if got := names(doctor.Options{}); !slices.Contains(got, "runtime-claude") {
		t.Errorf("%q", got)
	}
}

func TestFamiliesDescribeTheirChecks(t *testing.T) {
	for _, f := range doctor.Families() {
		help := f.Help("  ")
		if strings.Contains(help, "%") || help == "" || f.Only != strings.HasPrefix(help, "with --deep: ") || (f.Deep != "") != strings.Contains(help, ";\n  with --deep ") {
			t.Errorf("%s: %q", f.Name, help)
		}
	}
}

func TestCheckThatHangsIsAbandoned(t *testing.T) {
	e := doctor.Open(t.Context(), machine(t).Machine(), doctor.Options{})
	stop := make(chan struct{})
	defer close(stop)
	hangs := func(context.Context, *doctor.Env) doctor.Outcome { <-stop; return doctor.Outcome{} }
	got := doctor.Examine(t.Context(), e, []doctor.Check{{Name: "slow", Limit: time.Millisecond, Run: hangs}})
	if len(got) != 1 || got[0].Result != "fail" || got[0].Findings[0].What != "the check did not end within 1ms" {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := doctor.Examine(ctx, e, []doctor.Check{{Name: "slow", Run: hangs}}); got[0].Findings[0].What != "the check was interrupted" {
		t.Errorf("%+v", got)
	}
}

func TestWorstFindingIsTheResult(t *testing.T) {
	finding := func(level string) doctor.Finding { return doctor.Finding{Level: level, What: level} }
	for want, list := range map[string][]doctor.Finding{
		"ok":   {finding("ok")},
		"skip": {finding("ok"), finding("skip")},
		"warn": {finding("skip"), finding("warn"), finding("ok")},
		"fail": {finding("warn"), finding("fail")},
	} {
		got := doctor.Examine(t.Context(), nil, []doctor.Check{{Name: "x", Run: func(context.Context, *doctor.Env) doctor.Outcome {
			return doctor.Outcome{Findings: list, Took: 1500 * time.Millisecond}
		}}})[0]
		if got.Result != want || got.Findings[0].Level != want || got.Took != 1.5 {
			t.Errorf("%s: %+v", want, got)
		}
	}
}
