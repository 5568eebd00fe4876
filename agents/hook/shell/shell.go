// Package shell reads command lines: which files one writes, and which changes of
// git it makes. It runs nothing but a git that looks. Its parser begins late in the program, so package
// hook does not import it: a hook that needs no shell is quicker without. Call
// Reader.Writes.
package shell

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"aisync.dev/aisync/agents/hook/edit"
)

// shell collects what a command line writes. It follows literal words, cd and
// variables with one literal value; what only the shell can know is left to
// PostToolUse.
type shell struct {
	dir, home string // dir is "" where it is unknown
	values    map[string]string
	funcs     map[string]*syntax.Stmt // bodies of functions, which run where they are called
	calls     *int                    // of functions that may still be followed
	out       []string                // absolute paths
	git       [][]string              // the words of each git command, without its global options
	moves     []edit.Move
}

// Reader implements hook.Shell.
type Reader struct {
	Environ []string // of the git that Brings asks
}

// Writes returns the absolute paths that a command line writes through the usual
// writers: redirections, tee, sed -i, cp, mv, rm, apply_patch, git checkout of files.
func (Reader) Writes(line, dir, home string) []string { return read(line, dir, home).out }

// ChangesGit returns the first git command of a line that changes something, as
// it stands there; "" if none does.
func (Reader) ChangesGit(line, dir, home string) string { return read(line, dir, home).changesGit() }

// Moves returns the git commands of a line whose writes are in commits and patches.
func (Reader) Moves(line, dir, home string) []edit.Move { return read(line, dir, home).moves }

func read(line, dir, home string) *shell {
	s := &shell{dir: dir, home: home, values: map[string]string{"HOME": home, "PWD": dir}, funcs: map[string]*syntax.Stmt{}, calls: new(int)}
	*s.calls = maxCalls
	s.line(line, 0)
	return s
}

// maxCalls bounds the calls of functions, which may call each other.
const maxCalls = 100

// take keeps what an inner shell found; its folder and variables end with it.
func (s *shell) take(inner shell) { s.out, s.git, s.moves = inner.out, inner.git, inner.moves }

// nested bounds sh -c 'sh -c …'.
const nested = 4

func (s *shell) line(line string, depth int) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || depth > nested {
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell:
			inner := *s // cd and variables end with it
			inner.values = map[string]string{}
			for k, v := range s.values {
				inner.values[k] = v
			}
			for _, st := range n.Stmts {
				syntax.Walk(st, inner.visit(depth))
			}
			s.take(inner)
			return false
		default:
			return s.visit(depth)(n)
		}
	})
}

func (s *shell) visit(depth int) func(syntax.Node) bool {
	return func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			for _, r := range n.Redirs {
				s.redirect(r)
			}
			if call, ok := n.Cmd.(*syntax.CallExpr); ok {
				s.call(call, n.Redirs, depth)
			}
		case *syntax.FuncDecl:
			if n.Name == nil { // anonymous: it runs where it stands
				return true
			}
			s.funcs[n.Name.Value] = n.Body
			return false
		}
		return true
	}
}

func (s *shell) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		if w, ok := s.word(r.Word); ok {
			s.file(w)
		}
	}
}

// file adds a path, with the pattern characters that the shell expands.
func (s *shell) file(name string) {
	if name == "" || !filepath.IsAbs(name) && s.dir == "" || strings.HasPrefix(name, "/dev/") {
		return
	}
	at := edit.Absolute(s.dir, s.home, name)
	if strings.ContainsAny(name, "*?[") {
		if found, err := filepath.Glob(at); err == nil && len(found) > 0 {
			s.out = append(s.out, found...)
			return
		}
	}
	s.out = append(s.out, at)
}

func (s *shell) files(names []string) {
	for _, n := range names {
		s.file(n)
	}
}

func (s *shell) call(call *syntax.CallExpr, redirs []*syntax.Redirect, depth int) {
	if len(call.Args) == 0 {
		for _, a := range call.Assigns {
			if value, ok := s.word(a.Value); ok && a.Name != nil && !a.Append {
				s.values[a.Name.Value] = value
			} else if a.Name != nil {
				delete(s.values, a.Name.Value)
			}
		}
		return
	}
	var argv []string
	for _, a := range call.Args {
		w, ok := s.word(a)
		if !ok {
			w = unknown
		}
		argv = append(argv, w)
	}
	s.run(argv, heredoc(redirs), depth)
}

// unknown stands for a word that only the shell knows.
const unknown = "\x00"

// prefixes are commands that run the command behind them, with the options that
// take a value.
var prefixes = map[string]string{"sudo": "ugCDhpRrTt", "env": "uCS", "nohup": "", "time": "fo", "command": "", "exec": "a", "nice": "n", "builtin": "", "stdbuf": "ioe", "xargs": "aEIiLlnPs", "timeout": "ks"}

