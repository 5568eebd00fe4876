package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/fsys"
)

var (
	// ErrNewer means that a newer aisync wrote a file.
	ErrNewer = errors.New("written by a newer aisync")
	// ErrDamaged means that aisync did not write a file in its present form.
	ErrDamaged = errors.New("damaged")
)

// Migrations turn the bytes of one format version into those of the next, by
// the version they start from.
type Migrations map[int]func([]byte) ([]byte, error)

// ReadVersioned reads the JSON document at p into v. A document of an older
// format is migrated in memory; a newer one gives ErrNewer, one that cannot be
// read ErrDamaged, both with what to do. found is false where there is none.
func ReadVersioned(r fsys.Reader, p fsys.LogicalPath, current int, m Migrations, v any) (found bool, err error) {
	b, err := r.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	at, err := r.Physical(p)
	if err != nil {
		return true, err
	}
	version, err := versionOf(at, b, current)
	if err != nil {
		return true, err
	}
	for ; version < current; version++ {
		step := m[version]
		if step == nil {
			return true, fmt.Errorf("%s has format_version %d, and this aisync has no way from it to %d; run a release of aisync in between once", at, version, version+1)
		}
		if b, err = step(b); err != nil {
			return true, fmt.Errorf("%s: migrate from format_version %d: %w; nothing was changed", at, version, err)
		}
	}
	if err := json.Unmarshal(b, v); err != nil {
		return true, damaged(at, b, err)
	}
	return true, nil
}

// ReadHead reads the document at p up to its last field, an array of objects,
// and counts those. ok is false for anything but a document as WriteVersioned
// writes it: then ReadVersioned gives the error.
func ReadHead(r fsys.Reader, p fsys.LogicalPath, last string, v any) (objects int, ok bool) {
	b, err := r.ReadFile(p)
	i := bytes.Index(b, []byte(`,"`+last+`":[`)) // no quote stands like that in a string
	if err != nil || i < 0 || json.Unmarshal(append(slices.Clip(b[:i]), '}'), v) != nil {
		return 0, false
	}
	depth := 0
	for i = bytes.IndexByte(b[i:], '[') + i + 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth == 1 {
				objects++
			}
		case '}', ']':
			if depth--; depth < 0 {
				return objects, string(b[i:]) == "]}\n"
			}
		}
	}
	return objects, false
}

// versionOf returns the version of the document b, which lies at at.
func versionOf(at string, b []byte, current int) (int, error) {
	version, ok := firstField(b)
	if !ok {
		var head struct {
			FormatVersion int `json:"format_version"`
		}
		if err := json.Unmarshal(b, &head); err != nil {
			return 0, damaged(at, b, err)
		}
		version = head.FormatVersion
	}
	switch {
	case version < 1:
		return 0, damaged(at, b, errors.New("no format_version"))
	case version > current:
		return 0, fmt.Errorf("%s: %w: format_version %d, and this aisync knows up to %d; upgrade aisync", at, ErrNewer, version, current)
	}
	return version, nil
}

// firstField reads the version without reading on, where it comes first: as in
// what aisync itself writes, which may be long.
func firstField(b []byte) (version int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return 0, false
	}
	if t, err := d.Token(); err != nil || t != "format_version" {
		return 0, false
	}
	return version, d.Decode(&version) == nil
}

// damaged adds the line and column of a JSON error.
func damaged(at string, b []byte, err error) error {
	offset := int64(0)
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &wrong):
		offset = wrong.Offset
	}
	before := b[:min(max(offset-1, 0), int64(len(b)))] // an offset counts the byte that is wrong
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("%s:%d:%d: %w: %w; %s", at, line, column, ErrDamaged, err, advice.TakeOver)
}

// WriteVersioned writes v to p as JSON with its format_version, readable by the
// owner only. An existing document in an older format is first kept as
// <name>.v<N>.bak; a newer or damaged one is refused as in ReadVersioned. A
// kill leaves the old document or the new one.
func WriteVersioned(w fsys.FS, p fsys.LogicalPath, current int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", p, err)
	}
	b = append(b, '\n')
	if version, err := versionOf(string(p), b, current); err != nil || version != current {
		return fmt.Errorf("%s: about to write format_version %d instead of %d: %w", p, version, current, errors.Join(err, fs.ErrInvalid))
	}
	old, err := w.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return write(w, p, b, fsys.Expect{Absent: true})
	}
	if err != nil || bytes.Equal(old, b) {
		return err
	}
	at, err := w.Physical(p)
	if err != nil {
		return err
	}
	version, err := versionOf(at, old, current)
	if err != nil {
		return err
	}
	if version < current {
		bak := p.Dir().Join(fmt.Sprintf("%s.v%d.bak", p.Base(), version))
		if err := writeOver(w, bak, old); err != nil {
			return fmt.Errorf("keep format_version %d of %s: %w", version, at, err)
		}
	}
	return write(w, p, b, fsys.Expect{Digest: fsys.Digest(old)})
}

// writeOver makes p hold b, whatever it held.
func writeOver(w fsys.FS, p fsys.LogicalPath, b []byte) error {
	old, err := w.ReadFile(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return write(w, p, b, fsys.Expect{Absent: true})
	case err != nil || bytes.Equal(old, b):
		return err
	}
	return write(w, p, b, fsys.Expect{Digest: fsys.Digest(old)})
}

func write(w fsys.FS, p fsys.LogicalPath, b []byte, expect fsys.Expect) error {
	if _, err := w.MkdirAll(p.Dir(), 0o700); err != nil {
		return err
	}
	return w.Replace(p, fsys.Content{Bytes: b, Mode: 0o600}, expect, nil)
}
