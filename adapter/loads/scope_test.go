package loads

import (
	"testing"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/catalog"
)

// A rule is loaded as its author meant it in the form of each program that has
// one for it.
func TestRulesKeepTheirKindInEachForm(t *testing.T) {
	always, onPath, asked, manual := "# A\n", "---\npaths: [\"src/**\"]\n---\n# A\n",
		"---\ndescription: Of releases\nalwaysApply: false\n---\n# A\n", "---\nalwaysApply: false\n---\n# A\n"
	for form, test := range map[string]struct {
		runtime string
		rules   map[string]When
	}{
		render.Paths:        {"claude", map[string]When{always: AtStart, onPath: OnPath}},
		render.MDC:          {"cursor", map[string]When{always: AtStart, onPath: OnPath, asked: OnRequest, manual: Manual}},
		render.Instructions: {"copilot", map[string]When{always: AtStart, onPath: OnPath, asked: OnRequest, manual: Manual}},
	} {
		field := map[string]string{render.Paths: "paths", render.MDC: "globs", render.Instructions: "applyTo"}[form]
		for _, r := range catalog.Runtimes() {
			if r.ID != test.runtime {
				continue
			}
			n := 0
			for _, text := range r.Loads.Texts {
				if text.Scope == nil || text.Scope.Field != field {
					continue
				}
				n++
				for rule, want := range test.rules {
					if got := scopeOf(text.Scope, render.RuleFile(form, []byte(rule))); got.when != want || got.broken != "" {
						t.Errorf("%s takes %q as %q %s, want %q", r.ID, rule, got.when, got.broken, want)
					}
				}
			}
			if n == 0 {
				t.Errorf("%s has no rules by %s", r.ID, field)
			}
		}
	}
}
