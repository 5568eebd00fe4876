package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/reconcile/fsys"
)

// State is the state of a model or of one of its files.
type State string

const (
	OK         State = "ok"         // present, as verified
	Unverified State = "unverified" // present with the right size, never read
	Partial    State = "partial"    // download unfinished
	Missing    State = "missing"
	Changed    State = "changed"  // present, but changed since its verification
	Unpinned   State = "unpinned" // its content is not known yet
)

// order lists the states, the worst first.
var order = []State{Changed, Missing, Partial, Unpinned, Unverified, OK}

// FileState is one file as it lies in the store.
type FileState struct {
	Held
	State State
	Have  int64            // bytes present
	Where fsys.LogicalPath // the file that holds them, "" for none
	How   How              // kind of the friendly name
}

// Model is all files of one model.
type Model struct {
	ID, Quant, License string

	Size, Have int64 // bytes of all files
	State      State // of the worst file
	Files      []FileState
	Path       fsys.LogicalPath // friendly name of the first file
	Views      []fsys.LogicalPath
	Verified   time.Time // when the first of its files was verified; zero if one never was
	Wanted     bool
}

// List returns every model, from stats alone, sorted by ID. A model that the
// spec wants in another form than recorded appears twice.
func List(r fsys.Reader, dir fsys.LogicalPath, held []Held) ([]Model, error) {
	var models []Model
	for _, h := range held {
		f, err := state(r, dir, h)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(models, func(m Model) bool { return m.ID == h.ID && m.Wanted == h.Wanted })
		if i < 0 {
			i = len(models)
			models = append(models, Model{ID: h.ID, Quant: h.Quant, License: h.License, Path: h.Path, Wanted: h.Wanted, Verified: h.Verified, State: OK})
		}
		m := &models[i]
		m.Size += h.Size
		m.Have += f.Have
		m.Files = append(m.Files, f)
		m.Views = append(m.Views, h.Views...)
		if h.Verified.Before(m.Verified) {
			m.Verified = h.Verified
		}
		if slices.Index(order, f.State) < slices.Index(order, m.State) {
			m.State = f.State
		}
	}
	for i := range models {
		if m := &models[i]; m.State == Missing && m.Have > 0 {
			m.State = Partial // some of its files are present or on their way
		}
	}
	sort.SliceStable(models, func(i, j int) bool { return models[i].ID < models[j].ID })
	return models, nil
}

// state returns the state of one file.
func state(r fsys.Reader, dir fsys.LogicalPath, h Held) (FileState, error) {
	f := FileState{Held: h, State: Unpinned}
	blob := fsys.LogicalPath("")
	if h.SHA256 != "" {
		blob = Blob(dir, h.SHA256)
	}
	s, err := Look(r, h.Path, blob)
	if err != nil {
		return f, fmt.Errorf("look at %s: %w", h.Path, err)
	}
	f.How = s.How
	bytes := s.Blob
	f.Where = blob
	if bytes == nil && s.How == File {
		bytes, f.Where = s.Info, h.Path
	}
	if bytes != nil {
		f.Have = bytes.Size()
	}
	switch {
	case h.SHA256 == "":
		return f, nil
	case bytes == nil:
		f.State, f.Where = Missing, ""
		if info, err := r.Lstat(Part(dir, h.SHA256)); err == nil {
			f.State, f.Have = Partial, Fetched(r, Part(dir, h.SHA256), info)
		}
	case h.Stat.Of(bytes), s.Blob != nil && Marked(r, dir, h.SHA256, bytes):
		f.State = OK
	case h.Stat != Stat{} || bytes.Size() != h.Size:
		f.State = Changed
	default:
		f.State = Unverified
	}
	return f, nil
}

// Fetched is how many bytes of the part behind info need no second download.
func Fetched(r fsys.Reader, part fsys.LogicalPath, info fs.FileInfo) int64 {
	if n, ok := fetch.Kept(r, part); ok {
		return n
	}
	return Allocated(info)
}

// Allocated is how many bytes of a possibly sparse file are on disk.
func Allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*unix.Stat_t); ok {
		return min(info.Size(), st.Blocks*512)
	}
	return info.Size()
}

// Space is how many more bytes of the disk a download of size bytes into part takes:
// one that was interrupted keeps what it reserved.
func Space(r fsys.Reader, part fsys.LogicalPath, size int64) int64 {
	info, err := r.Lstat(part)
	if err != nil {
		return size
	}
	if st, ok := info.Sys().(*unix.Stat_t); ok {
		return max(0, size-st.Blocks*512)
	}
	return max(0, size-info.Size())
}

// Path returns the files to hand to a server, the first shard first: the wanted
// ones, otherwise the recorded ones. A missing file is an error.
func Path(r fsys.Reader, dir fsys.LogicalPath, held []Held, id string) ([]fsys.LogicalPath, error) {
	wanted := slices.ContainsFunc(held, func(h Held) bool { return h.ID == id && h.Wanted })
	var out []fsys.LogicalPath
	var errs []error
	for _, h := range held {
		if h.ID != id || h.Wanted != wanted {
			continue
		}
		f, err := state(r, dir, h)
		switch {
		case err != nil:
			errs = append(errs, err)
		case f.State == Unpinned && f.How == Absent:
			errs = append(errs, fmt.Errorf("model %q is not pinned; %s", id, advice.LockThenApplyModel(id)))
		case f.How == Absent || f.How == Strange || f.How == Other || f.State == Missing || f.State == Partial:
			errs = append(errs, fmt.Errorf("model %q: %s is missing; %s", id, h.Path, advice.ApplyModel(id)))
		case f.State == Changed:
			errs = append(errs, fmt.Errorf("model %q: %s changed since it was verified; %s", id, h.Path, advice.VerifyDeep))
		}
		out = append(out, h.Path)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("unknown model %q: neither in a spec nor on record; %s", id, advice.ListModels)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}
