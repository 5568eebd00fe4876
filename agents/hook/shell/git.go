package shell

import (
	"os"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/hook/edit"
)

// gitValues are git's own options that take the next word as a value.
var gitValues = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"}

// runGit notes a git command and the files that it writes into the work tree.
func (s *shell) runGit(args []string) {
	dir := s.dir
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if slices.Contains(gitValues, args[0]) && len(args) > 1 {
			if args[0] == "-C" && args[1] != unknown && dir != "" {
				dir = edit.Absolute(dir, s.home, args[1])
			}
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	s.git = append(s.git, args)
	at := *s
	at.dir = dir
	words, verb, args := args, args[0], args[1:]
	if verb == "restore" {
		args = withoutSource(args)
	}
	flags, rest := options(args)
	has := func(names ...string) bool {
		return slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(names, f) })
	}
	move := func(otherwise ...string) {
		if dir != "" && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, unknown) }) {
			at.moves = append(at.moves, edit.Move{Dir: dir, Args: words, Else: otherwise})
			return
		}
		at.files(otherwise)
	}
	switch verb {
	case "checkout", "restore", "switch":
		if i := slices.Index(args, "--"); i >= 0 {
			rest = args[i+1:]
		} else if has("--orphan") || verb == "restore" && has("--staged", "-S") && !has("--worktree", "-W") {
			return
		} else if verb == "checkout" && has("-b", "-B") || verb == "switch" && has("-c", "-C", "--create") {
			if len(rest) > 1 {
				move()
			}
			rest = nil
		} else if verb != "restore" {
			there := slices.DeleteFunc(known(rest), func(r string) bool { return !exists(edit.Absolute(dir, s.home, r)) })
			if len(there) == 0 { // another commit
				move(edit.Absolute(dir, s.home, "."))
			}
			rest = there
		}
		at.files(known(rest))
	case "rm", "mv", "clean":
		if verb == "rm" && has("--cached") {
			return
		}
		if rest = known(rest); len(rest) == 0 {
			rest = []string{"."}
		}
		at.files(rest)
	case "reset":
		if has("--hard", "--merge", "--keep") {
			move(edit.Absolute(dir, s.home, "."))
		}
	case "stash":
		if len(rest) == 0 || slices.Contains([]string{"push", "save", "pop", "apply"}, rest[0]) {
			move(edit.Absolute(dir, s.home, "."))
		}
	case "apply", "am", "merge", "rebase", "pull", "cherry-pick", "revert":
		move() // what git cannot tell, PostToolUse finds
	}
	s.out, s.moves = at.out, at.moves
}

// withoutSource drops the commit of restore's -s and --source, where it is a word by
// itself.
func withoutSource(args []string) []string {
	i := slices.IndexFunc(args, func(a string) bool { return a == "-s" || a == "--source" || a == "--" })
	if i < 0 || args[i] == "--" || i+1 == len(args) {
		return args
	}
	return slices.Delete(slices.Clone(args), i, i+2)
}

// gitReads are the git commands that change nothing.
var gitReads = []string{
	"status", "log", "diff", "show", "blame", "annotate", "grep", "ls-files", "ls-tree", "ls-remote", "rev-parse", "rev-list", "describe", "shortlog",
	"cat-file", "diff-tree", "diff-index", "diff-files", "merge-base", "name-rev", "for-each-ref", "show-ref", "show-branch", "whatchanged", "reflog",
	"check-ignore", "check-attr", "help", "version", "var", "count-objects", "fsck", "range-diff", "cherry", "format-patch", "archive",
}

// gitListing are commands that list when they have no further words.
var gitListing = []string{"branch", "tag", "remote", "stash", "worktree", "config", "notes", "submodule"}

func (s *shell) changesGit() string {
	for _, args := range s.git {
		_, rest := options(args[1:])
		switch {
		case slices.Contains(gitReads, args[0]):
			continue
		case slices.Contains(gitListing, args[0]):
			flags, _ := options(args[1:])
			changes := slices.ContainsFunc(flags, func(f string) bool {
				return slices.Contains([]string{"-d", "-D", "-m", "-M", "-c", "-C", "-f", "--delete", "--move", "--copy", "--force", "--unset", "--add", "--edit-description", "--set-upstream-to", "-u", "-a", "-s"}, f) && !(args[0] == "branch" && f == "-a")
			})
			lists := len(rest) == 0 && args[0] != "stash" || len(rest) > 0 && slices.Contains([]string{"list", "show", "status", "get", "get-url", "-v"}, rest[0]) || args[0] == "config" && len(rest) == 1
			if lists && !changes {
				continue
			}
		}
		return "git " + strings.ReplaceAll(strings.Join(args, " "), unknown, "…")
	}
	return ""
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
