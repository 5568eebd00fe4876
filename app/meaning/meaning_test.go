package meaning_test

import (
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/trust"
	"aisync.dev/aisync/app/meaning"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/stacktest"
	"aisync.dev/aisync/reconcile"
)

func TestMeaningCountsEntriesOfSharedFiles(t *testing.T) {
	entry := func(key string, a reconcile.Action, meaning string, drift, recorded bool) reconcile.LeafChange {
		l := reconcile.LeafChange{Key: reconcile.LeafKey(key), Decision: reconcile.Decision{Action: a, Meaning: meaning, Drift: drift}}
		if recorded {
			l.Last = &reconcile.LeafRecord{}
		}
		return l
	}
	for name, c := range map[string]struct {
		leaves []reconcile.LeafChange
		want   string
	}{
		"all the same":      {[]reconcile.LeafChange{entry("/a", reconcile.Update, "changed", false, true), entry("/b", reconcile.Update, "changed", false, true)}, "changed"},
		"one of two":        {[]reconcile.LeafChange{entry("/a", reconcile.Update, "changed", false, true), entry("/b", reconcile.None, "", false, true)}, "1 of 2 entries: changed"},
		"a first entry":     {[]reconcile.LeafChange{entry("/a", reconcile.Create, "new", false, false)}, "added to yours"},
		"one more entry":    {[]reconcile.LeafChange{entry("/a", reconcile.Create, "new", false, false), entry("/b", reconcile.None, "", false, true)}, "1 new entry"},
		"deleted by hand":   {[]reconcile.LeafChange{entry("/a", reconcile.Create, "new", true, true), entry("/b", reconcile.None, "", false, true)}, "1 of 2 entries is gone since the last apply"},
		"there already":     {[]reconcile.LeafChange{entry("/a", reconcile.Accept, "right", false, false), entry("/b", reconcile.Create, "new", false, false)}, "added to yours; 1 of 2 entries is there already"},
		"four of different": {[]reconcile.LeafChange{entry("/a", reconcile.Clash, "a", false, false), entry("/b", reconcile.Update, "b", false, false), entry("/c", reconcile.Delete, "c", false, false), entry("/d", reconcile.Release, "d", false, false)}, "1 of 4 entries: a; 1 of 4 entries: b; 1 of 4 entries: c; …"},
	} {
		ch := reconcile.Change{Leaves: c.leaves, Before: reconcile.Observation{Presence: reconcile.Present}}
		if got := meaning.Of(ch); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTrustTextNamesWhatIsNotLoaded(t *testing.T) {
	for want, r := range map[string]trust.Row{
		"written, not trusted: MCP a, b; hooks":                  {Parts: []string{"mcp", "hooks"}, Names: []string{"a", "b"}, State: trust.NotTrusted},
		"written, trust unknown: everything in the project (no)": {Parts: []string{"everything"}, State: trust.Unknown, Reason: "no"},
		"written, not trusted: subagents x":                      {Parts: []string{"subagents"}, Names: []string{"x"}, State: trust.NotTrusted},
	} {
		if got := stack.TrustText(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestProjectThatIsNotTrustedIsReported(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.ProjectSpec: `package aisync

project: {name: "p", runtimes: ["claude"], mcp: web: {command: "sh"}}
`})
	s.Apply()
	v := s.Open()
	p, err := v.Plan(t.Context(), stack.Request{})
	if err != nil {
		t.Fatal(err)
	}
	rows := v.NotTrusted(p)
	if len(rows) == 0 || rows[0].Runtime != "claude" || !strings.Contains(stack.TrustText(rows[0]), "MCP web") {
		t.Errorf("%+v", rows)
	}
}

func TestPlanOfTargetsHasTheirNotesAlone(t *testing.T) {
	s := stacktest.New(t, nil)
	v := s.Open()
	rule := v.Declared.Declarations[0].Leaves[0].Origin
	for _, d := range v.Declared.Declarations {
		if d.Target == "file:.claude/rules/x.md" {
			rule = d.Leaves[0].Origin
		}
	}
	v.Declared.Notes = []reconcile.Note{
		{Text: "of the rule", Origin: rule},
		{Text: "of another place", Origin: []reconcile.Position{{File: "other.cue", Line: 9}}},
		{Text: "a warning of no place", Warning: true},
		{Text: "a note of no place"},
	}
	for name, c := range map[string]struct {
		targets []string
		want    string
	}{
		"all":      {nil, "of the rule, of another place, a warning of no place, a note of no place"},
		"the rule": {[]string{"file:.claude/rules/*"}, "of the rule, a warning of no place"},
	} {
		p, err := v.Plan(t.Context(), stack.Request{Targets: c.targets})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range p.Notes {
			got = append(got, n.Text)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q", name, got)
		}
		meta := v.Meta(p, stack.Request{Targets: c.targets})
		if meta.Host != "me" || meta.Version != "v1.0.0" || meta.EffectsDigest == "" {
			t.Errorf("%s: meta %+v", name, meta)
		}
	}
}
