package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	bufferSize = 1 << 20
	buffers    = 6 // in all; memory is the same for every size of artifact
)

var errDropped = errors.New("the connection ended early")

// take moves st, which starts at p.offset, into the part and the hash. One
// goroutine reads and writes while the caller's hashes, as each of the two
// takes about as long as the other. each is called after every buffer that is
// verified; its error ends the transfer. When take returns, nothing is being
// written any more, and all that st brought and that could be written is part
// of the prefix.
func (p *prefix) take(ctx context.Context, st stream, size int64, each func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { st.body.Close() }) // unblocks Read
	defer stop()

	free, full := make(chan []byte, buffers), make(chan []byte, buffers)
	for range buffers {
		free <- nil // made when first needed
	}
	var failed error // of the goroutine; read after full is closed
	go func() {
		defer close(full)
		failed = p.pump(ctx, st, size, free, full)
	}()
	var refused error
	for buf := range full {
		p.add(buf)
		free <- buf[:0]
		if refused == nil {
			if refused = each(); refused != nil {
				cancel()
			}
		}
	}
	if refused != nil {
		return refused
	}
	return failed
}

// pump reads st into free buffers, writes each to its place, and passes it on.
// It reads no further than st.to: should more come, the digest has decided.
func (p *prefix) pump(ctx context.Context, st stream, size int64, free <-chan []byte, full chan<- []byte) error {
	for at := st.from; at < st.to; {
		buf := <-free
		if buf == nil {
			buf = make([]byte, 0, bufferSize)
		}
		n, err := fill(st.body, buf[:min(bufferSize, st.to-at)])
		if err := ctx.Err(); err != nil {
			return err
		}
		if n > 0 {
			if _, err := p.file.WriteAt(buf[:n], at); err != nil {
				return fmt.Errorf("%w: write the part: %w", errLocal, err)
			}
			at += int64(n)
			full <- buf[:n]
		}
		switch {
		case at == st.to:
		case err == io.EOF:
			return fmt.Errorf("%w, after %d of %d bytes", errDropped, at, size)
		case err != nil:
			return fmt.Errorf("%w, after %d of %d bytes", err, at, size)
		}
	}
	return nil
}

// fill reads until buf is full, or for a moment: bytes of a slow source are
// not kept waiting in memory, where a kill loses them.
func fill(r io.Reader, buf []byte) (n int, err error) {
	start := time.Now()
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
		if time.Since(start) > 100*time.Millisecond && n > 0 {
			break
		}
	}
	return n, err
}
