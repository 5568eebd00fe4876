package start

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/app/clone"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// hostsFrom takes the host specs of src: a clone of a repository, a copy of the rest.
func (s *initializer) hostsFrom(ctx context.Context, src string) error {
	if text, ok := hosts.Example(src); ok {
		s.next = "this is an example: change match, or use it with --host " + src + "; then: aisync plan"
		return s.copyHosts(map[string][]byte{src + ".cue": text})
	}
	cwd, err := s.Cwd()
	if err != nil {
		return err
	}
	if repository, ok, err := cloneable(src, cwd); err != nil || ok {
		if err != nil {
			return err
		}
		return s.cloneHosts(ctx, src, repository)
	}
	dir, cleanup, err := s.fetch(ctx, src)
	if err != nil {
		return err
	}
	defer cleanup()
	files, err := specFiles(dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("--from %s: no *.cue files", src)
	}
	s.next = "relative sources in them now start at " + s.places.Config + "; check them, then: aisync validate"
	if gitrepo.IsTop(dir) {
		s.next += "; this is a copy: to follow the repository there, run: aisync init --from " + shellquote.Terminal("git::file://"+dir)
	}
	return s.copyHosts(files)
}

func (s *initializer) copyHosts(files map[string][]byte) error {
	if err := s.writeNew(s.places.Config, files); err != nil {
		return err
	}
	return s.vendorSchema()
}

// cloneable returns the repository that src names as a whole. It is false for a
// folder, an archive, and a folder within a repository.
func cloneable(src, cwd string) (clone.Source, bool, error) {
	if dir, err := place.ExistingFolder(cwd, src); err == nil {
		return clone.Source{URL: dir}, bare(dir), nil
	}
	at, err := bundle.Address(src, cwd)
	var wrong *bundle.AddressError
	if errors.As(err, &wrong) {
		return clone.Source{}, false, advice.New(fmt.Errorf("--from %s: %w", termtext.Safe(clone.Shown(src)), err), wrong.Hint)
	}
	if bundle.FolderOf(at) != "" {
		return clone.Source{}, false, nil
	}
	at, git := strings.CutPrefix(at, "git::")
	if !git {
		return clone.Source{}, false, nil
	}
	at, query, _ := strings.Cut(at, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		return clone.Source{}, false, fmt.Errorf("--from %s: %w", termtext.Safe(clone.Shown(src)), err)
	}
	return clone.Source{URL: at, Ref: q.Get("ref")}, true, nil
}

// bare reports whether dir is a git repository without a work tree.
func bare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// cloneHosts makes the folder of the host specs a clone.
func (s *initializer) cloneHosts(ctx context.Context, src string, from clone.Source) error {
	p := s.places
	shown := termtext.Safe(clone.Shown(src))
	if s.Flags.Offline {
		return fmt.Errorf("--from %s: %w", shown, reconcile.ErrOffline)
	}
	if s.dry {
		what := "would clone " + shown + " into " + p.Anywhere(p.Config)
		if files, err := os.ReadDir(p.Config); err == nil && len(files) > 0 {
			what = p.Anywhere(p.Config) + " is there already: init would use it if it is a clone of " + shown + ", and change nothing if it is not"
		}
		s.notes = append(s.notes, what)
		return nil
	}
	held, err := s.Held(ctx, stack.ScopeHost, 0, "aisync init", stack.Hold)
	if err != nil {
		return err
	}
	defer held.Release()
	if !p.Configured { // a folder named by --config is there
		if _, err := held.FS.MkdirAll(p.ConfigHome.Dir(), 0o755); err != nil {
			return err
		}
	}
	options := clone.Options{Env: s.Env.List(), Terminal: s.Terminal(), Named: p.Configured, Chown: p.Chown, UID: p.UID, GID: p.GID}
	made, err := clone.Make(ctx, from, p.Config, options, func(dir string) error { return hasSpec(shown, dir) })
	if err != nil {
		return s.cannotClone(shown, err)
	}
	at := p.Anywhere(p.Config)
	carried := true
	if hidden, err := made.Clone.HideSchema(ctx); err != nil {
		return err
	} else if hidden {
		carried = false
	}
	if !carried {
		if err := s.vendorSchema(); err != nil {
			return err
		}
	}
	last, err := made.Clone.Last(ctx)
	if err != nil {
		return err
	}
	what := "cloned " + shown + " into " + at
	s.next = "next: aisync plan; later: aisync update, which takes what is new there"
	if !made.New {
		what = at + " is a clone of " + shown + " already"
		s.next = "to take what is new there: aisync update"
	}
	s.notes = append(s.notes, fmt.Sprintf("%s: %s, %s ago: %s", what, last.ID[:12], session.Ago(time.Since(last.Date)), termtext.OneLine(last.Subject)))
	for _, name := range made.Kept {
		s.kept = append(s.kept, filepath.Join(p.Config, name))
	}
	if !s.applies {
		s.unfit(ctx)
	}
	return nil
}

