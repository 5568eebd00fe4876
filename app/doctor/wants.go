package doctor

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// ownChecks are the kinds that have a check of their own.
var ownChecks = []string{"model", "service"}

// shownWaiting bounds how much is named of what waits for an apply.
const shownWaiting = 4

// checkDrift compares the machine with what the specs ask for. What waits for
// an apply does not work yet, and what was edited since may not: both fail. Of
// the built-in host nobody has asked anything, so there it is a hint.
func checkDrift(ctx context.Context, p *Env) []Finding {
	if why := p.unreadable(ctx); why != nil {
		return why
	}
	w, plan, err := p.planned()
	if err != nil {
		return []Finding{fail(cmp.Or(advice.Of(err), "aisync plan"), "it cannot be told what should be there: %v", err)}
	}
	level := fail
	if h := w.Spec.Host; h != nil && h.Builtin && w.Spec.Project == nil {
		level = warn
	}
	var out []Finding
	var waiting []string
	for _, c := range plan.Changes {
		addr := c.Target.Resource.Address
		if slices.Contains(ownChecks, addr.Kind()) {
			continue
		}
		switch {
		case c.Action == reconcile.Unclear:
			out = append(out, fail("", "%s: it cannot be told whether it is right: %s", addr, c.Before.Reason))
		case c.Action == reconcile.Accept && addr.Kind() == "view":
			out = append(out, level("aisync apply, which reads it", "%s%s is another file than the model, and nobody has compared its bytes", asker(c), addr))
		case c.Action == reconcile.None, c.Action == reconcile.Accept, c.Action == reconcile.Release:
		case c.Drift():
			name := shellquote.Terminal(string(addr))
			out = append(out, level("aisync apply --restore --target "+name+", or aisync adopt "+name+" to keep it so", "%s%s is not as it was made: %s", asker(c), addr, c.Meaning()))
		default:
			waiting = append(waiting, fmt.Sprintf("%s%s: %s", asker(c), addr, c.Meaning()))
		}
	}
	if n := len(waiting); n > 0 {
		if n > shownWaiting+1 {
			waiting = append(waiting[:shownWaiting], fmt.Sprintf("and %d more", n-shownWaiting))
		}
		out = append(out, level("aisync apply", "not done yet:\n%s", strings.Join(waiting, "\n")))
	}
	return append(out, p.cannotBeDone(plan)...)
}

// unreadable says that nothing can be compared while another check fails.
func (p *Env) unreadable(ctx context.Context) []Finding {
	for _, other := range []struct {
		name   string
		broken bool
	}{{"spec", p.specErr != nil}, {"records", p.storeOf != nil}, {"lock", len(checkLocks(ctx, p)) > 0}} {
		if other.broken {
			return []Finding{skip("not checked: the check of %s says why", other.name)}
		}
	}
	return nil
}

// asker is the place in a spec that asks for what c changes, as the beginning of
// a message.
func asker(c reconcile.Change) string {
	if from := c.Origin(); len(from) > 0 {
		return from[0].String() + ": "
	}
	return ""
}

// cannotBeDone names what was asked for and is beyond this machine. A service
// of it has a check of its own.
func (p *Env) cannotBeDone(plan *reconcile.Plan) (out []Finding) {
	for _, u := range plan.Unsupported {
		switch u.Address.Kind() {
		case "service":
		case "package", "model":
			out = append(out, fail("", "%s: %s", u.Address, u.Reason))
		default:
			out = append(out, warn("", "%s: %s", u.Address, u.Reason))
		}
	}
	return out
}

// checkHooks looks at what agents and git shall run: each file that must be
// executable, and the program of each command.
func checkHooks(ctx context.Context, p *Env) []Finding {
	if why := p.unreadable(ctx); why != nil {
		return why
	}
	_, plan, err := p.planned()
	if err != nil {
		return []Finding{skip("not checked: the check of drift says why")}
	}
	var out []Finding
	for _, c := range plan.Changes {
		addr := c.Target.Resource.Address
		if addr.Kind() != "file" || !slices.ContainsFunc(c.Target.Resource.Leaves, func(l reconcile.Leaf) bool { return file.Executable(l.Body) }) {
			continue
		}
		if why, fix := p.cannotStart(addr.Path(p.places.Home)); why != "" {
			out = append(out, fail(cmp.Or(fix, "aisync apply --restore --target "+shellquote.Terminal(string(addr))), "%s: %s", addr, why))
		}
	}
	seen := map[string]bool{}
	for _, c := range effects.Commands(plan) {
		if word := program(c.Line); word != "" && !seen[word] {
			seen[word] = true
			if p.inPath(word) == "" {
				out = append(out, fail("install "+word+", or take what needs it out of the spec", "%s: %s is not in PATH, and %q needs it", c.Origin[0], word, c.Line))
			}
		}
	}
	return out
}

// cannotStart says why a managed file cannot be run, and what helps where that
// is not an apply. Both are "" where it can, or is not there: that is drift.
func (p *Env) cannotStart(path fsys.LogicalPath) (why, fix string) {
	physical, err := p.disk.Physical(path)
	if err != nil {
		return "", ""
	}
	info, err := os.Stat(physical)
	if err != nil || !info.Mode().IsRegular() {
		return "", ""
	}
	if info.Mode()&0o111 == 0 {
		if !p.disk.KeepsExec(path, info.Mode()) {
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
	if !isScript || len(words) == 0 || p.places.Root != "" {
		return "", "" // a root may get its programs later
	}
	if _, err := os.Stat(words[0]); err != nil {
		return "its interpreter " + words[0] + " is not there", "install " + filepath.Base(words[0])
	}
	if filepath.Base(words[0]) == "env" && len(words) == 2 && p.inPath(words[1]) == "" {
		return "its interpreter " + words[1] + " is not in PATH", "install " + words[1]
	}
	return "", ""
}

// inPath is where a program is; "" where no folder of PATH has it.
func (p *Env) inPath(program string) string {
	return hosts.FindProgram(p.places.Root, filepath.SplitList(p.machine.Env.Get("PATH")), program)
}

// plainWord is a command's first word where it is a program to look for in
// PATH: a path is a managed file or the project's own, and what a shell makes
// of the rest is the shell's.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

// builtins are commands that a shell has itself.
var builtins = []string{"cd", "echo", "exec", "exit", "export", "false", "for", "if", "printf", "set", "test", "true", "while"}

// program is the program that a command starts, "" where it cannot be told or
// is no matter of PATH.
func program(command string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	if !plainWord.MatchString(word) || slices.Contains(builtins, word) {
		return ""
	}
	return word
}

// skew is how far clocks may be apart before it is worth a word.
const skew = 5 * time.Minute

// checkClock compares the clock with the newest apply on record: certificates,
// logs and the age of what is kept go by it.
func checkClock(_ context.Context, p *Env) []Finding {
	if p.store == nil {
		return nil
	}
	history, err := p.store.Heads()
	if err != nil {
		return nil // the check of records says why
	}
	now := time.Now()
	for _, h := range history {
		if ahead := h.Time.Sub(now); ahead > skew {
			return []Finding{warn("set the clock (timedatectl set-ntp true)", "the clock says %s, and an apply is on record that began at %s: one of them is wrong", now.Format(time.DateTime), h.Time.Local().Format(time.DateTime))}
		}
	}
	return nil
}
