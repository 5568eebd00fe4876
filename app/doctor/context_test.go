package doctor_test

import (
	"strings"
	"testing"

	"aisync.dev/aisync/app/doctor"
	"aisync.dev/aisync/app/stack/stacktest"
)

func TestContext(t *testing.T) {
	spec := func(rest string) string {
		return "package aisync\n\nproject: {name: \"p\", sources: rules: \"../rules\", bundles: [\"rules//x\"], " + rest + "}\n"
	}
	for name, c := range map[string]struct {
		spec, result, want string
		files              map[string]string
	}{
		"no budget":        {spec: spec(`runtimes: ["claude"]`), result: "ok"},
		"over budget":      {spec: spec(`runtimes: ["claude"], context: claude: max: 1`), result: "warn", want: "claude loads about 2 tokens at its start here, and its budget is 1: the largest files are .claude/rules/x.md"},
		"within budget":    {spec: spec(`runtimes: ["claude"], context: claude: max: 2`), result: "ok"},
		"another's budget": {spec: spec(`runtimes: ["claude"], context: "local-openai": max: 1`), result: "skip", want: "the budget of local-openai is not checked"},
		"a text is cut": {
			spec: spec(`runtimes: ["claude", "codex"]`), result: "warn", want: "codex takes 32.0 KiB of such texts in all, and cuts off the end of AGENTS.md: ",
			files: map[string]string{"p/AGENTS.md": strings.Repeat("a line of nineteen\n", 2000), "home/.codex/config.toml": "project_doc_max_bytes = 32768\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{stacktest.ProjectSpec: c.spec, stacktest.Rule: "# Rule\n"}
			for name, text := range c.files {
				files[name] = text
			}
			got := examine(t, stacktest.New(t, files), doctor.Options{})["context"]
			if got.Result != c.result || !strings.Contains(text(got), c.want) {
				t.Errorf("%s: %s", got.Result, text(got))
			}
		})
	}
}