func (s *shell) run(argv []string, here string, depth int) {
	name := path.Base(argv[0])
	args := argv[1:]
	if body := s.funcs[argv[0]]; body != nil {
		if *s.calls--; *s.calls >= 0 && depth < nested {
			syntax.Walk(body, s.visit(depth+1))
		}
		return
	}
	if with, ok := prefixes[name]; ok {
		for len(args) > 0 && (strings.HasPrefix(args[0], "-") || strings.Contains(args[0], "=")) {
			if a := args[0]; len(a) == 2 && a[0] == '-' && strings.Contains(with, a[1:]) && len(args) > 1 {
				args = args[1:]
			}
			args = args[1:]
		}
		if name == "timeout" && len(args) > 0 {
			args = args[1:]
		}
		if len(args) > 0 {
			s.run(args, here, depth)
		}
		return
	}
	flags, rest := options(args)
	switch {
	case name == "cd":
		s.dir = s.moved(rest)
	case edit.IsShell(name) && len(rest) > 0 && slices.ContainsFunc(flags, func(f string) bool { return !strings.HasPrefix(f, "--") && strings.HasSuffix(f, "c") }):
		if rest[0] != unknown {
			inner := *s
			inner.line(rest[0], depth+1)
			s.take(inner)
		}
	case edit.IsShell(name) && len(rest) == 0 && here != "": // it reads commands from its here-document
		inner := *s
		inner.line(here, depth+1)
		s.take(inner)
	case name == "eval":
		if !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, unknown) }) {
			s.line(strings.Join(args, " "), depth+1)
		}
	case name == "find":
		s.find(args, depth)
	case slices.Contains(edit.Writers, name):
		s.write(name, args, rest, here)
	}
}

// write notes the files that one of edit.Writers writes. rest are the arguments that
// are no options.
func (s *shell) write(name string, args, rest []string, here string) {
	switch name {
	case "tee", "touch", "truncate", "rm", "rmdir", "unlink", "shred":
		s.files(known(rest))
	case "sed", "perl":
		s.edited(args)
	case "cp", "mv", "install", "ln", "rsync":
		s.copied(name, args)
	case "dd":
		for _, a := range args {
			if to, ok := strings.CutPrefix(a, "of="); ok {
				s.file(to)
			}
		}
	case "apply_patch", "applypatch", "applyPatch":
		s.files(edit.Patched(strings.Join(append(known(rest), here), "\n")))
	case "git":
		s.runGit(args)
	}
}

// moved is the folder after cd.
func (s *shell) moved(rest []string) string {
	if len(rest) == 0 {
		return s.home
	}
	if rest[0] == unknown || rest[0] == "-" || s.dir == "" && !filepath.IsAbs(rest[0]) {
		return ""
	}
	return edit.Absolute(s.dir, s.home, rest[0])
}

// options splits arguments into those with a hyphen, before "--", and the rest.
func options(args []string) (flags, rest []string) {
	for i, a := range args {
		switch {
		case a == "--":
			return flags, append(rest, args[i+1:]...)
		case strings.HasPrefix(a, "-") && a != "-":
			flags = append(flags, a)
		default:
			rest = append(rest, a)
		}
	}
	return flags, rest
}

func known(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.Contains(a, unknown) })
}

// word returns a word that has one known value.
func (s *shell) word(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", true
	}
	return s.parts(w.Parts, false)
}

func (s *shell) parts(parts []syntax.WordPart, double bool) (string, bool) {
	var b strings.Builder
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text := unescaped(p.Value, double)
			if i == 0 && !double && (text == "~" || strings.HasPrefix(text, "~/")) {
				text = s.home + text[1:]
			}
			b.WriteString(text)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			text, ok := s.parts(p.Parts, true)
			if !ok {
				return "", false
			}
			b.WriteString(text)
		case *syntax.ParamExp:
			if p.Param == nil || p.Exp != nil || p.Repl != nil || p.Slice != nil || p.Index != nil || p.Length || p.Excl {
				return "", false
			}
			value, ok := s.values[p.Param.Value]
			if !ok {
				return "", false
			}
			b.WriteString(value)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescaped removes backslashes outside single quotes.
func unescaped(text string, double bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!double || strings.ContainsRune("$`\"\\\n", rune(text[i+1]))) {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// heredoc returns the text of a command's here-document, as far as it is literal.
func heredoc(redirs []*syntax.Redirect) string {
	var b strings.Builder
	for _, r := range redirs {
		w := r.Hdoc
		if r.Op == syntax.WordHdoc {
			w = r.Word
		}
		if w == nil {
			continue
		}
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Lit:
				b.WriteString(n.Value)
			case *syntax.SglQuoted:
				b.WriteString(n.Value)
			}
			return true
		})
		b.WriteByte('\n')
	}
	return b.String()
}
