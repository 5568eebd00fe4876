package pin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/internal/gguf"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// Header is the metadata in the files of a model.
type Header struct {
	Shape    spec.Shape
	FileType int64 // general.file_type of the first; 0 if absent
}

// ReadHeader reads the headers of all files of a model, its shards in order. A
// file with an unreadable header is an Unreadable Error; files that do not
// belong together are another one.
func ReadHeader(files ...string) (Header, error) {
	var headers []gguf.Header
	for _, name := range files {
		h, err := gguf.ReadFile(name)
		if err != nil {
			return Header{}, &Error{Reason: Unreadable, Err: err}
		}
		headers = append(headers, h)
	}
	s, err := gguf.Shape(headers...)
	if err != nil {
		return Header{}, err
	}
	return Header{s, headers[0].FileType}, nil
}

// shape returns what determines the memory of a model, whose first file is
// pinned under name. If the model was pinned just now, shape reads its header,
// if possible, and adds it to the pin. Of files whose digest the spec has it reads
// the headers that are on this machine, so that all commands count the same: that is
// here, which an apply may change.
func (r *Resolver) shape(ctx context.Context, use spec.ModelUse, name string, q spec.Quant) (shape *spec.Shape, here bool) {
	if use.Quant == "auto" {
		r.mu.Lock()
		pin, ok := r.pinned(r.Host, "quant", use.ID, r.Spec.Host.Name)
		r.mu.Unlock()
		if ok && pin.Values["shape"] != "" {
			return parsedShape(pin.Values["shape"]), false
		}
	}
	if name == "" {
		return r.shapeHere(ctx, q.Files), true
	}
	r.mu.Lock()
	pin, ok := r.pinned(r.Host, "model", name, "")
	fresh := r.fresh["model "+name]
	r.mu.Unlock()
	switch {
	case !ok:
		return r.shapeHere(ctx, q.Files), true
	case pin.Values["shape"] != "" || !fresh:
		return parsedShape(pin.Values["shape"]), false
	}
	shape = r.readShape(ctx, q.Files)
	if shape != nil {
		pin.Values = maps.Clone(pin.Values)
		pin.Values["shape"] = shape.String()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.replace(r.Host, pin)
	}
	return shape, false
}

// parsedShape is nil for a text that an older or newer version wrote.
func parsedShape(text string) *spec.Shape {
	s, err := spec.ParseShape(text)
	if text == "" || err != nil {
		return nil
	}
	return &s
}

// readShape reads the headers of a model's files, from disk or, if it may dial,
// by ranges from their sources. It is nil if one is not available: then the
// sizes alone must do. After one source that does not answer in time it dials
// no other.
func (r *Resolver) readShape(ctx context.Context, files []spec.ModelFile) *spec.Shape {
	reading, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r.mu.Lock()
	dial := r.dials() && !r.unread
	r.mu.Unlock()
	shape, unread, err := r.shapeOf(reading, files, dial)
	if err != nil {
		r.mu.Lock()
		r.unread = r.unread || reading.Err() != nil
		r.mu.Unlock()
		r.notify(Event{Kind: HeaderUnread, Name: unread, Err: err})
	}
	return shape
}

// shapeHere is readShape of what is on this machine, and is silent.
func (r *Resolver) shapeHere(ctx context.Context, files []spec.ModelFile) *spec.Shape {
	shape, _, _ := r.shapeOf(ctx, files, false)
	return shape
}

// shapeOf reads the headers of files; unread is the one that has none. It is nil
// without an error where they do not belong together.
func (r *Resolver) shapeOf(ctx context.Context, files []spec.ModelFile, dial bool) (shape *spec.Shape, unread string, err error) {
	var headers []gguf.Header
	for _, f := range files {
		h, err := r.header(ctx, f, dial)
		if err != nil {
			return nil, f.Path, err
		}
		headers = append(headers, h)
	}
	s, err := gguf.Shape(headers...)
	if err != nil {
		return nil, "", nil
	}
	return &s, "", nil
}

// header reads the header of one file.
func (r *Resolver) header(ctx context.Context, f spec.ModelFile, dial bool) (gguf.Header, error) {
	if f.SHA256 == "" || f.Size <= 0 {
		return gguf.Header{}, fmt.Errorf("%s is not pinned", f.Path)
	}
	blob := string(store.Blob(fsys.LogicalPath(r.Store), f.SHA256))
	if _, err := os.Stat(blob); err == nil {
		return gguf.ReadFile(blob)
	}
	err := fmt.Errorf("%s is not on this machine", f.Path)
	for _, source := range f.Sources {
		var h gguf.Header
		if h, err = r.headerAt(ctx, source, f, dial); err == nil {
			return h, nil
		}
	}
	return gguf.Header{}, err
}

func (r *Resolver) headerAt(ctx context.Context, source string, f spec.ModelFile, dial bool) (gguf.Header, error) {
	u, err := url.Parse(source)
	switch {
	case err != nil:
		return gguf.Header{}, err
	case filepath.IsAbs(source):
		return gguf.ReadFile(source)
	case u.Scheme == "file":
		return gguf.ReadFile(u.Path)
	case !dial:
		return gguf.Header{}, fmt.Errorf("%s is not on this machine", f.Path)
	}
	address, header := source, http.Header(nil)
	if resolve, ok := r.Network.resolvers(r.Network.client())[u.Scheme]; ok {
		if address, header, err = resolve(ctx, source, f.Size, f.SHA256); err != nil {
			return gguf.Header{}, err
		}
	} else if !strings.HasPrefix(u.Scheme, "http") {
		return gguf.Header{}, fmt.Errorf("no range can be read from %s", u.Scheme)
	}
	return gguf.Read(gguf.HTTP(ctx, r.Network.client().HTTP(), address, header, f.Size), f.Size)
}
