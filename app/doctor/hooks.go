package doctor

import (
	"bufio"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"golang.org/x/sys/unix"
)

// checkHooks reports what agents and git cannot run: files that are not executable,
// and commands whose program is not in PATH.
func checkHooks(ctx context.Context, e *Env) Outcome {
	if why := e.brokenInput(ctx); why != nil {
		return found(why...)
	}
	_, plan, err := e.plan()
	if err != nil {
		return found(skip("not checked: the check of drift says why"))
	}
	var out []Finding
	for _, c := range plan.Changes {
		addr := c.Target.Resource.Address
		if addr.Kind() != "file" || !slices.ContainsFunc(c.Target.Resource.Leaves, func(l reconcile.Leaf) bool { return file.Executable(l.Body) }) {
			continue
		}
		if why, fix := e.whyNotExecutable(addr.Path(e.places.Home)); why != "" {
			out = append(out, fail(cmp.Or(fix, "aisync apply --restore --target "+shellquote.Terminal(string(addr))), "%s: %s", addr, why))
		}
	}
	out = append(out, e.serversNotInstalled()...)
	seen := map[string]bool{}
	for _, c := range effects.Commands(plan) {
		if word := commandProgram(c.Line); word != "" && !seen[word] {
			seen[word] = true
			if e.findInPath(word) == "" {
				out = append(out, fail("install "+word+", or take what needs it out of the spec", "%s: %s is not in PATH, and %q needs it", c.Origin[0], word, c.Line))
			}
		}
	}
	return found(out...)
}

// whyNotExecutable returns why a managed file cannot be run, and what helps unless
// that is an apply. Both are "" where it can, or is not there, which is drift.
func (e *Env) whyNotExecutable(path fsys.LogicalPath) (why, fix string) {
	physical, err := e.reader.Physical(path)
	if err != nil {
		return "", ""
	}
	info, err := os.Stat(physical)
	if err != nil || !info.Mode().IsRegular() {
		return "", ""
	}
	if info.Mode()&0o111 == 0 {
		if !e.reader.KeepsExec(path, info.Mode()) {
			return "nothing on its file system is executable", "mount it with an fmask that lets files be executed"
		}
		return "it is not executable", ""
	}
	var s unix.Statfs_t
	if unix.Statfs(physical, &s) == nil && noExec(s) {
		return "its file system is mounted so that nothing on it can be executed", "mount it without noexec"
	}
	f, err := os.Open(physical)
	if err != nil {
		return err.Error(), "give yourself access"
	}
	defer f.Close()
	first, _ := bufio.NewReader(f).ReadString('\n')
	line, isScript := strings.CutPrefix(first, "#!")
	words := strings.Fields(line)
	if !isScript || len(words) == 0 || e.places.Root != "" {
		return "", "" // a root may get its programs later
	}
	if _, err := os.Stat(words[0]); err != nil {
		return "its interpreter " + words[0] + " is not there", "install " + filepath.Base(words[0])
	}
	if filepath.Base(words[0]) == "env" && len(words) == 2 && e.findInPath(words[1]) == "" {
		return "its interpreter " + words[1] + " is not in PATH", "install " + words[1]
	}
	return "", ""
}

// findInPath returns where a program is; "" where no folder of PATH has it.
func (e *Env) findInPath(program string) string {
	return hosts.FindProgram(e.places.Root, filepath.SplitList(e.machine.Env.Get("PATH")), program)
}

// programWord matches a command's first word where it is a program to look for in
// PATH: a path is a managed file or the project's own, and what a shell makes
// of the rest is the shell's.
var programWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

// builtins are commands that a shell has itself.
var builtins = []string{"cd", "echo", "exec", "exit", "export", "false", "for", "if", "printf", "set", "test", "true", "while"}

// commandProgram returns the program that command starts, "" where that is unknown
// or no program of PATH.
func commandProgram(command string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	if !programWord.MatchString(word) || slices.Contains(builtins, word) {
		return ""
	}
	return word
}
