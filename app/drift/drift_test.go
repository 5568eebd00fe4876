package drift_test

import (
	"errors"
	"path"
	"strings"
	"testing"

	"aisync.dev/aisync/app/drift"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/stacktest"
	"aisync.dev/aisync/reconcile"
)

const rule = "p/.claude/rules/x.md"

// report returns the report of the machine.
func report(t *testing.T, s *stacktest.Stage, o drift.Options) *drift.Report {
	t.Helper()
	r, err := of(t, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func of(t *testing.T, s *stacktest.Stage, o drift.Options) (*drift.Report, error) {
	t.Helper()
	v, err := stack.Look(t.Context(), s.Machine(), stack.ScopeAll)
	if err != nil {
		t.Fatal(err)
	}
	return drift.Of(t.Context(), v, o)
}

// names returns the addresses of list.
func names(list []drift.Difference) string {
	var out []string
	for _, d := range list {
		out = append(out, string(d.Address))
	}
	return strings.Join(out, " ")
}

func TestReportTellsDriftFromPending(t *testing.T) {
	const x, y = "file:.claude/rules/x.md", "file:.claude/rules/y.md"
	for name, c := range map[string]struct {
		change                  func(*stacktest.Stage)
		drift, pending, unknown string
	}{
		"in order":       {func(*stacktest.Stage) {}, "", "", ""},
		"edited":         {func(s *stacktest.Stage) { s.Write(rule, "# mine\n") }, x, "", ""},
		"deleted":        {func(s *stacktest.Stage) { s.Remove(rule) }, x, "", ""},
		"a new rule":     {func(s *stacktest.Stage) { s.Write("rules/languages/x/common/rules/y.md", "# Y\n") }, "", y, ""},
		"a changed rule": {func(s *stacktest.Stage) { s.Write(stacktest.Rule, "# Z\n") }, "", x, ""},
		"both moved": {func(s *stacktest.Stage) {
			s.Write(rule, "# mine\n")
			s.Write(stacktest.Rule, "# Z\n")
		}, x, x, ""},
		"a spec that contradicts itself": {func(s *stacktest.Stage) {
			s.Write("rules/languages/x/runtimes/claude/settings.json", `{"model": "opus"}`)
			s.Write("rules/teams/y/runtimes/claude/settings.json", `{"model": "haiku"}`)
			s.Write("p/aisync.cue", strings.Replace(s.Read("p/aisync.cue"), "bundles:", "teams: [\"rules//y\"], bundles:", 1))
		}, "", "file:.claude/settings.json", ""},
		"another file beside ours": {func(s *stacktest.Stage) { s.Write("p/.claude/rules/stray.md", "x\n") }, "file:.claude/rules/stray.md", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := stacktest.New(t, nil)
			s.Git("init", "-q", "-b", "main")
			s.Apply()
			c.change(s)
			r := report(t, s, drift.Options{})
			if names(r.Drift) != c.drift || names(r.Pending) != c.pending || names(r.Unknown) != c.unknown {
				t.Errorf("drift %q, pending %q, unknown %q", names(r.Drift), names(r.Pending), names(r.Unknown))
			}
			if r.InOrder() != (c.drift+c.pending+c.unknown == "") || r.Checked == 0 {
				t.Errorf("in order: %v; %d checked", r.InOrder(), r.Checked)
			}
		})
	}
}

func TestDifferenceNamesItsLine(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.Rule: "# X\n\none\ntwo\n"})
	s.Git("init", "-q", "-b", "main")
	s.Apply()
	s.Git("add", "-A", ".")
	s.Git("commit", "-qm", "first")
	s.Write(rule, strings.Replace(s.Read(rule), "two", "three", 1))
	r := report(t, s, drift.Options{Repository: true})
	if len(r.Drift) != 1 {
		t.Fatalf("%+v", r.Drift)
	}
	d := r.Drift[0]
	if d.Line == 0 || !strings.HasPrefix(d.Place(), ".claude/rules/x.md:") || len(d.Lines) == 0 {
		t.Errorf("%s, %d lines", d.Place(), len(d.Lines))
	}
	if file, line, ok := r.At(d); !ok || file != ".claude/rules/x.md" || line != d.Line {
		t.Errorf("at %s:%d, %v", file, line, ok)
	}
	r.Prefix = "tools/"
	if file, _, _ := r.At(d); file != "tools/.claude/rules/x.md" {
		t.Errorf("below a prefix: %s", file)
	}
	d.Address = "file:~/.claude.json"
	d.Origin = []reconcile.Position{{File: "../aisync.cue", Line: 3}}
	if file, line, ok := r.At(d); !ok || file != "tools/aisync.cue" || line != 3 {
		t.Errorf("outside of the project: %s:%d, %v", file, line, ok)
	}
	d.Origin, d.Line = nil, 0
	if _, _, ok := r.At(d); ok {
		t.Error("a place without an origin")
	}
	if got := d.Place(); got != ".claude/rules/x.md" {
		t.Errorf("%s", got)
	}
}

