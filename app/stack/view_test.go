package stack_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/stacktest"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

func TestOpenDeclaresHostAndProject(t *testing.T) {
	s := stacktest.New(t, nil)
	v := s.Open()
	for _, want := range []reconcile.Address{"file:.claude/rules/x.md", "file:.claude/hooks/x.sh"} {
		if !declares(v, want) {
			t.Errorf("%s is not declared", want)
		}
	}
	if !v.Has(reconcile.HostOwner) || !v.Has(reconcile.ProjectOwner(s.Path("p"))) {
		t.Errorf("owners %q", v.Owners)
	}
}

func declares(v *stack.View, a reconcile.Address) bool {
	for _, d := range v.Declared.Declarations {
		if d.Target == a {
			return true
		}
	}
	return false
}

func TestViewsWriteNothing(t *testing.T) {
	s := stacktest.New(t, nil)
	v := s.Open()
	if _, err := v.Plan(t.Context(), stack.Request{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"home/.local", "home/.claude", "p/.claude", "p/aisync.lock"} {
		if _, err := os.Lstat(s.Path(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestApplyMakesThePlanEmpty(t *testing.T) {
	s := stacktest.New(t, nil)
	s.Apply()
	if got := s.Read("p/.claude/rules/x.md"); !strings.Contains(got, "# X") {
		t.Errorf("the rule holds %q", got)
	}
	p, err := s.Open().Plan(t.Context(), stack.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Changes {
		if c.Action != reconcile.None {
			t.Errorf("%s: %s", c.Target.Resource.Address, c.Meaning())
		}
	}
}

func TestLookAtRecordsWorksWithBrokenSpecs(t *testing.T) {
	s := stacktest.New(t, nil)
	s.Apply()
	s.Write(stacktest.HostSpec, "package aisync\n\nhosts: {\n")
	if _, err := stack.Look(t.Context(), s.Machine(), stack.ScopeAll); err == nil {
		t.Error("Look read a broken spec")
	}
	v, err := stack.LookAtRecords(t.Context(), s.Machine(), stack.ScopeAll)
	if err != nil {
		t.Fatal(err)
	}
	if v.Spec == nil || v.Spec.Host != nil {
		t.Errorf("spec %+v", v.Spec)
	}
	if len(v.Store.Records(reconcile.ProjectOwner(s.Path("p")))) == 0 {
		t.Error("the records of the project are missing")
	}
	h, err := stack.HoldRecords(t.Context(), s.Machine(), stack.ScopeAll, stack.LockRequest{Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
}

func TestLookAtPartsKeepsTheErrorOfEachPart(t *testing.T) {
	for name, c := range map[string]struct {
		file, text        string
		spec, locks, held bool // what fails
	}{
		"in order": {stacktest.Rule, "# X\n", false, false, false},
		"spec":     {stacktest.HostSpec, "package aisync\n\nhosts: 1\n", true, false, false},
		"lock":     {"p/aisync.lock", "no lock\n", false, true, false},
		"records":  {"home/.local/state/aisync/journal.jsonl", "no journal\n", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := stacktest.New(t, map[string]string{c.file: c.text})
			p, err := stack.LookAtParts(t.Context(), s.Machine(), stack.ScopeAll)
			if err != nil {
				t.Fatal(err)
			}
			if (p.SpecErr != nil) != c.spec || (p.LocksErr != nil) != c.locks || (p.StoreErr != nil) != c.held {
				t.Errorf("spec: %v; locks: %v; records: %v", p.SpecErr, p.LocksErr, p.StoreErr)
			}
			if _, err := p.Open(t.Context()); (err != nil) != (c.spec || c.locks || c.held) || (p.Err() != nil) != (err != nil) {
				t.Errorf("opened with %v, and Err is %v", err, p.Err())
			}
		})
	}
}

func TestScopeChoosesOwners(t *testing.T) {
	s := stacktest.New(t, nil)
	in, out := s.Machine().Places, s.Machine().Places
	out.Project = ""
	project := reconcile.ProjectOwner(in.Project)
	for name, c := range map[string]struct {
		scope   stack.Scope
		inside  bool
		want    []reconcile.Owner
		wantErr error
	}{
		"all in a project":       {stack.ScopeAll, true, []reconcile.Owner{reconcile.HostOwner, project}, nil},
		"the default":            {"", true, []reconcile.Owner{reconcile.HostOwner, project}, nil},
		"all outside of one":     {stack.ScopeAll, false, []reconcile.Owner{reconcile.HostOwner}, nil},
		"host":                   {stack.ScopeHost, true, []reconcile.Owner{reconcile.HostOwner}, nil},
		"project":                {stack.ScopeProject, true, []reconcile.Owner{project}, nil},
		"project outside of one": {stack.ScopeProject, false, nil, stack.ErrNoProject},
		"unknown":                {"world", true, nil, stack.ScopeError("world")},
	} {
		p := out
		if c.inside {
			p = in
		}
		got, err := c.scope.Owners(p)
		if !errors.Is(err, c.wantErr) || strings.Join(owners(got), " ") != strings.Join(owners(c.want), " ") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got := stack.ScopeError("world").Error(); !strings.Contains(got, "want all, host or project") {
		t.Error(got)
	}
}

func owners(list []reconcile.Owner) (out []string) {
	for _, o := range list {
		out = append(out, string(o))
	}
	return out
}

func TestProjectGoesWithoutABrokenHost(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.HostSpec: "package aisync\n\nhosts: other: match: hostname: \"other\"\n"})
	v, err := stack.Open(t.Context(), s.Machine(), stack.ScopeProject)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Declared.Notes) == 0 || !strings.Contains(v.Declared.Notes[0].Text, "the project goes without a host") {
		t.Errorf("notes %+v", v.Declared.Notes)
	}
}

func TestBuiltinHostIsNoted(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.HostSpec: ""})
	v := s.Open()
	var text []string
	for _, n := range v.Declared.Notes {
		text = append(text, n.Text)
	}
	if all := strings.Join(text, "\n"); !v.Spec.Host.Builtin || !strings.Contains(all, "no host is described in ~/.config/aisync") || !strings.Contains(all, "claude") {
		t.Errorf("notes:\n%s", all)
	}
}

func TestMissingSourceIsAnErrorWithAdvice(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.ProjectSpec: `package aisync

project: {name: "p", runtimes: ["claude"], sources: rules: "git::https://127.0.0.1:1/rules", bundles: ["rules//x"]}
`})
	_, err := stack.Open(t.Context(), s.Machine(), stack.ScopeAll)
	if err == nil || advice.Of(err) != "run: aisync lock" && !strings.Contains(advice.Of(err), "aisync lock") {
		t.Errorf("%v; advice %q", err, advice.Of(err))
	}
}

func TestUnknownRuntimeIsAnError(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.ProjectSpec: "package aisync\n\nproject: {name: \"p\", runtimes: [\"clade\"], sources: rules: \"../rules\"}\n"})
	_, err := stack.Open(t.Context(), s.Machine(), stack.ScopeAll)
	if err == nil || !strings.Contains(err.Error(), "claude") {
		t.Errorf("%v", err)
	}
}

