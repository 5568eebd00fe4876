package main

import (
	"strings"
	"testing"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/environ"
)

func TestEnvironmentArgumentsComeBeforeTypedOnes(t *testing.T) {
	a := &cli.App{Env: environ.Env{"AISYNC_CLI_ARGS": "--quiet", "AISYNC_CLI_ARGS_plan": "--scope host", "AISYNC_CLI_ARGS_gen_docs": "--json"}}
	for _, c := range []struct{ typed, want string }{
		{"plan --json", "plan --quiet --scope host --json"},
		{"--host velox plan --scope project", "plan --quiet --scope host --host velox --scope project"},
		{"--json=true apply plan", "apply --quiet --json=true plan"},
		{"gen-docs out", "gen-docs --quiet --json out"},
		{"__complete plan --", "__complete plan --"},
		{"", ""},
	} {
		got, err := a.CommandLine(rootCommand(a), strings.Fields(c.typed))
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%q became %q, %v; want %q", c.typed, got, err, c.want)
		}
	}
	if _, err := a.CommandLine(rootCommand(a), []string{"plann", "--help"}); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("plann --help: %v, want a usage error", err)
	}
}
