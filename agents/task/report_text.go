package task

import (
	"fmt"
	"strings"
	"time"

	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// Markdown returns the report for people.
func (r *Report) Markdown() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# %s: %s\n", r.TaskID, r.Status)
	line("%s\n", strings.TrimSpace(r.Goal))
	if r.Reason != "" {
		line("**Failed (%s).** %s\n", r.Kind, sentence(r.Reason))
	}
	row := func(name, value string) {
		if value != "" {
			line("| %s | %s |", name, strings.ReplaceAll(termtext.OneLine(value), "|", `\|`))
		}
	}
	line("| | |\n|---|---|")
	row("branch", code(r.Branch))
	row("commit", code(r.CommitHash))
	row("base", code(strings.TrimSpace(r.Base+" "+r.BaseCommit)))
	row("source", r.Source)
	if r.Source == "" && r.Issue != 0 {
		row("issue", fmt.Sprintf("#%d", r.Issue))
	}
	row("started", r.Started.Format(time.RFC3339))
	row("took", r.Finished.Sub(r.Started).Round(time.Millisecond).String())
	row("attempt", fmt.Sprint(r.Attempt))
	row("sandbox", r.Sandbox)
	row("network", r.network())
	row("pushed to", r.Pushed)
	row("pull request", r.PullRequest)
	line("\n## Limits\n")
	line("- write: %s", globs(r.Limits.Write))
	line("- read, by executors: %s", globs(r.Limits.Read))
	line("- files changed: %d of %d; bytes of diff: %d of %d", r.committed(), r.Limits.MaxFiles, r.DiffBytes, r.Limits.MaxDiff)
	line("- seconds for a step or a command: %g; tries after a timeout or an endpoint's error: %d", r.Limits.Seconds, r.Limits.Retries)
	line("- denied commands: %s", globs(r.Limits.Denied))
	line("\n## Steps\n")
	for _, s := range r.Steps {
		r.step(line, s)
	}
	switch {
	case len(r.Steps) > 0:
	case r.OK():
		line("None: the task only checks.")
	default:
		line("None was started.")
	}
	line("\n## Changes\n")
	for _, c := range r.Changed {
		line("- %s %s%s", c.Kind, code(c.Path), map[bool]string{true: " (ignored by git)"}[c.Ignored])
	}
	if len(r.Changed) == 0 {
		line("None.")
	}
	line("\n## Verification\n")
	for _, v := range r.VerifyResults {
		r.command(line, v)
	}
	switch {
	case len(r.VerifyResults) > 0:
	case r.OK():
		line("The task has no verify command: check the changes yourself.")
	default:
		line("Nothing was verified.")
	}
	if b := r.failedBefore(); b != nil {
		line("\nBefore the steps, %s failed (%s).", code(termtext.OneLine(b.Cmd)), exit(b.ExitCode))
	} else if len(r.VerifyBefore) > 0 {
		line("\nBefore the steps, it passed as well, so it does not show what the steps did.")
	}
	if r.Diff != "" {
		line("\n## Diff\n\n%s", fenced("diff", r.Diff))
	}
	r.rest(line)
	return b.String()
}

func (r *Report) network() string {
	switch {
	case strings.HasPrefix(r.Sandbox, "none"):
		return "that of the person"
	case r.Network:
		return "allowed by the task"
	}
	return "none"
}

func (r *Report) step(line func(string, ...any), s StepResult) {
	state := "failed"
	if s.Done {
		state = "done"
	}
	about := ""
	if s.File != "" {
		about = " " + code(s.File)
	}
	if s.Executor != "" {
		about += fmt.Sprintf(" by %s, %d tokens", s.Executor, s.Tokens)
	}
	line("- **%s** %s%s: %s in %.1f s", s.ID, s.Action, about, state, s.Seconds)
	for _, f := range s.Failed {
		line("  - %s", sentence(f))
	}
	if s.Summary != "" {
		line("  - %s", termtext.OneLine(s.Summary))
	}
	if s.Command != nil {
		r.command(func(format string, args ...any) {
			line("%s", "  "+strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n  "))
		}, *s.Command)
	}
}

// shown bounds a command's output in the Markdown report.
const shown = 4000

func (r *Report) command(line func(string, ...any), c Result) {
	line("- %s: %s", code(termtext.OneLine(c.Cmd)), exit(c.ExitCode))
	out := strings.TrimSpace(c.Stdout + "\n" + c.Stderr)
	if runes := []rune(out); len(runes) > shown {
		out = "…\n" + string(runes[len(runes)-shown:])
	}
	if out != "" {
		line("\n%s", fenced("", out))
	}
}

// exit returns an exit code in words.
func exit(code int) string {
	if code == -1 {
		return "timeout"
	}
	return fmt.Sprintf("exit code %d", code)
}

func (r *Report) rest(line func(string, ...any)) {
	if r.Kept != "" {
		line("\n## Kept\n\nThe work tree is kept, because its content exists nowhere else: %s. When you have checked it:\n\n%s", code(r.Kept),
			fenced("", "git worktree remove --force "+shellquote.Quote(r.Kept)+"\ngit branch -D "+r.Branch))
	}
	if len(r.Left) > 0 {
		line("\n## Left behind by executors that died\n")
		for _, l := range r.Left {
			line("- %s, branch %s", code(l.Tree), code(l.Branch))
		}
	}
	if len(r.Notes) > 0 {
		line("\n## Notes\n")
		for _, n := range r.Notes {
			line("- %s", sentence(n))
		}
	}
}

func globs(s []string) string {
	if len(s) == 0 {
		return "none"
	}
	out := make([]string, len(s))
	for i, g := range s {
		out[i] = code(g)
	}
	return strings.Join(out, ", ")
}

// code formats text as Markdown code, whatever backticks it contains.
func code(s string) string {
	if s == "" {
		return ""
	}
	marks := "`"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	if len(marks) > 1 {
		return marks + " " + s + " " + marks
	}
	return marks + s + marks
}

func fenced(language, text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + marks
}