func TestSourcesBringRuntimes(t *testing.T) {
	s := stacktest.New(t, map[string]string{
		stacktest.ProjectSpec:      "package aisync\n\nproject: {name: \"p\", runtimes: [\"mine\"], sources: rules: \"../rules\", bundles: [\"rules//x\"]}\n",
		"rules/runtimes/mine.toml": "id = \"mine\"\nproject_install_dir = \".mine\"\n",
	})
	v := s.Open()
	if r, ok := v.Catalog.Runtime("mine"); !ok || r.Source != "rules" {
		t.Errorf("runtime %+v, %v", r, ok)
	}
	for _, src := range stack.SourcesOf(v.Spec.Host, v.Spec.Project) {
		if got := v.LockOf(src); got != s.Path("p/aisync.lock") {
			t.Errorf("lock of %s: %s", src.Name, got)
		}
	}
	if got := v.LockOf(spec.Source{}); got != s.Path("home/.config/aisync/aisync.lock") {
		t.Errorf("lock of a host's source: %s", got)
	}
}

func TestManifestThatContradictsTheCatalogIsNoted(t *testing.T) {
	s := stacktest.New(t, map[string]string{"rules/runtimes/claude.toml": "id = \"claude\"\nproject_install_dir = \".other\"\n"})
	v := s.Open()
	found := false
	for _, n := range v.Declared.Notes {
		found = found || strings.Contains(n.Text, "aisync runtimes show claude --manifest")
	}
	if !found {
		t.Errorf("notes %+v", v.Declared.Notes)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	s := stacktest.New(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := stack.Open(ctx, s.Machine(), stack.ScopeAll); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
