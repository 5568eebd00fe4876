package dir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// First is an entry that a Layout creates: a file with its first content,
// readable by its user alone, or, where Folder is set, a folder.
type First struct {
	Name    string
	Folder  bool
	Content string
	Sound   func([]byte) error // checks the file's present content; nil accepts any
}

// Laid returns the layout of a folder, private to its user, with its first
// entries. Files may change later: only a missing entry, or one that Sound
// rejects, is drift. A broken file is never written; mend says what to run. The
// folder is removed only while none of its entries was changed.
func Laid(mend string, first ...First) Layout { return Layout{layout{mend, first}} }

// Layout is a body made by Laid.
type Layout struct{ layout }

type layout struct {
	mend  string
	first []First
}

func (layout) Fingerprint() reconcile.Fingerprint { return exists }
func (layout) Redacted() json.RawMessage          { return json.RawMessage(`true`) }

const damaged reconcile.Fingerprint = "dir+damaged"

// layoutOf returns the layout that t wants.
func layoutOf(t reconcile.Target) (layout, bool) {
	for _, l := range t.Resource.Leaves {
		if b, ok := l.Body.(Layout); ok {
			return b.layout, true
		}
	}
	return layout{}, false
}

// state is what a folder lacks of its layout. untouched means that it holds
// nothing but entries of the layout that are still as created, perhaps cut
// short by an interruption.
type state struct {
	missing, broken []string // lines for a person
	err             error    // why a part of it cannot be read
	untouched       bool
}

func (b layout) look(r fsys.Reader, dir fsys.LogicalPath) state {
	s := state{untouched: true}
	list, err := r.ReadDir(dir)
	if err != nil {
		return state{broken: []string{err.Error()}, err: err}
	}
	for _, e := range list {
		if !b.leftover(e.Name()) && !slices.ContainsFunc(b.first, func(f First) bool { return f.Name == e.Name() }) {
			s.untouched = false
		}
	}
	var short []string
	for _, f := range b.first {
		p := dir.Join(f.Name)
		info, err := r.Lstat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.missing = append(s.missing, f.Name+" is missing")
		case err != nil:
			s.unseen(err)
		case f.Folder:
			switch list, err := r.ReadDir(p); {
			case fsys.Conclusive(err):
				s.broken = append(s.broken, f.Name+" is not a folder")
			case err != nil:
				s.unseen(err)
			case len(list) > 0:
				s.untouched = false
			}
		case !info.Mode().IsRegular():
			s.broken = append(s.broken, f.Name+" is not a regular file")
		case f.Sound == nil && info.Size() > int64(len(f.Content)):
			s.untouched = false // anything may be in it, and it is not read
		default:
			text, err := r.ReadFile(p)
			switch {
			case err != nil:
				s.unseen(err)
			case string(text) == f.Content:
			case strings.HasPrefix(f.Content, string(text)):
				short = append(short, f.Name+" is cut off")
			default:
				s.untouched = false
				if f.Sound == nil {
					continue
				}
				if err := f.Sound(text); err != nil {
					s.broken = append(s.broken, fmt.Sprintf("%s: %v", f.Name, err))
				}
			}
		}
	}
	if len(s.broken) > 0 {
		s.untouched = false
	}
	if s.untouched {
		s.missing = append(s.missing, short...)
	} else {
		s.broken = append(s.broken, short...)
	}
	return s
}

// unseen records that a part could not be read.
func (s *state) unseen(err error) {
	s.broken, s.err = append(s.broken, err.Error()), err
}

// observe completes the observation of a folder that exists.
func (b layout) observe(o reconcile.Observation, r fsys.Reader, dir fsys.LogicalPath) reconcile.Observation {
	if o.Presence != reconcile.Present {
		return o
	}
	switch s := b.look(r, dir); {
	case s.err != nil:
		return reconcile.Observation{Presence: reconcile.Unknown, Reason: s.err.Error()}
	case s.untouched && len(s.missing) > 0:
		return reconcile.Observation{}
	case len(s.missing)+len(s.broken) > 0:
		return reconcile.Observation{Presence: reconcile.Present, Token: damaged, Live: map[reconcile.LeafKey]reconcile.Fingerprint{"": damaged}}
	}
	return o
}

// leftover reports whether name is a temporary file that a kill left; see
// fsys.TempName.
func (b layout) leftover(name string) bool {
	return slices.ContainsFunc(b.first, func(f First) bool { return strings.HasPrefix(name, "."+f.Name+".aisync-") })
}

// clear removes what a kill left.
func (b layout) clear(w fsys.FS, dir fsys.LogicalPath) error {
	list, err := w.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if !b.leftover(e.Name()) {
			continue
		}
		p := dir.Join(e.Name())
		info, err := w.Lstat(p)
		if err == nil {
			err = w.Discard(p, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// complete creates what is missing, each file in one step. A broken file stays
// as it is and is an error.
func (b layout) complete(w fsys.FS, dir fsys.LogicalPath) error {
	if err := b.clear(w, dir); err != nil {
		return err
	}
	s := b.look(w, dir)
	for _, f := range b.first {
		p := dir.Join(f.Name)
		if f.Folder {
			if _, err := w.MkdirAll(p, 0o700); err != nil {
				return err
			}
			continue
		}
		text, err := w.ReadFile(p)
		if errors.Is(err, fs.ErrNotExist) {
			text, err = []byte(f.Content), w.Replace(p, fsys.Content{Bytes: []byte(f.Content), Mode: 0o600}, fsys.Expect{Absent: true}, nil)
		}
		if err == nil && len(text) < len(f.Content) && strings.HasPrefix(f.Content, string(text)) && (s.untouched || len(text) == 0) {
			err = w.Append(p, []byte(f.Content[len(text):]), 0o600)
		}
		if err != nil {
			return err
		}
	}
	if s := b.look(w, dir); len(s.broken) > 0 {
		return fmt.Errorf("%s; left unchanged; %s", strings.Join(s.broken, "; "), b.mend)
	}
	return nil
}

// explain says what is missing or broken.
func (b layout) explain(r fsys.Reader, dir fsys.LogicalPath) (out []reconcile.Line) {
	if _, err := r.Lstat(dir); err != nil {
		return nil
	}
	s := b.look(r, dir)
	if s.untouched {
		return nil
	}
	for _, m := range s.missing {
		out = append(out, reconcile.Line{Op: '+', Text: m})
	}
	for _, m := range s.broken {
		out = append(out, reconcile.Line{Op: ' ', Text: m + "; " + b.mend})
	}
	return out
}

// empty removes the entries of the layout if none was changed. A kill may leave
// some of them; the next removal goes on.
func (b layout) empty(w fsys.FS, dir fsys.LogicalPath) error {
	if !b.look(w, dir).untouched {
		return nil
	}
	entries, err := w.ReadDir(dir)
	for _, e := range entries {
		if err != nil {
			return err
		}
		p := dir.Join(e.Name())
		if e.IsDir() {
			err = w.Rmdir(p)
			continue
		}
		var info fs.FileInfo
		if info, err = w.Lstat(p); err == nil {
			err = w.Discard(p, info)
		}
	}
	return err
}
