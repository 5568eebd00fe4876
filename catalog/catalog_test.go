package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

func TestCommonRuntimesAreKnown(t *testing.T) {
	x := With(spec.Catalog{})
	for _, id := range []string{"aider", "amp", "claude", "codex", "copilot", "cursor", "gemini", "goose", "local-openai", "opencode", "pi", "qwen"} {
		r, ok := x.Runtime(id)
		if !ok || r.ID != id {
			t.Errorf("%s is not known", id)
			continue
		}
		if !slices.Contains([]string{"native", "wrapper", "manual"}, r.Hooks) {
			t.Errorf("%s: hooks %q", id, r.Hooks)
		}
		if r.Command == "" && !r.Local {
			t.Errorf("%s has no program", id)
		}
	}
	if _, ok := x.Runtime("vim"); ok {
		t.Error("vim is no agent")
	}
}

// What a user scope says lies below the home, what a project's says below its
// root; both are written to.
func TestPathsStayInScope(t *testing.T) {
	for _, r := range Runtimes() {
		for _, p := range paths(r.User) {
			if !strings.HasPrefix(p, "~/") || strings.Contains(p, "..") {
				t.Errorf("%s: user path %q", r.ID, p)
			}
		}
		for _, p := range paths(r.Project) {
			if strings.HasPrefix(p, "~") || strings.HasPrefix(p, "/") || strings.Contains(p, "..") {
				t.Errorf("%s: project path %q", r.ID, p)
			}
		}
	}
}

func paths(s spec.Scope) []string {
	all := slices.Concat([]string{s.Dir, s.Rules, s.RulesBlock, s.RulesKept, s.Skills, s.Hooks, s.Ignore}, s.SkillsAlso, s.Instructions)
	if s.Settings != nil {
		all = append(all, s.Settings.Path)
	}
	if s.MCP != nil {
		all = append(all, s.MCP.Path)
	}
	if s.Events != nil {
		all = append(all, s.Events.Path)
	}
	if s.Permissions != nil {
		all = append(all, s.Permissions.Path)
	}
	for _, f := range []*spec.PromptFolder{s.Commands, s.Agents} {
		if f != nil {
			all = append(all, f.Path)
		}
	}
	for _, o := range s.Obeys {
		all = append(all, o.Files...)
	}
	for _, ref := range references(s) {
		all = append(all, ref.Path)
	}
	return slices.DeleteFunc(all, func(p string) bool { return p == "" })
}

func references(s spec.Scope) []spec.Reference {
	refs := slices.Concat(s.Trust, s.Always, s.Endpoint)
	if s.Events != nil {
		refs = append(refs, s.Events.Always...)
	}
	for _, ref := range []*spec.Reference{s.RulesRef, s.BlockRef} {
		if ref != nil {
			refs = append(refs, *ref)
		}
	}
	return refs
}

func TestReferencesHaveValues(t *testing.T) {
	for _, r := range Runtimes() {
		for _, ref := range slices.Concat(references(r.User), references(r.Project)) {
			if !json.Valid(ref.JSON) || !strings.HasPrefix(ref.Pointer, "/") {
				t.Errorf("%s: %s %s %s", r.ID, ref.Path, ref.Pointer, ref.JSON)
			}
		}
	}
}

// A program that loads no folder of rules is told of it. One that has a form for
// rules loads their folder by itself, and so does one of which that is recorded.
func TestRulesFolderIsLoadedOrNamed(t *testing.T) {
	for _, r := range Runtimes() {
		for _, s := range []spec.Scope{r.User, r.Project} {
			if s.Rules != "" && s.RulesRef == nil && s.RulesForm == "" && !loads(r, s.Rules) {
				t.Errorf("%s: nothing tells it of %s", r.ID, s.Rules)
			}
		}
	}
}

// loads reports whether r loads the files of a folder by itself.
func loads(r spec.Runtime, folder string) bool {
	return r.Loads != nil && slices.ContainsFunc(r.Loads.Texts, func(t spec.LoadedText) bool {
		return slices.Contains(t.Files, folder+"/*.md") || slices.Contains(t.Files, folder+"/**/*.md")
	})
}

func TestTheGenericRuntimeStaysOutOfClaudesFolder(t *testing.T) {
	r, _ := With(spec.Catalog{}).Runtime("local-openai")
	r.User.Obeys, r.Project.Obeys = nil, nil // what it reads is what its driver reads
	for _, p := range slices.Concat(paths(r.User), paths(r.Project)) {
		if strings.Contains(p, "claude") || strings.Contains(p, "CLAUDE") {
			t.Error(p)
		}
	}
}

func TestModelsHaveSources(t *testing.T) {
	for _, m := range Models() {
		if m.License == "" || m.Context == 0 || m.Homepage == "" || len(m.Quants) == 0 {
			t.Errorf("%s: %+v", m.ID, m)
		}
		if !slices.IsSortedFunc(m.Quants, func(a, b spec.Quant) int { return int(a.Size()/1e6 - b.Size()/1e6) }) {
			t.Errorf("%s: the smallest quantization does not come first", m.ID)
		}
		for _, q := range m.Quants {
			for _, f := range q.Files {
				if f.Size < 1e9 || f.Repo == "" || !strings.Contains(f.Path, q.Name) {
					t.Errorf("%s %s: %+v", m.ID, q.Name, f)
				}
			}
		}
	}
}

func TestWithAddsOwnEntries(t *testing.T) {
	x := With(spec.Catalog{Models: []spec.Model{{ID: "tiny"}}, Runtimes: []spec.Runtime{{ID: "mine"}}})
	if _, ok := x.Model("tiny"); !ok || len(x.Models()) != len(Models())+1 {
		t.Error("the own model is not there")
	}
	if _, ok := x.Runtime("mine"); !ok || len(x.Runtimes()) != len(Runtimes())+1 {
		t.Error("the own runtime is not there")
	}
	if !slices.IsSortedFunc(x.Models(), func(a, b spec.Model) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("not sorted")
	}
}

func TestCatalogIsImmutable(t *testing.T) {
	Runtimes()[0].ID = "changed"
	if Runtimes()[0].ID == "changed" {
		t.Error("it did")
	}
}

// Where nothing says which runtime is meant, the catalog does, and says it once.
func TestOnePreferredAndOneForModels(t *testing.T) {
	var preferred, models []string
	drivers := map[int]string{}
	for _, r := range Runtimes() {
		if r.Preferred {
			preferred = append(preferred, r.ID)
		}
		if r.ForModels {
			models = append(models, r.ID)
		}
		if d := r.Driver; d != nil {
			if other := drivers[d.Order]; other != "" || r.Local {
				t.Errorf("%s drives generic runtimes in the place of %q, local: %v", r.ID, other, r.Local)
			}
			drivers[d.Order] = r.ID
		}
	}
	if len(preferred) != 1 || Preferred().ID != preferred[0] {
		t.Errorf("preferred are %q", preferred)
	}
	if len(models) != 1 || ForModels().ID != models[0] || !ForModels().Local {
		t.Errorf("for models are %q", models)
	}
	if len(drivers) == 0 {
		t.Error("no program drives generic runtimes")
	}
}
