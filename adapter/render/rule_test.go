package render

import "testing"

const (
	scoped = "# Lisp\n\nApplies to: `**/*.el`, `Cask`\n\nText.\n"
	always = "# Commits\n\nApplies to: `**/*`\n\nText.\n"
	front  = "---\ndescription: \"Of C: all\"\nglobs: '*.c,*.h'\nruntimes: [claude]\n---\n# C\n\nText.\n"
)

func TestARuleIsWrittenInTheFormOfEachProgram(t *testing.T) {
	tests := []struct{ form, rule, want string }{
		{Plain, scoped, scoped},
		{Plain, front, front},
		{Paths, scoped, "---\npaths:\n  - \"**/*.el\"\n  - \"Cask\"\n---\n" + scoped},
		{Paths, always, always},
		{Paths, front, "---\ndescription: \"Of C: all\"\npaths:\n  - \"*.c\"\n  - \"*.h\"\n---\n# C\n\nText.\n"},
		{Paths, "---\npaths: [x]\nmore: y\n---\n# A\n", "---\npaths: [x]\nmore: y\n---\n# A\n"},
		{Paths, "---\nbad\n# A\nApplies to: `*.c`\n", "---\nbad\n# A\nApplies to: `*.c`\n"},
		{MDC, scoped, "---\ndescription: \"Lisp\"\nglobs: **/*.el,Cask\nalwaysApply: false\n---\n" + scoped},
		{MDC, always, "---\ndescription: \"Commits\"\nglobs:\nalwaysApply: true\n---\n" + always},
		{MDC, front, front},
		{MDC, "---\npaths: ['*.c', '*.h']\ndescription: Of C\n---\n# C\n", "---\ndescription: \"Of C\"\nglobs: *.c,*.h\nalwaysApply: false\n---\n# C\n"},
		{Instructions, scoped, "---\ndescription: \"Lisp\"\napplyTo: \"**/*.el,Cask\"\n---\n" + scoped},
		{Instructions, always, "---\ndescription: \"Commits\"\napplyTo: \"**\"\n---\n" + always},
		{Instructions, "---\napplyTo: '*.c'\nx: y\n---\n# C\n", "---\napplyTo: '*.c'\nx: y\n---\n# C\n"},
	}
	for _, test := range tests {
		if got := string(RuleFile(test.form, []byte(test.rule))); got != test.want {
			t.Errorf("%q of\n%s\nis\n%s\nwant\n%s", test.form, test.rule, got, test.want)
		}
	}
}

func TestARuleInALongerTextKeepsWhatItIsFor(t *testing.T) {
	for rule, want := range map[string]string{
		scoped:                                "# Lisp\n\nApplies to: `**/*.el`, `Cask`\n\nText.",
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
