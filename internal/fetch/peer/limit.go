package peer

import (
	"io"
	"net"
	"sync"
	"time"
)

// limited accepts at most n connections at a time and closes those whose client
// accepts no byte for stall.
func limited(ln net.Listener, n int, stall time.Duration) net.Listener {
	return &listener{Listener: ln, slots: make(chan struct{}, n), closed: make(chan struct{}), stall: stall}
}

type listener struct {
	net.Listener
	slots  chan struct{} // one element for each connection
	closed chan struct{}
	once   sync.Once
	stall  time.Duration
}

// Accept waits for a slot first: connections over the limit wait in the
// backlog.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &conn{Conn: c, stall: l.stall, free: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// piece is the most that is sent before the deadline moves.
const piece = 4 << 20

// conn moves its deadline with every piece sent.
type conn struct {
	net.Conn
	stall time.Duration
	free  func()
}

func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// ReadFrom implements io.ReaderFrom. The inner connection uses sendfile only
// through at most one limit, hence the unwrapping.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	limit, ok := r.(*io.LimitedReader)
	if !ok {
		limit = &io.LimitedReader{R: r, N: 1<<63 - 1}
	}
	var sent int64
	for limit.N > 0 {
		if err := c.SetWriteDeadline(time.Now().Add(c.stall)); err != nil {
			return sent, err
		}
		want := min(limit.N, piece)
		n, err := io.Copy(c.Conn, &io.LimitedReader{R: limit.R, N: want})
		sent += n
		limit.N -= n
		if err != nil || n < want {
			return sent, err
		}
	}
	return sent, nil
}

func (c *conn) Close() error {
	defer c.free()
	return c.Conn.Close()
}
