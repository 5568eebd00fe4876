package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/state"
)

func TestShellWordsAreSplitAsAShellDoes(t *testing.T) {
	for in, want := range map[string][]string{
		"":                     nil,
		"  --json  --yes ":     {"--json", "--yes"},
		`--out 'a b' "c \"d"`:  {"--out", "a b", `c "d`},
		`a\ b '' "x\y"`:        {"a b", "", `x\y`},
		`--target='file:~/x*'`: {"--target=file:~/x*"},
	} {
		got, err := ShellWords(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("shellWords(%q) = %q, %v; want %q", in, got, err, want)
		}
		var quoted []string
		for _, w := range want {
			quoted = append(quoted, shellquote.Terminal(w))
		}
		if back, err := ShellWords(strings.Join(quoted, " ")); err != nil || !slices.Equal(back, want) {
			t.Errorf("quoted and split again, %q is %q, %v", want, back, err)
		}
	}
	for _, in := range []string{`'open`, `"open`, `end\`} {
		if _, err := ShellWords(in); err == nil {
			t.Errorf("shellWords(%q) found nothing wrong", in)
		}
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
		{Exit(ExitDiff), 2},
		{Exit(ExitPartial), 3},
		{reconcile.ErrUndecided, 4},
		{reconcile.ErrStalePlan, 5},
		{reconcile.ErrStale, 5},
		{&state.HeldError{}, 6},
		{fetch.ErrBusy, 6},
		{reconcile.ErrOffline, 7},
		{fetch.ErrOffline, 7},
		{Usagef("x"), 64},
		{Signalled{Sig: syscall.SIGINT}, 130},
		{Signalled{Sig: syscall.SIGTERM}, 143},
	} {
		wrapped := c.err
		if c.err != nil {
			wrapped = advice.Command(fmt.Errorf("while doing: %w", errors.Join(c.err)), "aisync help")
		}
		if got := ExitCode(wrapped); got != c.want {
			t.Errorf("%v: code %d, want %d", c.err, got, c.want)
		}
	}
	var out strings.Builder
	a := &App{Err: &out, Env: environ.Env{}}
	if code := a.Report(context.Canceled); code != 130 {
		t.Errorf("a context that ended: code %d, want 130", code)
	}
}

func TestJoinedErrorsComeOneALineWithTheirHints(t *testing.T) {
	var out strings.Builder
	a := &App{Err: &out, Env: environ.Env{}}
	a.Report(errors.Join(errors.New("one"), advice.Command(errors.New("two"), "aisync lock")))
	if want := "aisync: one\naisync: two; run: aisync lock\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestAPanicIsCodeOneAndOneLine(t *testing.T) {
	var out strings.Builder
	a := &App{Err: &out, Env: environ.Env{"HOME": t.TempDir()}}
	a.Crashed("boom", []byte("stack"))
	if got := out.String(); !strings.HasPrefix(got, "aisync: internal error: boom; the stack is in ") || strings.Count(got, "\n") != 1 {
		t.Errorf("said %q", got)
	}
}