func TestIgnoredDifferencesAreCounted(t *testing.T) {
	s := stacktest.New(t, nil)
	s.Apply()
	s.Write(rule, "# mine\n")
	r := report(t, s, drift.Options{Ignore: []string{"file:.claude/rules/*", "file:no/such"}})
	if !r.InOrder() || r.Ignored != 1 || len(r.Unmatched) != 1 || r.Unmatched[0] != "file:no/such" {
		t.Errorf("%+v", r)
	}
	var bad drift.PatternError
	if _, err := of(t, s, drift.Options{Ignore: []string{"nonsense"}}); !errors.As(err, &bad) {
		t.Errorf("%v", err)
	}
}

func TestRecordsReplaceASourceThatIsMissing(t *testing.T) {
	s := stacktest.New(t, nil)
	s.Apply()
	s.Write(rule, "# mine\n")
	s.Remove("rules")
	r := report(t, s, drift.Options{})
	if names(r.Drift) != "file:.claude/rules/x.md" || r.NotChecked == "" {
		t.Errorf("drift %q; not checked: %q", names(r.Drift), r.NotChecked)
	}
	fresh := stacktest.New(t, nil)
	fresh.Remove("rules")
	if _, err := of(t, fresh, drift.Options{}); err == nil {
		t.Error("nothing is on record, and a report was made")
	}
}

func TestFreshCheckoutIsNotSetUpRatherThanDrifted(t *testing.T) {
	s := stacktest.New(t, nil)
	s.Git("init", "-q", "-b", "main")
	s.Write("p/.gitignore", ".claude/rules/\n")
	r := report(t, s, drift.Options{})
	if strings.Contains(names(r.Pending), "x.md") || r.NotSetUp == 0 {
		t.Errorf("pending %q, %d not set up", names(r.Pending), r.NotSetUp)
	}
}

func TestSourcesAreVerifiedOnlyWithANetwork(t *testing.T) {
	s := stacktest.New(t, nil)
	s.Apply()
	if r := report(t, s, drift.Options{VerifySources: true}); !r.InOrder() {
		t.Errorf("%+v", r)
	}
	s.Set = func(m *stack.Machine) { m.Offline = true }
	if _, err := of(t, s, drift.Options{VerifySources: true}); !errors.Is(err, reconcile.ErrOffline) {
		t.Errorf("%v", err)
	}
}

func TestSummaryCountsProjects(t *testing.T) {
	d := []drift.Difference{{}}
	got := drift.Summarize([]drift.ProjectReport{
		{Report: drift.Empty()},
		{Report: &drift.Report{Drift: d, Pending: d}},
		{Report: &drift.Report{Unknown: d}},
		{Error: "broken", Report: drift.Empty()},
	})
	if want := (drift.Summary{Projects: 4, InOrder: 1, Drifted: 1, Pending: 1, Unknown: 1, Failed: 1}); got != want {
		t.Errorf("%+v", got)
	}
	u := drift.Unchecked(errors.New("a\nb"))
	if u.Meaning != "could not be checked: a; b" || u.Place() != "aisync.cue" {
		t.Errorf("%+v", u)
	}
}

func TestPrefixIsRelativeWhereItCanBe(t *testing.T) {
	for _, c := range [][3]string{{"/a", "/a/b", "b/"}, {"/a", "/a", "./"}, {"/a", "/c/d", "/c/d/"}} {
		r := drift.Empty()
		if r.From(c[0], c[1]); r.Prefix != c[2] {
			t.Errorf("from %s to %s: %s", c[0], c[1], r.Prefix)
		}
		d := drift.Difference{ChangeDoc: reconcile.ChangeDoc{Address: "file:~/.claude.json", Origin: []reconcile.Position{{File: "packages/api/aisync.cue", Line: 3}}}}
		if file, _, ok := r.At(d); !ok || file != path.Join(c[2], "packages/api/aisync.cue") {
			t.Errorf("from %s to %s: an origin in %s", c[0], c[1], file)
		}
	}
}
