package adapter

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/gitconfig"
	"aisync.dev/aisync/reconcile"
)

// Chained is the folder of the project from which git runs the hooks that were
// active before beside those of githooks/.
const Chained = ".aisync/githooks"

// Hooks is what a look at the machine found about the git hooks of a project.
type Hooks struct {
	Active bool     // hooks other than the project's own run now
	Names  []string // of theirs; those installed later run if their name is among clientHooks
	Shared bool     // the chain of another work tree of the repository, whose configuration is this one's too, is in place
	Notes  []string // for the plan, where git hooks are wanted
}

// clientHooks are the hooks that programs install: each has a wrapper, so that
// one installed later runs too. reference-transaction, post-index-change and the
// like, which git calls at every step, have one only where they are used.
// https://git-scm.com/docs/githooks
var clientHooks = []string{
	"applypatch-msg", "commit-msg", "post-applypatch", "post-checkout", "post-commit", "post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit",
	"pre-merge-commit", "pre-push", "pre-rebase", "prepare-commit-msg", "sendemail-validate",
}

//go:embed chain.sh
var chainScript []byte

// wireHooks points git to the hooks of githooks/, which files holds, and where
// others are active to wrappers that run both. The wrappers are this machine's:
// git does not carry them.
func (b *builder) wireHooks(h Hooks, files []reconcile.Address, ours []string, origin []reconcile.Position) {
	for _, text := range h.Notes {
		b.note(true, origin, "%s", text)
	}
	if h.Shared {
		return // it is that work tree's, and goes with it
	}
	value, asker := "githooks", "git hooks"
	if h.Active {
		// Absolute: a linked work tree shares the value and has no such folder.
		value = filepath.Join(b.owner.ProjectDir(), filepath.FromSlash(Chained))
		add := func(name string, body reconcile.Body) {
			at := fileAt(Chained + "/" + name)
			b.leaf(at, "", reconcile.Leaf{Body: body, Origin: origin}, asker)
			b.targets[at].Local = true
			files = append(files, at)
		}
		names := slices.DeleteFunc(slices.Concat(clientHooks, h.Names, ours), func(name string) bool { return strings.Contains(name, "/") })
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			add(name, file.Whole(chainScript, 0o755))
		}
		add(".gitignore", file.Whole([]byte("*\n"), 0o644))
	}
	const key = "gitconfig:core.hooksPath"
	b.leaf(key, "", reconcile.Leaf{Body: gitconfig.Value(value), Origin: origin}, asker)
	slices.Sort(files)
	b.targets[key].DependsOn, b.targets[key].Local = slices.Compact(files), true
}
