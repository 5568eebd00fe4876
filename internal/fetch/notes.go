package fetch

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"sync"

	"aisync.dev/aisync/reconcile/fsys"
)

// noteBytes is how much of a chunk lands between two notes: what a SIGKILL
// costs a connection, besides one buffer and what was on its way.
const noteBytes = 2 << 20

// notes is a file beside the journal that says what was written since its
// record. A note follows the write that it is about and is not synced: a kill
// takes neither from the page cache, and after a loss of power the checksum in
// it decides whether those bytes are there. So a note is never wrong, only
// useless, and the file grows until the download ends: 20 bytes for each of
// noteBytes.
type notes struct {
	store Store
	path  fsys.LogicalPath
	none  bool

	mu   sync.Mutex
	file *os.File // nil: not opened yet
	end  int64
}

func notesPath(part fsys.LogicalPath) fsys.LogicalPath { return part + ".journal.notes" }

// noteSize is the length of an encoded note: chunk, bytes, the crc32c of those,
// and the crc32c of the note.
const noteSize = 4 + 8 + 4 + 4

func (o open) encode(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(o.Chunk))
	b = binary.LittleEndian.AppendUint64(b, uint64(o.Bytes))
	b = binary.LittleEndian.AppendUint32(b, o.CRC)
	return binary.LittleEndian.AppendUint32(b, ^crc32.Checksum(b, castagnoli))
}

// decodeNotes returns the notes in data, up to one that is damaged.
func decodeNotes(data []byte) (all []open) {
	for ; len(data) >= noteSize; data = data[noteSize:] {
		n, sum := data[:noteSize-4], binary.LittleEndian.Uint32(data[noteSize-4:])
		if sum != ^crc32.Checksum(n, castagnoli) {
			break
		}
		all = append(all, open{
			Chunk: int(binary.LittleEndian.Uint32(n)),
			Bytes: int64(binary.LittleEndian.Uint64(n[4:])),
			CRC:   binary.LittleEndian.Uint32(n[12:]),
		})
	}
	return all
}

// add writes o behind the others.
func (s *notes) add(o open) error {
	if s.none {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.open()
	if err == nil {
		_, err = s.file.WriteAt(o.encode(make([]byte, 0, noteSize)), s.end)
	}
	if err != nil {
		return fmt.Errorf("%w: write to the journal: %w", errLocal, err)
	}
	s.end += noteSize
	return nil
}

// clear forgets all notes: a record on disk says the same, or the bytes are
// gone.
func (s *notes) clear() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		if data, err := s.store.ReadFile(s.path); err != nil || len(data) == 0 {
			return nil // none
		}
	}
	err := s.open()
	if err == nil {
		err = s.file.Truncate(0)
	}
	if err != nil {
		return fmt.Errorf("%w: write to the journal: %w", errLocal, err)
	}
	s.end = 0
	return nil
}

func (s *notes) open() (err error) {
	if s.file == nil {
		s.file, err = s.store.OpenPart(s.path)
	}
	return err
}

// remove removes the file.
func (s *notes) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
	data, err := s.store.ReadFile(s.path)
	if err != nil {
		return nil // none
	}
	if err := s.store.Remove(s.path, fsys.Expect{Digest: fsys.Digest(data)}, nil); err != nil {
		return fmt.Errorf("%w: remove the journal: %w", errLocal, err)
	}
	return nil
}

func (s *notes) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// noted returns what is to be noted of chunk k, if that is worth a note. Only
// the goroutine that writes the chunk may call it.
func (c *chunks) noted(k int) (o open, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.have[k]
	if s.n == s.noted || s.n-s.noted < noteBytes && s.n < c.full(k) {
		return open{}, false
	}
	s.noted = s.n
	return open{k, s.n, s.crc}, true
}

// extend adds to the chunks what the notes say beyond them, as far as the part
// holds it: a chunk that is read back ends with the last note whose checksum is
// right.
func (c *chunks) extend(all []open) {
	buf := make([]byte, bufferSize)
	for _, o := range all {
		if o.Chunk < 0 || o.Chunk >= len(c.have) || o.Bytes <= c.have[o.Chunk].n || o.Bytes > c.full(o.Chunk) {
			continue
		}
		s := &c.have[o.Chunk]
		crc, at := s.crc, s.n
		for at < o.Bytes {
			b := buf[:min(int64(len(buf)), o.Bytes-at)]
			if _, err := c.file.ReadAt(b, c.start(o.Chunk)+at); err != nil {
				break // the part is shorter: that write was lost
			}
			crc = crc32.Update(crc, castagnoli, b)
			at += int64(len(b))
		}
		if at == o.Bytes && crc == o.CRC {
			c.present += at - s.n
			s.n, s.crc, s.noted = at, crc, at
		}
	}
}
