package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// Hash returns the sha256 of p, in hex. progress, if not nil, is called after
// each chunk with the bytes read so far.
func Hash(ctx context.Context, r fsys.Reader, p fsys.LogicalPath, progress func(done, total int64)) (string, error) {
	f, err := r.Open(p)
	if err != nil {
		return "", fmt.Errorf("verify: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("verify %s: %w", p, err)
	}
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for done := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if done += int64(n); progress != nil && n > 0 {
			progress(done, info.Size())
		}
		if err == io.EOF {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", fmt.Errorf("verify %s: %w", p, err)
		}
	}
}

// Bounds on the counts in a header; the largest models have some thousands of
// tensors and some dozens of keys.
const (
	maxTensors = 1 << 24
	maxKeys    = 1 << 20
)

// CheckGGUF returns an error if name is that of a GGUF file and p does not
// begin as one: magic, version 1 to 3, the numbers of tensors and of keys. See
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
func CheckGGUF(r fsys.Reader, p fsys.LogicalPath, name string) error {
	if !strings.HasSuffix(strings.ToLower(name), ".gguf") {
		return nil
	}
	f, err := r.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := header(bufio.NewReader(f)); err != nil {
		return fmt.Errorf("%s has the right digest but is not a GGUF file (%w): correct path and sha256 in the catalog entry", name, err)
	}
	return nil
}

func header(r io.Reader) error {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return fmt.Errorf("it ends within its header")
	}
	if string(head[:4]) != "GGUF" {
		return fmt.Errorf("it begins with %q", head[:4])
	}
	order, version := binary.ByteOrder(binary.LittleEndian), binary.LittleEndian.Uint32(head[4:])
	if version>>16 != 0 { // written for big-endian machines
		order, version = binary.BigEndian, binary.BigEndian.Uint32(head[4:])
	}
	if version < 1 || version > 3 {
		return fmt.Errorf("version %d is not known", version)
	}
	var counts [2]uint64
	for i := range counts {
		if version == 1 {
			var n uint32
			if err := binary.Read(r, order, &n); err != nil {
				return fmt.Errorf("it ends within its header")
			}
			counts[i] = uint64(n)
		} else if err := binary.Read(r, order, &counts[i]); err != nil {
			return fmt.Errorf("it ends within its header")
		}
	}
	if counts[0] > maxTensors || counts[1] > maxKeys {
		return fmt.Errorf("it claims %d tensors and %d keys", counts[0], counts[1])
	}
	return nil
}
