package fetch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// record is the content of a journal file: a statement about the part beside it
// that is true whenever it can be read, even after a loss of power.
type record struct {
	Version  int       `json:"version"`
	SHA256   string    `json:"sha256"`
	Size     int64     `json:"size"`
	Chunk    int64     `json:"chunk"`        // length of every chunk but the last
	Hash     string    `json:"hash"`         // format of State
	Frontier int64     `json:"frontier"`     // bytes covered by State
	State    []byte    `json:"sha256_state"` // of crypto/sha256
	Done     []byte    `json:"done"`         // bitmap of complete chunks, from the frontier's on
	CRC      []byte    `json:"crc32c"`       // of every complete chunk in order, 4 bytes each, little endian
	Open     []open    `json:"open"`         // chunks with only a beginning
	Source   string    `json:"source"`       // of the last chunks
	Seen     validator `json:"validator"`
	PID      int       `json:"pid"`
	Checksum string    `json:"checksum"` // sha256 of the record without it
}

// open is an incomplete chunk.
type open struct {
	Chunk int    `json:"chunk"`
	Bytes int64  `json:"bytes"`
	CRC   uint32 `json:"crc32c"`
}

// Version 1 knew only a prefix; such a part is read again.
const recordVersion = 2

// maxChunks and maxChunk (bytes) bound what a record may describe.
const (
	maxChunks = 1 << 20
	maxChunk  = 1 << 32
)

// hashID changes with the format of the toolchain's sha256 state: it is the
// digest of the state after a known text.
var hashID = func() string {
	h := sha256.New()
	h.Write([]byte(strings.Repeat("aisync", 16)))
	id := sha256.Sum256(state(h))
	return hex.EncodeToString(id[:4])
}()

func journalPath(part fsys.LogicalPath) fsys.LogicalPath { return part + ".journal" }

// encode renders r with its checksum.
func (r record) encode() ([]byte, error) {
	r.Version, r.PID, r.Checksum = recordVersion, os.Getpid(), ""
	plain, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(plain)
	r.Checksum = hex.EncodeToString(sum[:])
	data, err := json.Marshal(r)
	return append(data, '\n'), err
}

// decode is strict: a record is exactly what encode wrote, or an error. Old
// formats are not migrated, because reading the part again gives the same
// knowledge.
func decode(data []byte) (record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, err
	}
	plain := r
	plain.Checksum = ""
	bare, err := json.Marshal(plain)
	if err != nil {
		return record{}, err
	}
	if sum := sha256.Sum256(bare); r.Version != recordVersion || hex.EncodeToString(sum[:]) != r.Checksum {
		return record{}, errors.New("damaged, or another version")
	}
	return r, nil
}

// plausible reports whether r can describe a part of size bytes: its chunks can
// be counted and held.
func (r record) plausible(size int64) bool {
	return r.Size == size && size >= 0 && r.Chunk > 0 && r.Chunk <= maxChunk && size/r.Chunk < maxChunks
}

// present is the number of written bytes in r.
func (r record) present() int64 {
	n := r.Frontier / max(r.Chunk, 1) * r.Chunk
	first := n / max(r.Chunk, 1)
	for i := int64(0); i < int64(len(r.Done))*8; i++ {
		if bit(r.Done, int(i)) {
			n += min(r.Chunk, r.Size-(first+i)*r.Chunk)
		}
	}
	for _, o := range r.Open {
		n += o.Bytes
	}
	return n
}

// Kept returns how many bytes of an interrupted download will not be fetched
// again, by its journal alone: the part itself is longer, with space for all of
// it. ok is false without a journal.
func Kept(r interface {
	ReadFile(p fsys.LogicalPath) ([]byte, error)
}, part fsys.LogicalPath) (bytes int64, ok bool) {
	text, err := r.ReadFile(journalPath(part))
	if err != nil {
		return 0, false
	}
	rec, err := decode(text)
	if err != nil || !rec.plausible(rec.Size) {
		return 0, false
	}
	n := max(rec.present(), 0)
	if text, err = r.ReadFile(notesPath(part)); err == nil {
		n += rec.more(decodeNotes(text))
	}
	return min(n, rec.Size), true
}

// more is the number of bytes that notes name beyond r.
func (r record) more(notes []open) (n int64) {
	first := int(r.Frontier / r.Chunk)
	have := make(map[int]int64)
	for _, o := range r.Open {
		have[o.Chunk] = o.Bytes
	}
	for _, o := range notes {
		if o.Chunk < first || bit(r.Done, o.Chunk-first) || o.Bytes <= have[o.Chunk] || o.Bytes > r.Chunk {
			continue
		}
		n += o.Bytes - have[o.Chunk]
		have[o.Chunk] = o.Bytes
	}
	return n
}

func bit(bits []byte, i int) bool { return i/8 < len(bits) && bits[i/8]>>(i%8)&1 == 1 }

// snapshot copies the present state of c to r.
func (c *chunks) snapshot(r *record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Size, r.Chunk, r.Hash = c.size, c.length, hashID
	r.Frontier, r.State = c.hashed, append([]byte(nil), c.state...)
	first := int(c.hashed / c.length)
	for k, s := range c.have {
		switch {
		case s.n == 0:
		case s.n < c.full(k):
			r.Open = append(r.Open, open{k, s.n, s.crc})
		default:
			r.CRC = binary.LittleEndian.AppendUint32(r.CRC, s.crc)
			if i := k - first; i >= 0 {
				for len(r.Done) <= i/8 {
					r.Done = append(r.Done, 0)
				}
				r.Done[i/8] |= 1 << (i % 8)
			}
		}
	}
}

// restore sets c to r without reading the file, or returns false and leaves c
// in an unknown state.
func (c *chunks) restore(r record) bool {
	if r.Size != c.size || r.Chunk != c.length || r.Hash != hashID || r.Frontier < 0 || r.Frontier > r.Size {
		return false
	}
	c.forget()
	crc := r.CRC
	set := func(k int, n int64, sum uint32) {
		c.have[k] = span{n: n, crc: sum}
		c.present += n
	}
	first := int(r.Frontier / r.Chunk)
	for k := range c.have {
		if k >= first && !bit(r.Done, k-first) {
			continue
		}
		if len(crc) < 4 {
			return false
		}
		set(k, c.full(k), binary.LittleEndian.Uint32(crc))
		crc = crc[4:]
	}
	for _, o := range r.Open {
		if o.Chunk < first || o.Chunk >= len(c.have) || c.have[o.Chunk].n != 0 || o.Bytes <= 0 || o.Bytes >= c.full(o.Chunk) {
			return false
		}
		set(o.Chunk, o.Bytes, o.CRC)
	}
	at := r.Frontier - c.start(first)
	if len(crc) != 0 || at > 0 && c.have[first].n < at {
		return false
	}
	return c.resumeSum(r.Frontier, r.State)
}
