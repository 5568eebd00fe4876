package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/internal/gguf"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/schema/spec"
)

// shape reads the headers of a model's files, from disk or, where it may dial,
// by ranges from their sources. It is nil where one cannot be had: then the
// sizes alone must do.
func (w *View) shape(ctx context.Context, files []spec.ModelFile, dial bool) *spec.Shape {
	reading, cancel := context.WithTimeout(ctx, hubPatience)
	defer cancel()
	dial = dial && !w.headerless
	var headers []gguf.Header
	client := w.client()
	for _, f := range files {
		h, err := w.header(reading, client, f, dial)
		if err != nil {
			w.headerless = w.headerless || reading.Err() != nil
			w.Log("header", "file", f.Path, "error", err.Error())
			return nil
		}
		headers = append(headers, h)
	}
	s, err := gguf.Shape(headers...)
	if err != nil {
		return nil
	}
	return &s
}

// header reads the header of one file.
func (w *View) header(ctx context.Context, client *fetch.Client, f spec.ModelFile, dial bool) (gguf.Header, error) {
	if f.SHA256 == "" || f.Size <= 0 {
		return gguf.Header{}, fmt.Errorf("%s is not pinned", f.Path)
	}
	blob := w.Places.Physical(store.Blob(w.modelStore(), f.SHA256))
	if _, err := os.Stat(blob); err == nil {
		return gguf.ReadFile(blob)
	}
	err := fmt.Errorf("%s is not on this machine", f.Path)
	for _, source := range f.Sources {
		var h gguf.Header
		if h, err = w.headerAt(ctx, client, source, f, dial); err == nil {
			return h, nil
		}
	}
	return gguf.Header{}, err
}

func (w *View) headerAt(ctx context.Context, client *fetch.Client, source string, f spec.ModelFile, dial bool) (gguf.Header, error) {
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
	if resolve, ok := w.resolvers(client)[u.Scheme]; ok {
		if address, header, err = resolve(ctx, source, f.Size, f.SHA256); err != nil {
			return gguf.Header{}, err
		}
	} else if !strings.HasPrefix(u.Scheme, "http") {
		return gguf.Header{}, fmt.Errorf("no range can be read from %s", u.Scheme)
	}
	return gguf.Read(gguf.HTTP(ctx, client.HTTP(), address, header, f.Size), f.Size)
}
