package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"aisync.dev/aisync/agents/ledger/trail"
)

// Follow is a position in the audit trail. The zero value is its end.
type Follow struct {
	begun  bool
	file   os.FileInfo
	offset int64
	last   []byte // the last line that was read
}

// Since returns the events appended since f was last used, and advances f. The
// first call returns none. It never waits. After Compact has shortened the
// trail, it continues behind the last line read.
func (l *Ledger) Since(f *Follow) ([]Event, error) {
	file, err := l.open(auditFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", auditFile, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !f.begun {
		f.begun, f.file, f.offset = true, info, info.Size()
		f.last, err = lastLine(file, info.Size())
		return nil, err
	}
	replaced := !os.SameFile(info, f.file) || info.Size() < f.offset
	if replaced {
		f.file, f.offset = info, 0
	}
	text, err := io.ReadAll(io.NewSectionReader(file, f.offset, info.Size()-f.offset))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", auditFile, err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // a partial line is read once it is complete
	f.offset += int64(len(text))
	if i := bytes.LastIndex(text, append(bytes.Clone(f.last), '\n')); replaced && len(f.last) > 0 && i >= 0 {
		text = text[i+len(f.last)+1:]
	}
	var out []Event
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > 0 {
			f.last = line
			out = append(out, trail.Parse(line))
		}
	}
	return out, nil
}

func lastLine(file io.ReaderAt, size int64) ([]byte, error) {
	from := max(0, size-tail)
	text := make([]byte, size-from)
	if _, err := file.ReadAt(text, from); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	text = bytes.TrimRight(text, "\n")
	return text[bytes.LastIndexByte(text, '\n')+1:], nil
}
