// Package workspace declares the folders and documents with which several
// agents work in one project: sessions, ledger, task queues, runs. It neither
// reads nor changes what agents write there. Call Declare.
package workspace

import (
	"io/fs"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/dir"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Declare returns what the project's agents need, with the project as owner,
// sorted by target.
func Declare(p *spec.Project) []reconcile.Declaration {
	l := layout{owner: reconcile.ProjectOwner(p.Dir)}
	if a := p.Agents; a.Sessions.On {
		at := position(a.Sessions.Pos, a.Pos)
		l.documents(at)
		l.folder(".ai/session-context.d", at)
		l.folder(".ai/sessions", at)
		l.ignore("/.ai/session-context.d/", "/.ai/session-context.org", "/.ai/sessions/", "/.ai/brief.md")
	}
	if a := p.Agents; a.Ledger.On {
		l.want(ledgerDir, ledger(), position(a.Ledger.Pos, a.Pos))
		l.ignore("/.pi-ensemble/", "/.ai/session-context.d/") // hooks keep records in the second
	}
	if a := p.Agents; a.Tasks.On {
		at := position(a.Tasks.Pos, a.Pos)
		queues := a.Queues
		if len(queues) == 0 {
			queues = []string{p.Name}
		}
		for _, q := range queues {
			l.whole("tasks/queue/"+q+"/.gitkeep", nil, at)
		}
		l.folder("tasks/inbox", at)
		l.folder("tasks/runs", at)
		l.ignore("/tasks/inbox/", "/tasks/queue/*/running/", "/tasks/runs/")
	}
	if a := p.Agents; a.Runs.On {
		l.want(runsDir, runs(), position(a.Runs.Pos, a.Pos))
		l.ignore("/.ilchul/")
	}
	if !p.Agents.Track {
		l.gitignore(position(p.Agents.Pos, p.Pos))
	}
	sort.Slice(l.out, func(i, j int) bool { return l.out[i].Target < l.out[j].Target })
	return l.out
}

// Open reports whether people and agents keep files in dir, a folder of the
// project, beside ours.
func Open(dir string) bool {
	return dir == ".ai" || dir == "tasks" || strings.HasPrefix(dir, "tasks/")
}

// layout collects declarations, and the paths that git must not carry.
type layout struct {
	owner   reconcile.Owner
	out     []reconcile.Declaration
	ignored []string
}

// folder wants a folder that only this machine has.
func (l *layout) folder(path string, at []reconcile.Position) { l.want(path, dir.Folder(), at) }

func (l *layout) want(path string, folder reconcile.Body, at []reconcile.Position) {
	l.out = append(l.out, reconcile.Declaration{
		Target: reconcile.Address("dir:" + path),
		Owner:  l.owner,
		Local:  true,
		Leaves: []reconcile.Leaf{{Body: folder, Origin: at}},
	})
}

func (l *layout) ignore(patterns ...string) { l.ignored = append(l.ignored, patterns...) }

// whole wants a file that only aisync writes.
func (l *layout) whole(path string, content []byte, at []reconcile.Position) {
	l.out = append(l.out, reconcile.Declaration{
		Target: reconcile.Address("file:" + path),
		Owner:  l.owner,
		Leaves: []reconcile.Leaf{{Body: file.Whole(content, 0o644), Origin: at}},
	})
}

// documents wants the texts that tell agents how to work together.
func (l *layout) documents(at []reconcile.Position) {
	core := catalog.Core()
	_ = fs.WalkDir(core, ".", func(name string, d fs.DirEntry, err error) error { // embedded: cannot fail
		if err == nil && !d.IsDir() {
			content, _ := fs.ReadFile(core, name)
			l.whole(".ai/"+name, content, at)
		}
		return err
	})
}

// gitignore wants one block that keeps out of git what agents write.
func (l *layout) gitignore(at []reconcile.Position) {
	if len(l.ignored) == 0 {
		return
	}
	slices.Sort(l.ignored)
	l.ignored = slices.Compact(l.ignored)
	l.out = append(l.out, reconcile.Declaration{
		Target: "file:.gitignore",
		Owner:  l.owner,
		Format: string(merge.Text),
		Leaves: []reconcile.Leaf{{
			Key:    reconcile.LeafKey(merge.BlockKey("agents")),
			Body:   file.Block(merge.Text, strings.Join(l.ignored, "\n")+"\n"),
			Own:    reconcile.Member,
			Origin: at,
		}},
	})
}

// position is the first known place.
func position(places ...spec.Position) []reconcile.Position {
	for _, p := range places {
		if p != (spec.Position{}) {
			return []reconcile.Position{reconcile.Position(p)}
		}
	}
	return nil
}
