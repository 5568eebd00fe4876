package policy

import (
	"errors"
	"fmt"
	"path"
	"regexp/syntax"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/termtext"
)

// Command returns a *Violation if a line of shell runs a denied command, or if
// the commands that it runs are undecidable. It examines each command of the
// line, in quotes, substitutions, functions and nested shells too, with its
// words as the shell would expand them and its options in every usual order. It
// does not see what a started program does; the sandbox limits that.
func (l Limits) Command(line string) error {
	if len(l.denied) == 0 {
		return nil
	}
	return l.script(line, 0)
}

// maxNesting bounds nested shells.
const maxNesting = 8

func (l Limits) script(line string, depth int) error {
	if depth > maxNesting {
		return &Violation{Text: fmt.Sprintf("command %q: shells are nested too deeply to check it", clip(line))}
	}
	calls, err := parse(line)
	if err != nil {
		return &Violation{Text: fmt.Sprintf("command %q: cannot be parsed (%v), and the task denies commands", clip(line), err)}
	}
	for _, words := range calls {
		if err := l.call(words, depth); err != nil {
			return err
		}
	}
	return nil
}

// wrappers run their arguments, as a command or as a line of shell.
var wrappers = []string{
	"env", "sudo", "doas", "nohup", "nice", "ionice", "chrt", "taskset", "timeout", "stdbuf", "setsid", "command", "builtin", "exec", "time",
	"xargs", "busybox", "toybox", "unbuffer", "strace", "ltrace", "watch", "parallel", "find", "fd", "flock", "chroot", "unshare", "nsenter",
	"script", "su", "runuser", "setpriv", "ssh", "trap", "entr", "systemd-run", "gdb", "expect", "fakeroot", "proot", "bwrap", "firejail",
}

var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "yash"}

func (l Limits) call(words []word, depth int) error {
	text := join(words)
	if words[0].unknown() || words[0].glob {
		return &Violation{Text: fmt.Sprintf("command %q: its program is undecidable, and the task denies commands", clip(text))}
	}
	name := path.Base(words[0].text)
	args := words[1:]
	switch {
	case slices.Contains(shells, name):
		if err := l.shell(text, args, depth); err != nil {
			return err
		}
	case name == "eval":
		if slices.ContainsFunc(args, word.unknown) {
			return &Violation{Text: fmt.Sprintf("command %q: what it runs is undecidable, and the task denies commands", clip(text))}
		}
		if err := l.script(join(args), depth+1); err != nil {
			return err
		}
	case name == "alias" && len(args) > 0:
		return &Violation{Text: fmt.Sprintf("command %q: an alias hides what it runs, and the task denies commands", clip(text))}
	case slices.Contains(wrappers, name):
		for i, w := range args {
			if strings.ContainsAny(w.text, " \t\n;|&") && !w.unknown() {
				if err := l.script(w.text, depth+1); err != nil && denies(err) {
					return err
				}
			}
			if w.text == "" || w.text[0] == '-' || strings.Contains(w.text, "=") && name == "env" {
				continue
			}
			if depth+1 > maxNesting {
				break
			}
			if w.unknown() && i == 0 || !w.unknown() {
				if err := l.call(args[i:], depth+1); err != nil && (denies(err) || i == 0) {
					return err
				}
			}
		}
	}
	words = append([]word{{text: name}}, args...)
	for _, re := range l.denied {
		if mayMatch(re.String(), words) && slices.ContainsFunc(args, word.unknown) {
			return &Violation{Text: fmt.Sprintf("command %q: its arguments are undecidable, and %q is denied: write them out", clip(text), re)}
		}
		for _, r := range append(spellings(words), text) {
			if re.MatchString(r) {
				return &certainViolation{Violation{Text: fmt.Sprintf("command %q is denied by %q", clip(text), re)}}
			}
		}
	}
	return nil
}

// certainViolation is a certain violation, as opposed to an undecidable one.
type certainViolation struct{ Violation }

func (d *certainViolation) Unwrap() error { return &d.Violation }

func denies(err error) bool { return errors.As(err, new(*certainViolation)) }

// shell examines what a shell is given to run.
func (l Limits) shell(text string, args []word, depth int) error {
	for i, a := range args {
		switch {
		case a.unknown():
		case a.text == "-c" || len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-' && strings.Contains(a.text, "c"):
			rest := args[i+1:]
			for len(rest) > 0 && !rest[0].unknown() && strings.HasPrefix(rest[0].text, "-") {
				rest = rest[1:]
			}
			if len(rest) == 0 || rest[0].unknown() {
				return &Violation{Text: fmt.Sprintf("command %q: what it runs is undecidable, and the task denies commands", clip(text))}
			}
			return l.script(rest[0].text, depth+1)
		case a.text == "--version", a.text == "--help", a.text == "-n":
			return nil
		case a.text == "-", a.text == "-s":
		case a.text[:min(1, len(a.text))] == "-", a.text[:min(1, len(a.text))] == "+":
			continue
		default:
			return nil // a file
		}
		break
	}
	return &Violation{Text: fmt.Sprintf("command %q: a shell that reads its commands from elsewhere, and the task denies commands", clip(text))}
}

// mayMatch reports whether a pattern may match a command: its first words are
// the command's, as far as both are known.
func mayMatch(pattern string, words []word) bool {
	words = subcommand(words)
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return true
	}
	lead, whole := literal(re)
	fields := strings.Fields(lead)
	if !whole && !strings.HasSuffix(lead, " ") && len(fields) > 0 {
		last := fields[len(fields)-1]
		fields = fields[:len(fields)-1]
		if len(words) > len(fields) && !words[len(fields)].unknown() && !strings.HasPrefix(words[len(fields)].text, last) && same(fields, words) {
			return false
		}
	}
	return same(fields, words)
}

func same(fields []string, words []word) bool {
	for i, f := range fields {
		if i >= len(words) || words[i].unknown() || strings.HasPrefix(words[i].text, "-") {
			return true
		}
		if words[i].text != f {
			return false
		}
	}
	return true
}

// literal returns the text with which every match of re begins.
func literal(re *syntax.Regexp) (text string, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune), re.Flags&syntax.FoldCase == 0
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpEmptyMatch:
		return "", true
	case syntax.OpCapture:
		return literal(re.Sub[0])
	case syntax.OpPlus:
		if s := re.Sub[0].String(); s == `\s` || s == " " || s == `[\t\n\f\r ]` {
			return " ", true
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			t, ok := literal(sub)
			text += t
			if !ok {
				return text, false
			}
		}
		return text, true
	}
	return "", false
}

// clip shortens a command for a message.
func clip(s string) string { return termtext.Clip(s, 201) }
