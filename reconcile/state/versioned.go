package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"aisync.dev/aisync/reconcile/fsys"
)

var (
	// ErrNewer says that a file was written by a newer aisync.
	ErrNewer = errors.New("written by a newer aisync")
	// ErrDamaged says that a file is not what aisync writes.
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
	version, err := versionOf(p, b)
	if err != nil {
		return true, err
	}
	if version > current {
		return true, fmt.Errorf("%s: %w: format_version %d, and this aisync knows up to %d; upgrade aisync", p, ErrNewer, version, current)
	}
	for ; version < current; version++ {
		step := m[version]
		if step == nil {
			return true, fmt.Errorf("%s: %w: no way from format_version %d to %d", p, ErrDamaged, version, version+1)
		}
		if b, err = step(b); err != nil {
			return true, fmt.Errorf("%s: migrate from format_version %d: %w", p, version, err)
		}
	}
	if err := json.Unmarshal(b, v); err != nil {
		return true, damaged(p, b, err)
	}
	return true, nil
}

func versionOf(p fsys.LogicalPath, b []byte) (int, error) {
	var head struct {
		FormatVersion int `json:"format_version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return 0, damaged(p, b, err)
	}
	if head.FormatVersion == 0 {
		return 0, fmt.Errorf("%s: %w: no format_version; move the file away, then run aisync apply to take over what is there", p, ErrDamaged)
	}
	return head.FormatVersion, nil
}

// damaged adds the line and column of a JSON error.
func damaged(p fsys.LogicalPath, b []byte, err error) error {
	offset := int64(-1)
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &wrong):
		offset = wrong.Offset
	}
	place := string(p)
	if offset >= 0 && offset <= int64(len(b)) {
		before := b[:offset]
		line := bytes.Count(before, []byte("\n")) + 1
		place = fmt.Sprintf("%s:%d:%d", p, line, int(offset)-bytes.LastIndexByte(before, '\n'))
	}
	return fmt.Errorf("%s: %w: %v; move the file away, then run aisync apply to take over what is there", place, ErrDamaged, err)
}

// WriteVersioned makes p hold v as JSON, which says its format_version itself,
// readable by the owner only. What is there in an older format is first kept
// as <name>.v<N>.bak. Killed, it leaves the old document or the new one.
func WriteVersioned(w fsys.FS, p fsys.LogicalPath, current int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if version, err := versionOf(p, b); err != nil || version != current {
		return fmt.Errorf("%s: about to write format_version %d instead of %d", p, version, current)
	}
	if _, err := w.MkdirAll(p.Dir(), 0o700); err != nil {
		return err
	}
	expect := fsys.Expect{Absent: true}
	var keep fsys.Keep
	switch old, err := w.ReadFile(p); {
	case err == nil && bytes.Equal(old, b):
		return nil
	case err == nil:
		expect = fsys.Expect{Digest: fsys.Digest(old)}
		if version, err := versionOf(p, old); err == nil && version < current {
			keep = func(from fsys.LogicalPath) error {
				return w.Move(from, p.Dir().Join(fmt.Sprintf("%s.v%d.bak", p.Base(), version)))
			}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return w.Replace(p, fsys.Content{Bytes: b, Mode: 0o600}, expect, keep)
}
