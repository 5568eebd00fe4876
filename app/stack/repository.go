package stack

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/reconcile/fsys"
)

// repository is the project's git repository, as far as it tells what was
// committed and how git writes files here. Each question is asked at most
// once, and only when an answer is needed: a project in order starts no git.
// Where there is no git, no repository or no commit, nothing is known. It
// writes nothing. Safe for concurrent use.
type repository struct {
	run Runner
	dir string // the project

	commit  func() string // that last changed aisync.lock; "" where there is none
	prefix  func() string
	endings func() map[fsys.LogicalPath]bool

	mu    sync.Mutex
	batch *objects
}

// newRepository looks at nothing yet. managed are the paths about which
// endings may be asked.
func newRepository(ctx context.Context, run Runner, dir string, managed func() []fsys.LogicalPath) *repository {
	r := &repository{run: run, dir: dir}
	line := func(argv ...string) string {
		out, err := run.Run(ctx, dir, append([]string{"git"}, argv...)...)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	r.commit = sync.OnceValue(func() string { return line("log", "-1", "--format=%H", "--", LockName) })
	r.prefix = sync.OnceValue(func() string { return line("rev-parse", "--show-prefix") })
	r.endings = sync.OnceValue(func() map[fsys.LogicalPath]bool {
		return crlf(ctx, run, dir, managed(), line("config", "--get", "core.autocrlf"), line("config", "--get", "core.eol"))
	})
	return r
}

// Committed returns the text of a file of the project at the last commit that
// changed the lock.
func (r *repository) Committed(p fsys.LogicalPath) ([]byte, bool) {
	commit := r.commit()
	if commit == "" || !p.Project() {
		return nil, false
	}
	return r.object(commit + ":./" + string(p))
}

// Head returns the text of a file of the project, or where a link leads, at
// git's HEAD.
func (r *repository) Head(p fsys.LogicalPath) ([]byte, bool) {
	if !p.Project() {
		return nil, false
	}
	return r.object("HEAD:./" + string(p))
}

// object returns a blob by name.
func (r *repository) object(name string) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.batch == nil {
		r.batch = openObjects(r.run, r.dir)
	}
	return r.batch.read(name)
}

// Prefix is the project's folder within its repository: "" at its top, else
// with a slash at the end.
func (r *repository) Prefix() string { return r.prefix() }

// Carried returns what git carried below these folders at that commit. ok is
// false where there is no such commit.
func (r *repository) Carried(ctx context.Context, dirs []string) (files []string, ok bool) {
	commit := r.commit()
	if commit == "" {
		return nil, false
	}
	out, err := r.run.Run(ctx, r.dir, append([]string{"git", "ls-tree", "-r", "-z", "--name-only", commit, "--"}, dirs...)...)
	if err != nil {
		return nil, false
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 }), true
}

// CRLF reports whether git gives the lines of p the ending \r\n when it writes
// it here, as .gitattributes or its configuration says.
func (r *repository) CRLF(p fsys.LogicalPath) bool { return p.Project() && r.endings()[p] }

// crlf asks git which of paths it writes with \r\n.
// https://git-scm.com/docs/gitattributes, "End-of-line conversion"
func crlf(ctx context.Context, run Runner, dir string, paths []fsys.LogicalPath, autocrlf, eol string) map[fsys.LogicalPath]bool {
	var in bytes.Buffer
	for _, p := range paths {
		in.WriteString(string(p))
		in.WriteByte(0)
	}
	out, err := run.feed(ctx, dir, in.Bytes(), "git", "check-attr", "-z", "--stdin", "text", "eol")
	if err != nil {
		return nil
	}
	text, end := map[string]string{}, map[string]string{}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+2 < len(fields); i += 3 {
		switch fields[i+1] {
		case "text":
			text[fields[i]] = fields[i+2]
		case "eol":
			end[fields[i]] = fields[i+2]
		}
	}
	native := autocrlf == "true" || autocrlf != "input" && eol == "crlf"
	found := map[fsys.LogicalPath]bool{}
	for _, p := range paths {
		t := text[string(p)]
		switch {
		case t == "unset" || end[string(p)] == "lf":
		case end[string(p)] == "crlf":
			found[p] = true
		case t == "set", t == "auto", t == "unspecified" && autocrlf == "true":
			found[p] = native
		}
	}
	return found
}

// objects reads many objects through one git.
type objects struct {
	in  io.Writer
	out *bufio.Reader // nil: there is no git
}

// openObjects starts a git that ends when this program does.
func openObjects(run Runner, dir string) *objects {
	cmd := gitrepo.Look(context.Background(), run.Env.List(), gitrepo.Place{Dir: dir}, "cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		return &objects{}
	}
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return &objects{}
	}
	return &objects{in, bufio.NewReader(out)}
}

// read returns a blob by name.
func (o *objects) read(name string) ([]byte, bool) {
	if o.out == nil || strings.ContainsAny(name, "\n") {
		return nil, false
	}
	if _, err := io.WriteString(o.in, name+"\n"); err != nil {
		return nil, false
	}
	head, err := o.out.ReadString('\n')
	if err != nil {
		o.out = nil
		return nil, false
	}
	var id, kind string
	var size int
	if n, _ := fmt.Sscanf(head, "%s %s %d\n", &id, &kind, &size); n != 3 {
		return nil, false // "… missing"
	}
	b := make([]byte, size+1) // with the line end that follows
	if _, err := io.ReadFull(o.out, b); err != nil {
		o.out = nil
		return nil, false
	}
	return b[:size], kind == "blob"
}

// Repository is the project's repository.
func (w *View) Repository(ctx context.Context) *repository {
	w.repoOnce.Do(func() {
		w.repository = newRepository(ctx, w.Runner(), w.Places.Project, w.managedPaths)
	})
	return w.repository
}

// managedPaths are the files of the project that somebody declares or that are
// on record.
func (w *View) managedPaths() []fsys.LogicalPath {
	var out []fsys.LogicalPath
	for a := range w.managed() {
		if a.Kind() == "file" {
			out = append(out, fsys.LogicalPath(path.Clean(a.Name())))
		}
	}
	return out
}
