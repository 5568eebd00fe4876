package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/state"
)

func TestTextOfOthersIsHarmlessOnATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain, and ünïcödé → 木\tx": "plain, and ünïcödé → 木\tx",
		"\x1b[2Jgone":               `\x1b[2Jgone`,
		"bell\x07 nul\x00 cr\r":     `bell\x07 nul\x00 cr\x0d`,
		"not utf8 \xff\xfe":         `not utf8 \xff\xfe`,
		"c1 \u009b31m":              `c1 \u009b31m`,
		"abc\u202etxt.exe":          `abc\u202etxt.exe`,
		"git\u200b, \ufefftar":      `git\u200b, \ufefftar`,
		"two\nlines":                `two\x0alines`,
	} {
		if got := termtext.Safe(in); got != want {
			t.Errorf("termtext.Safe(%q) = %q, want %q", in, got, want)
		}
	}
	if got := termtext.SafeLines("a\x1b\nb"); got != "a\\x1b\nb" {
		t.Errorf("safeLines keeps lines apart: got %q", got)
	}
}

func TestSizesAreToldInTheirOwnUnits(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 483136: "483.1 kB", 18_557_000_000: "18.6 GB", 1 << 60: "1152.9 PB"} {
		if got := quantity.Bytes(n); got != want {
			t.Errorf("quantity.Bytes(%d) = %q, want %q", n, got, want)
		}
	}
	if got := quantity.Memory(64 << 30); got != "64.0 GiB" {
		t.Errorf("memoryText = %q", got)
	}
}

func TestShellWordsAreSplitAsAShellDoes(t *testing.T) {
	for in, want := range map[string][]string{
		"":                     nil,
		"  --json  --yes ":     {"--json", "--yes"},
		`--out 'a b' "c \"d"`:  {"--out", "a b", `c "d`},
		`a\ b '' "x\y"`:        {"a b", "", `x\y`},
		`--target='file:~/x*'`: {"--target=file:~/x*"},
	} {
		got, err := cli.ShellWords(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("shellWords(%q) = %q, %v; want %q", in, got, err, want)
		}
		var quoted []string
		for _, w := range want {
			quoted = append(quoted, shellquote.Terminal(w))
		}
		if back, err := cli.ShellWords(strings.Join(quoted, " ")); err != nil || !slices.Equal(back, want) {
			t.Errorf("quoted and split again, %q is %q, %v", want, back, err)
		}
	}
	for _, in := range []string{`'open`, `"open`, `end\`} {
		if _, err := cli.ShellWords(in); err == nil {
			t.Errorf("shellWords(%q) found nothing wrong", in)
		}
	}
}

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

func TestEveryKindOfErrorHasItsCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything"), 1},
		{state.ErrNewer, 1},
		{cli.Exit(cli.ExitDiff), 2},
		{cli.Exit(cli.ExitPartial), 3},
		{reconcile.ErrUndecided, 4},
		{reconcile.ErrStalePlan, 5},
		{reconcile.ErrStale, 5},
		{&state.HeldError{}, 6},
		{fetch.ErrBusy, 6},
		{reconcile.ErrOffline, 7},
		{fetch.ErrOffline, 7},
		{cli.Usagef("x"), 64},
		{cli.Signalled{Sig: syscall.SIGINT}, 130},
		{cli.Signalled{Sig: syscall.SIGTERM}, 143},
	} {
		wrapped := c.err
		if c.err != nil {
			wrapped = advice.Command(fmt.Errorf("while doing: %w", errors.Join(c.err)), "aisync help")
		}
		if got := cli.ExitCode(wrapped); got != c.want {
			t.Errorf("%v: code %d, want %d", c.err, got, c.want)
		}
	}
	var out strings.Builder
	a := &cli.App{Err: &out, Env: environ.Env{}}
	if code := a.Report(context.Canceled); code != 130 {
		t.Errorf("a context that ended: code %d, want 130", code)
	}
}

func TestJoinedErrorsComeOneALineWithTheirHints(t *testing.T) {
	var out strings.Builder
	a := &cli.App{Err: &out, Env: environ.Env{}}
	a.Report(errors.Join(errors.New("one"), advice.Command(errors.New("two"), "aisync lock")))
	if want := "aisync: one\naisync: two; run: aisync lock\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestLongDiffsAreCutAndSayHowToSeeTheRest(t *testing.T) {
	var lines []reconcile.Line
	for i := range 77 {
		lines = append(lines, reconcile.Line{Op: '+', Text: fmt.Sprint(i)})
	}
	var short, full strings.Builder
	view.RenderDiff(&short, false, lines, cli.DiffShort, "", "aisync plan")
	if got := strings.Split(strings.TrimSpace(short.String()), "\n"); len(got) != view.DiffLines+1 || got[view.DiffLines] != "… 57 more lines (aisync plan --diff=full)" {
		t.Errorf("cut to %d lines, the last %q", len(got), got[len(got)-1])
	}
	view.RenderDiff(&full, false, lines, cli.DiffFull, "", "aisync plan")
	if got := strings.Count(full.String(), "\n"); got != len(lines) {
		t.Errorf("full shows %d of %d lines", got, len(lines))
	}
}

func TestAPanicIsCodeOneAndOneLine(t *testing.T) {
	var out strings.Builder
	a := &cli.App{Err: &out, Env: environ.Env{"HOME": t.TempDir()}}
	a.Crashed("boom", []byte("stack"))
	if got := out.String(); !strings.HasPrefix(got, "aisync: internal error: boom; the stack is in ") || strings.Count(got, "\n") != 1 {
		t.Errorf("said %q", got)
	}
}