// unfit says why the spec cannot be planned here.
func (s *initializer) unfit(ctx context.Context) {
	_, err := s.Machine(s.places).LoadSpec(ctx, schema.Options{})
	if err == nil {
		return
	}
	if errors.Is(err, pin.ErrNotFetched) {
		s.next = "next: aisync lock, which fetches what the spec extends; then: aisync plan"
		return
	}
	s.next = "it cannot be used here as it is: " + termtext.OneLine(err.Error())
	if next := advice.Of(err); next != "" && !strings.Contains(s.next, next) {
		s.next += "; " + next
	}
}

// hasSpec refuses a repository without host specs. It names those in its folders.
func hasSpec(shown, dir string) error {
	files, err := specFiles(dir)
	if err != nil || len(files) > 0 {
		return err
	}
	err = fmt.Errorf("--from %s: the repository has no *.cue file of a host at its top", shown)
	below, _ := filepath.Glob(filepath.Join(dir, "*", "*.cue")) // the pattern is right
	for _, file := range below {
		if folder := filepath.Base(filepath.Dir(file)); filepath.Base(file) != place.SpecFile && folder != "cue.mod" {
			return advice.New(err, fmt.Sprintf("there are some in %s: aisync init --from %s copies them, but aisync update does not follow a copy", folder, shellquote.Terminal(shown+"//"+folder)))
		}
	}
	return advice.New(err, "make one with aisync init on a machine that is set up, and push its folder")
}

// cannotClone says why there is no clone, and what to do.
func (s *initializer) cannotClone(shown string, err error) error {
	var other *clone.OtherError
	var branches *clone.BranchError
	err = fmt.Errorf("--from %s: %w", shown, err)
	switch {
	case errors.As(err, &other) && other.Origin != "":
		return advice.New(err, "it stays as it is; to use the other one, move it away: mv "+shellquote.Terminal(other.Dir)+" "+shellquote.Terminal(other.Dir+".before"))
	case errors.As(err, &other):
		return advice.New(err, "nothing was written; to use that repository, move it away: mv "+shellquote.Terminal(other.Dir)+" "+shellquote.Terminal(other.Dir+".before")+"; to add your files to it, clone it elsewhere, copy them there and push")
	case errors.Is(err, clone.ErrEmpty):
		return advice.New(err, "push a spec there first, from a machine that has one")
	case errors.As(err, &branches):
		return advice.New(err, "name one: git::URL?ref="+branches.Branches[0])
	case clone.Denied(err):
		return advice.New(err, "log in as git does: a key for ssh, a credential helper or a token for https; try git ls-remote "+shellquote.Terminal(shown))
	}
	return err
}

// fetch returns src as a local folder; cleanup removes a download.
func (s *initializer) fetch(ctx context.Context, src string) (dir string, cleanup func(), err error) {
	none := func() {}
	if !strings.HasPrefix(src, "git::") && !strings.Contains(src, "://") && !spec.LocalArchive(src) {
		cwd, err := s.Cwd()
		if err != nil {
			return "", none, err
		}
		if dir, err = place.ExistingFolder(cwd, src); err != nil {
			return "", none, fmt.Errorf("--from: %w; examples are %s", err, strings.Join(hosts.Examples(), ", "))
		}
		return dir, none, nil
	}
	cwd, err := s.Cwd()
	if err != nil {
		return "", none, err
	}
	src = bundle.Fetched(spec.Source{URL: src, Dir: cwd}, s.places.Physical(s.places.Home))
	temp, err := os.MkdirTemp("", "aisync-init-")
	if err != nil {
		return "", none, err
	}
	cleanup = func() { os.RemoveAll(temp) }
	dir = filepath.Join(temp, "src")
	anonymous := pin.Network{Getenv: environ.Env{}.Get, Home: place.Nowhere, UserAgent: "aisync/" + cli.VersionText(), Offline: s.Flags.Offline}
	if err := anonymous.Tree(ctx, src, dir); err != nil {
		cleanup()
		return "", none, fmt.Errorf("--from %s: %w", src, err)
	}
	return dir, cleanup, nil
}

// specFiles reads the host specs in dir, *.cue, and their lock file.
func specFiles(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if e.Type().IsRegular() && (strings.HasSuffix(e.Name(), ".cue") && e.Name() != place.SpecFile || e.Name() == stack.LockName) {
			if files[e.Name()], err = regular.Read(filepath.Join(dir, e.Name()), regular.MaxSpec); err != nil {
				return nil, err
			}
		}
	}
	if len(files) == 1 && files[stack.LockName] != nil {
		delete(files, stack.LockName)
	}
	return files, nil
}
