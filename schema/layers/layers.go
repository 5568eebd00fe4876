package layers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/fetch/address"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/schema/position"
	"aisync.dev/aisync/schema/problem"
	"aisync.dev/aisync/schema/spec"
)

// File is one file of a spec.
type File struct {
	Path string // absolute, or aisync:… for one in the binary
	Name string // its name in a digest, without machine paths
	Text []byte

	Shown string // its name in positions, if that is not Path
}

// Parsed is the name under which CUE knows the file.
func (f File) Parsed() string { return cmp.Or(f.Shown, f.Path) }

// Read reads the file at path.
func Read(path, name string) (File, error) {
	text, err := regular.Read(path, regular.MaxSpec)
	if err != nil {
		return File{}, fmt.Errorf("read spec: %w", err)
	}
	return File{Path: path, Name: name, Text: text}, nil
}

// HostFiles reads the *.cue in dir, not below it. As in CUE, it skips names that begin
// with _ or ., tests and tools. A missing dir has none.
func HostFiles(dir string) ([]File, error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read host specs: %w", err)
	}
	var files []File
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasSuffix(name, ".cue") || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") ||
			strings.HasSuffix(name, "_test.cue") || strings.HasSuffix(name, "_tool.cue") {
			continue
		}
		f, err := Read(filepath.Join(dir, name), "host/"+name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// Layer is one of the specs that extend each other: the host's own, or a base.
type Layer struct {
	spec.Source // of a base; zero: the host's own
	Files       []File
	Folder      string // physical, of Files

	top string // the folder that its relative paths may not leave; "": they may go anywhere
}

// Reader finds what a host's spec extends.
type Reader struct {
	Cwd string // positions are relative to it where that is shorter

	// Base returns the folder of a base, and its commit or digest.
	Base func(ctx context.Context, src spec.Source) (dir, pinned string, err error)
}

// Of returns the spec of a host in dir, which is files, with all that it extends, the
// nearest first. Errors of the specs are problem.Errors.
func (r Reader) Of(ctx context.Context, dir string, files []File) ([]Layer, error) {
	out := []Layer{{Files: files, Folder: dir}}
	for {
		next, err := r.extended(ctx, out[len(out)-1])
		if err != nil || next.URL == "" {
			return out, err
		}
		if p := r.chained(out, next); p != nil {
			return out, problem.Errors{*p}
		}
		out = append(out, next)
	}
}

// extended returns the base that l extends; without a URL it extends none.
func (r Reader) extended(ctx context.Context, l Layer) (Layer, error) {
	at := position.New(nil, r.Cwd)
	next := Layer{}
	for _, f := range l.Files {
		text, pos, err := Extends(f.Parsed(), f.Text)
		bad := func(message, hint string) (Layer, error) {
			return next, problem.Errors{{Pos: at.Shown(pos), Path: "extends", Message: message, Hint: hint}}
		}
		switch {
		case err != nil:
			return bad(err.Error(), `write extends: "ADDRESS", as of a source of bundles`)
		case text == "":
			continue
		case next.URL != "":
			return bad("a spec extends one other, and this one is named at "+next.Pos.String(), "extend this one in that one")
		}
		url, err := address.Parse(text, func(name string) bool {
			info, err := os.Stat(filepath.Join(l.Folder, name))
			return err == nil && info.IsDir()
		})
		var wrong *address.Error
		if errors.As(err, &wrong) {
			return bad("no address of a source: "+wrong.Why, wrong.Hint)
		}
		next.Source = spec.Source{Name: Name(url), URL: url, Dir: l.Folder, Pos: at.Shown(pos), Base: true}
		if l.Leaves(url) {
			return bad(fmt.Sprintf("%q leaves the base that names it", text), "name a folder of it, or an address")
		}
	}
	if next.URL == "" {
		return next, nil
	}
	var err error
	if next.Folder, _, err = r.Base(ctx, next.Source); err != nil {
		return next, fmt.Errorf("%s: base %s: %w", next.Pos, next.Name, err)
	}
	if next.top = l.top; spec.Remote(next.URL) {
		next.top = next.Folder
	}
	if next.Files, err = next.read(); err == nil && len(next.Files) == 0 {
		err = problem.Errors{{Pos: next.Pos, Path: "extends", Message: fmt.Sprintf("base %s has no *.cue at its top", next.Name), Hint: "name the folder that has them: " + Name(address.Below(next.URL, "FOLDER"))}}
	}
	return next, err
}

// chained says what is wrong with next as a base of the last of list.
func (r Reader) chained(list []Layer, next Layer) *problem.Problem {
	chain := func(list []Layer) (text string) {
		for _, x := range list {
			text += x.Name + " extends "
		}
		return text + next.Name
	}
	p := &problem.Problem{Pos: next.Pos, Path: "extends"}
	switch i := slices.IndexFunc(list, func(x Layer) bool { return x.Folder == next.Folder || x.Name == next.Name }); {
	case i == 0:
		p.Message, p.Hint = "the spec extends itself", "leave out extends"
	case i > 0:
		p.Message, p.Hint = "bases extend each other: "+chain(list[i:]), "leave out extends in one of them"
	case len(list) > Most:
		p.Message, p.Hint = fmt.Sprintf("more than %d bases, one through the other: %s", Most, chain(list[1:])), "let one base say it all"
	default:
		return nil
	}
	return p
}

// read reads the files of a base. Those of a fetched one are named by its address, and
// are no links.
func (l Layer) read() ([]File, error) {
	files, err := HostFiles(l.Folder)
	for i, f := range files {
		name := filepath.Base(f.Path)
		files[i].Name = fmt.Sprintf("base %s/%s", l.Name, name)
		if l.top == "" {
			continue
		}
		if files[i].Shown = f.Path; spec.Remote(l.URL) {
			files[i].Shown = Shown(l.URL, name)
		}
		if info, err := os.Lstat(f.Path); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: base %s: %s is no plain file", l.Pos, l.Name, name)
		}
	}
	return files, err
}

// Leaves reports whether the relative path, or the folder of this machine, at url leads
// out of a fetched base.
func (l Layer) Leaves(url string) bool {
	if l.top == "" || spec.Remote(url) && !spec.LocalArchive(url) {
		return false
	}
	if filepath.IsAbs(url) || url == "~" || strings.HasPrefix(url, "~/") {
		return true
	}
	top, real := l.top, spec.LocalPath(url, l.Folder, "")
	if linked, err := filepath.EvalSymlinks(real); err == nil {
		real = linked
		if linked, err = filepath.EvalSymlinks(top); err == nil {
			top = linked
		}
	}
	rel, err := filepath.Rel(top, real)
	return err != nil || !filepath.IsLocal(rel)
}
