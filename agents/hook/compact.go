package hook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/catalog"
)

// preCompact has the model told anew who it is: what it knew of it goes with the old
// context.
func (c *Call) preCompact() error {
	if mark := catalog.CompactionMark(c.program); mark != "" && c.in.trigger == "auto" {
		before := c.own
		if !c.compacted(mark) {
			if before.Looked == c.own.Looked {
				return nil
			}
			return c.seen()
		}
	}
	c.own.Primed = false
	return c.seen()
}

// maxGrowth bounds the bytes of a transcript that are searched.
const maxGrowth = 64 << 20

// compacted reports whether the transcript holds a compacted history that it did not
// hold at the last look. The first look finds what the model knows already.
func (c *Call) compacted(mark string) bool {
	f, err := os.OpenFile(c.in.log, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	from := c.own.Looked
	c.own.Looked = info.Size()
	if from == 0 || from >= info.Size() || info.Size()-from > maxGrowth {
		return false
	}
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return false
	}
	found := false
	for line := range bytes.Lines(text) {
		// A change of the whole history repeats the mark of a former compaction.
		if at := bytes.LastIndex(line, []byte(mark)); at >= 0 && bytes.HasPrefix(line, []byte(`{"$set":{"messages":`)) {
			sum := sha256.Sum256(line[at:min(len(line), at+500)])
			digest := hex.EncodeToString(sum[:8])
			found = found || digest != c.own.Compacted
			c.own.Compacted = digest
		}
	}
	return found
}
