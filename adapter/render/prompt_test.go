package render

import "testing"

const fix = "---\ndescription: Fix it\nargument-hint: \"[issue]\"\nallowed-tools: Bash\n---\n\nFix $ARGUMENTS \"now\".\n"

func TestACommandIsWrittenInTheFormOfEachProgram(t *testing.T) {
	tests := []struct{ form, name, want string }{
		{Verbatim, "fix.md", fix},
		{Described, "fix.md", "---\ndescription: \"Fix it\"\nargument-hint: \"[issue]\"\n---\nFix $ARGUMENTS \"now\".\n"},
		{Bare, "fix.md", "Fix $ARGUMENTS \"now\".\n"},
		{Args, "fix.md", "---\ndescription: \"Fix it\"\n---\nFix {{args}} \"now\".\n"},
		{ArgsTOML, "fix.toml", "description = 'Fix it'\nprompt = \"\"\"\nFix {{args}} \"now\".\n\"\"\"\n"},
	}
	for _, test := range tests {
		if got := string(Prompt(test.form, "fix", []byte(fix))); got != test.want || PromptName(test.form, "fix.md") != test.name {
			t.Errorf("%s, %s:\n%s\nwant\n%s", test.form, PromptName(test.form, "fix.md"), got, test.want)
		}
	}
	if got := string(Prompt(Args, "x", []byte("Do it.\n"))); got != "Do it.\n" {
		t.Errorf("without front matter: %q", got)
	}
	if got := string(Prompt(Bare, "x", []byte("---\nbad: [\n---\nDo it.\n"))); got != "---\nbad: [\n---\nDo it.\n" {
		t.Errorf("with bad front matter: %q", got)
	}
}

func TestASubagentIsWrittenInTheFormOfEachProgram(t *testing.T) {
	const agent = "---\nname: critic\ndescription: 'Reviews: all'\ntools: Read, Grep\n---\nYou review.\n"
	tests := []struct{ form, name, want string }{
		{Verbatim, "critic.md", agent},
		{Named, "critic.md", "---\nname: \"critic\"\ndescription: \"Reviews: all\"\n---\nYou review.\n"},
		{AgentMD, "critic.agent.md", "---\nname: \"critic\"\ndescription: \"Reviews: all\"\n---\nYou review.\n"},
		{Subagent, "critic.md", "---\ndescription: \"Reviews: all\"\nmode: subagent\n---\nYou review.\n"},
		{AgentTOML, "critic.toml", "name = 'critic'\ndescription = 'Reviews: all'\ndeveloper_instructions = \"\"\"\nYou review.\n\"\"\"\n"},
	}
	for _, test := range tests {
		if got := string(Prompt(test.form, "x", []byte(agent))); got != test.want || PromptName(test.form, "critic.md") != test.name {
			t.Errorf("%s, %s:\n%s\nwant\n%s", test.form, PromptName(test.form, "critic.md"), got, test.want)
		}
	}
	if !Limited([]byte(agent)) || Limited([]byte("---\nname: x\n---\ny\n")) {
		t.Error("what limits a subagent is not seen")
	}
}
