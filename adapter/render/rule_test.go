package render

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/frontmatter"
)

const (
	prose  = "# Lisp\n\nApplies to: `**/*.el`, `Cask`\n\nText.\n"
	scoped = "---\npaths:\n  - \"**/*.el\"\n  - Cask\n---\n# Lisp\n\nText.\n"
	front  = "---\ndescription: \"Of C: all\"\nglobs: '*.c,*.h'\nruntimes: [claude]\n---\n# C\n\nText.\n"
	asked  = "---\ndescription: Of releases\nglobs:\nalwaysApply: false\n---\n# R\n\nText.\n"
	manual = "---\nalwaysApply: false\n---\n# M\n\nText.\n"
)

func TestARuleIsWrittenInTheFormOfEachProgram(t *testing.T) {
	tests := []struct{ form, rule, want string }{
		{Plain, front, front},
		{Paths, prose, prose},
		{Paths, scoped, scoped},
		{Paths, asked, asked},
		{Paths, manual, manual},
		{Paths, front, "---\ndescription: \"Of C: all\"\npaths:\n  - \"*.c\"\n  - \"*.h\"\n---\n# C\n\nText.\n"},
		{Paths, "---\nglobs: '**'\n---\n# A\n", "---\nglobs: '**'\n---\n# A\n"},
		{Paths, "---\nglobs: '*.c'\nalwaysApply: true\n---\n# A\n", "---\nglobs: '*.c'\nalwaysApply: true\n---\n# A\n"},
		{Paths, "---\npaths: []\napplyTo: '*.c'\n---\n# A\n", "---\npaths:\n  - \"*.c\"\n---\n# A\n"},
		{Paths, "---\r\npaths: '*.c'\r\n---\r\n# A\r\nno end", "---\r\npaths: '*.c'\r\n---\r\n# A\r\nno end"},
		{Paths, "---\r\nglobs: '*.c'\r\n---\r\n# A\r\nno end", "---\r\npaths:\r\n  - \"*.c\"\r\n---\r\n# A\r\nno end"},
		{Paths, "---\nbad\n# A\n", "---\nbad\n# A\n"},
		{MDC, scoped, "---\ndescription: \"Lisp\"\nglobs: **/*.el,Cask\nalwaysApply: false\n---\n# Lisp\n\nText.\n"},
		{MDC, prose, "---\ndescription: \"Lisp\"\nglobs:\nalwaysApply: true\n---\n" + prose},
		{MDC, front, front},
		{MDC, asked, asked},
		{MDC, manual, manual},
		{MDC, "---\npaths: ['*.c', '*.h']\ndescription: Of C\n---\n# C\n", "---\ndescription: \"Of C\"\nglobs: *.c,*.h\nalwaysApply: false\n---\n# C\n"},
		{MDC, "---\npaths: ['*.c']\nalwaysApply: false\n---\n# C\n", "---\ndescription: \"C\"\nglobs: *.c\nalwaysApply: false\n---\n# C\n"},
		{MDC, "---\npaths: ['*.c']\nalwaysApply: true\n---\n# C\n", "---\npaths: ['*.c']\nalwaysApply: true\n---\n# C\n"},
		{MDC, "---\nglobs: ''\n---\n# C\n", "---\ndescription: \"C\"\nglobs:\nalwaysApply: true\n---\n# C\n"},
		{MDC, "text", "---\ndescription: \"\"\nglobs:\nalwaysApply: true\n---\ntext"},
		{Instructions, scoped, "---\ndescription: \"Lisp\"\napplyTo: \"**/*.el,Cask\"\n---\n# Lisp\n\nText.\n"},
		{Instructions, prose, "---\ndescription: \"Lisp\"\napplyTo: \"**\"\n---\n" + prose},
		{Instructions, asked, "---\ndescription: \"Of releases\"\napplyTo: \"on-request\"\n---\n# R\n\nText.\n"},
		{Instructions, manual, "---\napplyTo: \"only-when-named\"\n---\n# M\n\nText.\n"},
		{Instructions, "---\napplyTo: '*.c'\nx: y\n---\n# C\n", "---\napplyTo: '*.c'\nx: y\n---\n# C\n"},
	}
	for _, test := range tests {
		if got := string(RuleFile(test.form, []byte(test.rule))); got != test.want {
			t.Errorf("%q of\n%s\nis\n%s\nwant\n%s", test.form, test.rule, got, test.want)
		}
	}
}

// A rule keeps its kind in each form that has one for it, and every byte of its
// body.
func TestRuleFileKeepsKindAndBody(t *testing.T) {
	for _, rule := range []string{prose, scoped, front, asked, manual, strings.ReplaceAll(front, "\n", "\r\n")} {
		for _, form := range []string{Plain, Paths, MDC, Instructions} {
			got := RuleFile(form, []byte(rule))
			was, _ := frontmatter.ReadRule([]byte(rule))
			is, err := frontmatter.ReadRule(got)
			_, body, _, _ := frontmatter.Split([]byte(rule))
			if err != nil || !bytes.HasSuffix(got, body) {
				t.Errorf("%q of %q loses its body: %q %v", form, rule, got, err)
			}
			if form == Instructions && was.Kind >= frontmatter.OnRequest {
				was.Kind, was.Globs = is.Kind, is.Globs // that form has a pattern for it
			}
			if is.Kind != was.Kind || !slices.Equal(is.Globs, was.Globs) {
				t.Errorf("%q of %q is %+v", form, rule, is)
			}
		}
	}
}

func TestARuleInALongerTextKeepsWhatItIsFor(t *testing.T) {
	for rule, want := range map[string]string{
		prose:  "# Lisp\n\nApplies to: `**/*.el`, `Cask`\n\nText.",
		scoped: "# Lisp\n\nApplies to: `**/*.el`, `Cask`\n\nText.",
		"---\npaths: [x]\n---\n# A\nApplies to: `y`\n": "# A\nApplies to: `y`",
		front:                                 "# C\n\nApplies to: `*.c`, `*.h`\n\nText.",
		"# A\r\n\r\nB\r\n":                    "# A\n\nB",
		"---\npaths: [x]\n---\nNo heading.\n": "Applies to: `x`\n\nNo heading.",
		"---\nalwaysApply: true\n---\n# A\nx\n\n": "# A\nx",
	} {
		if got := RuleText([]byte(rule)); got != want {
			t.Errorf("%q is %q, want %q", rule, got, want)
		}
	}
}

func TestTheNameOfARuleSaysItsForm(t *testing.T) {
	if got := RuleName(MDC, "a/b.md") + RuleName(Instructions, "c.md") + RuleName(Plain, "d.md"); got != "a/b.mdcc.instructions.mdd.md" {
		t.Error(got)
	}
}
