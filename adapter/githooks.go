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

// Chained is the project's folder from which git runs the formerly active hooks
// beside those of githooks/.
const Chained = ".aisync/githooks"

// Hooks is the state of a project's git hooks on this machine.
type Hooks struct {
	Active bool     // hooks from outside the project run now
	Names  []string // their names; those installed later run if their name is in clientHooks
	Shared bool     // another work tree of the repository, which shares this configuration, has the chain
	Notes  []string // for the plan, if git hooks are wanted
}

// clientHooks are the hooks that programs install: each has a wrapper, so that
// one installed later runs too. reference-transaction, post-index-change and
// others that git calls at every step have one only if they are in use.
// https://git-scm.com/docs/githooks
var clientHooks = []string{
	"applypatch-msg", "commit-msg", "post-applypatch", "post-checkout", "post-commit", "post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit",
	"pre-merge-commit", "pre-push", "pre-rebase", "prepare-commit-msg", "sendemail-validate",
}

//go:embed chain.sh
var chainScript []byte

// wireHooks points git to the hooks of githooks/, which files holds, or, if
// others are active, to wrappers that run both. The wrappers belong to this
// machine: git does not carry them.
func (b *builder) wireHooks(h Hooks, files []reconcile.Address, ours []string, origin []reconcile.Position) {
	for _, text := range h.Notes {
		b.note(true, origin, "%s", text)
	}
	if h.Shared {
		return // it belongs to that work tree, and goes with it
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
