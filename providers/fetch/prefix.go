package fetch

import (
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
)

// prefix is the verified beginning of a part file: bytes [0, offset) are
// written, and are what sum has seen. It knows nothing of where they come from.
type prefix struct {
	file   *os.File
	offset int64
	sum    hash.Hash
	tail   [2]block // the last blocks before offset, the newer one second
}

// block is a stretch of a part file, at most blockSize long, that starts at a
// multiple of blockSize.
type block struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	CRC  uint32 `json:"crc32c"`
}

const blockSize = 2 << 20 // the two of a tail cover the last 2 to 4 MiB

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errLocal wraps what is wrong on this machine: no other source mends it.
var errLocal = errors.New("on this machine")

func newPrefix(file *os.File) *prefix { return &prefix{file: file, sum: sha256.New()} }

// add takes over b, which has been written at offset.
func (p *prefix) add(b []byte) {
	p.sum.Write(b)
	for len(b) > 0 {
		last := &p.tail[1]
		if room := last.From + blockSize - last.To; room == 0 {
			p.tail[0], p.tail[1] = p.tail[1], block{From: last.To, To: last.To}
			continue
		} else if n := min(room, int64(len(b))); n > 0 {
			last.CRC = crc32.Update(last.CRC, castagnoli, b[:n])
			last.To += n
			p.offset += n
			b = b[n:]
		}
	}
}

// digest returns the sha256 of the prefix in hex.
func (p *prefix) digest() string { return hex.EncodeToString(p.sum.Sum(nil)) }

// cut takes away what lies behind the prefix.
func (p *prefix) cut() error {
	if err := p.file.Truncate(p.offset); err != nil {
		return fmt.Errorf("%w: truncate the part: %w", errLocal, err)
	}
	return nil
}

// state returns the sha256 state, which restore takes.
func (p *prefix) state() ([]byte, error) {
	return p.sum.(encoding.BinaryMarshaler).MarshalBinary()
}

// restore makes the prefix what a journal says of it, without reading more
// of the file than the tail. It reports whether that could be believed; where
// not, the prefix is empty and the file as it was.
func (p *prefix) restore(offset int64, state []byte, tail [2]block) bool {
	ok := tail[0].To == tail[1].From && tail[1].To == offset && offset >= 0
	for _, b := range tail {
		ok = ok && b.matches(p.file)
	}
	sum := sha256.New()
	if !ok || sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(state) != nil {
		return false
	}
	p.offset, p.sum, p.tail = offset, sum, tail
	return true
}

// matches re-reads the block.
func (b block) matches(file *os.File) bool {
	if b.From < 0 || b.To < b.From || b.To-b.From > blockSize {
		return false
	}
	buf := make([]byte, b.To-b.From)
	if _, err := file.ReadAt(buf, b.From); err != nil {
		return false
	}
	return crc32.Checksum(buf, castagnoli) == b.CRC
}

// reread makes the prefix the first limit bytes of the file, or all of it
// where it is shorter, by reading them. each is called now and then.
func (p *prefix) reread(ctx context.Context, limit int64, each func()) error {
	r := io.NewSectionReader(p.file, 0, limit)
	buf := make([]byte, bufferSize)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(buf)
		p.add(buf[:n])
		each()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: read the part: %w", errLocal, err)
		}
	}
}
