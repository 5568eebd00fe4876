package shell

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aisync.dev/aisync/agents/hook/edit"
	"aisync.dev/aisync/internal/gitrepo"
)

// patience bounds the time in which git may tell what a command brings.
const patience = 2 * time.Second

// maxPatch bounds the bytes of a patch that is read.
const maxPatch = 16 << 20

// Brings returns the absolute paths that a git command would write, as far as commits
// and patches tell now: what a pull fetches is unknown, and so is what others changed in
// the work tree. ok is false where there may be more.
func (r Reader) Brings(m edit.Move) (paths []string, ok bool) {
	top := m.Dir
	for !gitrepo.IsTop(top) {
		if top == filepath.Dir(top) {
			return nil, false
		}
		top = filepath.Dir(top)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ask := func(args ...string) {
		if !ok {
			return
		}
		out, err := gitrepo.Look(ctx, r.Environ, gitrepo.Place{Dir: top}, args...).Output()
		if ok = err == nil; !ok {
			return
		}
		for name := range strings.SplitSeq(string(out), "\x00") {
			if name = strings.TrimPrefix(name, "\n"); name != "" {
				paths = append(paths, filepath.Join(top, name))
			}
		}
	}
	// Two commits alone are compared: a look at the work tree would run filters.
	compare := []string{"diff-tree", "-r", "--name-only", "-z", "--no-renames", "--no-commit-id"}
	diff := func(from, to string) { ask(append(compare, "--end-of-options", from, to)...) }
	since := func(to string) { ask(append(compare, "--merge-base", "--end-of-options", "HEAD", to)...) }
	ok = true
	verb, args := m.Args[0], m.Args[1:]
	flags, rest := options(without(args, valued[verb]))
	has := func(names ...string) bool {
		return slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(names, f) })
	}
	if slices.ContainsFunc(rest, func(word string) bool { return strings.HasPrefix(word, "-") && word != "-" }) {
		return nil, false // behind --, no commit
	}
	first := func(otherwise string) string {
		switch {
		case len(rest) == 0:
			return otherwise
		case rest[0] == "-":
			return "@{-1}"
		}
		return rest[0]
	}
	switch verb {
	case "merge", "rebase", "pull", "am", "cherry-pick", "revert":
		if has("--abort", "--continue", "--quit", "--skip", "--show-current-patch", "--edit-todo") {
			return nil, false
		}
	}
	switch verb {
	case "merge":
		for _, other := range rest {
			since(other)
		}
		if len(rest) == 0 {
			since("@{upstream}")
		}
	case "pull":
		from := "@{upstream}"
		if len(rest) > 1 {
			from = rest[0] + "/" + strings.TrimPrefix(rest[1], "+")
		}
		if has("-r", "--rebase") {
			diff("HEAD", from)
		} else {
			since(from)
		}
	case "rebase":
		diff("HEAD", onto(args, first("@{upstream}")))
		if len(rest) > 1 {
			diff("HEAD", rest[1])
		}
	case "checkout", "switch":
		if has("-b", "-B", "-c", "-C", "--create") && len(rest) > 1 {
			rest = rest[1:]
		}
		diff("HEAD", first("HEAD"))
		ok = ok && !has("-f", "--force", "--discard-changes")
	case "reset":
		diff("HEAD", first("HEAD"))
		ok = ok && has("--keep")
	case "cherry-pick", "revert":
		ask(append([]string{"log", "--no-walk=unsorted", "-m", "--first-parent", "--format=", "--name-only", "-z", "--no-renames", "--end-of-options"}, rest...)...)
	case "stash":
		if len(rest) == 0 || rest[0] == "push" || rest[0] == "save" {
			return nil, false
		}
		rest = rest[1:]
		name := first("stash@{0}")
		if _, err := strconv.Atoi(name); err == nil {
			name = "stash@{" + name + "}"
		}
		diff(name+"^1", name)
		if ok {
			ask("ls-tree", "-r", "--name-only", "-z", name+"^3")
			ok = true // most stashes have no untracked files
		}
	case "apply", "am":
		if has("--check", "--stat", "--numstat", "--summary", "--cached") && !has("--apply") {
			return nil, true
		}
		if len(rest) == 0 || slices.ContainsFunc(flags, func(f string) bool {
			return strings.HasPrefix(f, "-p") || strings.HasPrefix(f, "--directory") || f == "-R" || f == "--reverse"
		}) {
			return nil, false
		}
		for _, name := range rest {
			text, err := patch(edit.Absolute(m.Dir, "", name))
			if err != nil {
				return nil, false
			}
			for _, name := range patched(text) {
				paths = append(paths, filepath.Join(top, name))
			}
		}
	}
	return paths, ok
}

// valued are options that take the next word as a value, by command.
var valued = map[string][]string{
	"merge":       {"-m", "-F", "-s", "-X", "--strategy", "--strategy-option", "--file", "--into-name"},
	"pull":        {"-s", "-X", "--strategy", "--strategy-option"},
	"rebase":      {"--onto", "-s", "-X", "-x", "--exec", "--strategy", "--strategy-option", "-C"},
	"cherry-pick": {"-m", "--mainline", "-s", "-X", "--strategy", "--strategy-option"},
	"revert":      {"-m", "--mainline", "-X", "--strategy", "--strategy-option"},
	"stash":       {"-m", "--message"},
	"am":          {"-C", "--patch-format", "--exclude", "--include"},
	"apply":       {"-C", "--exclude", "--include", "--whitespace"},
}

// without drops options that take the next word, with their values.
func without(args, options []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if slices.Contains(options, args[i]) {
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// onto returns the commit that --onto of a rebase names.
func onto(args []string, otherwise string) string {
	for i, a := range args {
		if to, ok := strings.CutPrefix(a, "--onto="); ok {
			return to
		}
		if a == "--onto" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return otherwise
}

// patch reads a patch that is a file.
func patch(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPatch {
		return "", os.ErrInvalid
	}
	text, err := os.ReadFile(name)
	return string(text), err
}

// patched returns the paths that the headers of a patch name.
func patched(text string) (out []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for _, head := range []string{"--- a/", "+++ b/", "rename from ", "rename to ", "copy to "} {
			if name, ok := strings.CutPrefix(line, head); ok {
				name, _, _ = strings.Cut(name, "\t")
				out = append(out, name)
			}
		}
		if both, ok := strings.CutPrefix(line, "diff --git a/"); ok { // an empty or a binary file has no other line
			if from, to, ok := strings.Cut(both, " b/"); ok && from == to {
				out = append(out, from)
			}
		}
	}
	return out
}
