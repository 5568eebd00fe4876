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

// Repository answers what the project's git repository has committed and how git
// writes files here. It starts git when it is first asked, and each question at
// most once. Without git, a repository or a commit it knows nothing. It writes
// nothing, and is safe for concurrent use.
type Repository struct {
	run Runner
	dir string // the project

	commit  func() string // that last changed aisync.lock; "" where there is none
	prefix  func() string
	endings func() map[fsys.LogicalPath]bool

	mu    sync.Mutex
	batch *objects
}

// newRepository returns the repository of dir, and starts no git yet. managed
// returns the paths that CRLF may be asked about.
func newRepository(ctx context.Context, run Runner, dir string, managed func() []fsys.LogicalPath) *Repository {
	r := &Repository{run: run, dir: dir}
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
func (r *Repository) Committed(p fsys.LogicalPath) ([]byte, bool) {
	commit := r.commit()
	if commit == "" || !p.Project() {
		return nil, false
	}
	return r.object(commit + ":./" + string(p))
}

// Head returns the text of a file of the project, or where a link leads, at
// git's HEAD.
func (r *Repository) Head(p fsys.LogicalPath) ([]byte, bool) {
	if !p.Project() {
		return nil, false
	}
	return r.object("HEAD:./" + string(p))
}

// object returns the blob called name.
func (r *Repository) object(name string) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.batch == nil {
		r.batch = openObjects(r.run, r.dir)
	}
	return r.batch.read(name)
}

// Prefix returns the project's folder within its repository: "" at its top, else
// with a slash at the end.
func (r *Repository) Prefix() string { return r.prefix() }

// Carried returns the files that git had below dirs at the last commit that
// changed the lock. ok is false where there is no such commit.
func (r *Repository) Carried(ctx context.Context, dirs []string) (files []string, ok bool) {
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

// CRLF reports whether git ends the lines of p with \r\n when it writes the file
// here, as .gitattributes and the configuration say.
func (r *Repository) CRLF(p fsys.LogicalPath) bool { return p.Project() && r.endings()[p] }

// crlf returns which of paths git writes with \r\n.
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

// objects reads many objects through one git process.
type objects struct {
	running bool // false: git could not be started, or broke off
	in      io.Writer
	out     *bufio.Reader
}

// openObjects starts a git process that ends when this program does.
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
	return &objects{true, in, bufio.NewReader(out)}
}

// read returns the blob called name. ok is false where there is none.
func (o *objects) read(name string) (text []byte, ok bool) {
	if !o.running || strings.ContainsAny(name, "\n") {
		return nil, false
	}
	if _, err := io.WriteString(o.in, name+"\n"); err != nil {
		return nil, false
	}
	head, err := o.out.ReadString('\n')
	if err != nil {
		o.running = false
		return nil, false
	}
	var id, kind string
	var size int
	if n, _ := fmt.Sscanf(head, "%s %s %d\n", &id, &kind, &size); n != 3 {
		return nil, false // "… missing"
	}
	b := make([]byte, size+1) // with the line end that follows
	if _, err := io.ReadFull(o.out, b); err != nil {
		o.running = false
		return nil, false
	}
	return b[:size], kind == "blob"
}

// managedPaths returns the files of the project that are declared or on record.
func (v *View) managedPaths() []fsys.LogicalPath {
	var out []fsys.LogicalPath
	for a := range v.managedTargets() {
		if a.Kind() == "file" {
			out = append(out, fsys.LogicalPath(path.Clean(a.Name())))
		}
	}
	return out
}
