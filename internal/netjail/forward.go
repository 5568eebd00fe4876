package netjail

import (
	"io"
	"net"
	"sync"
)

// Forwarder forwards connections from listeners to addresses, until Close.
type Forwarder struct {
	Sent, Got func([]byte) // get the forwarded bytes; may be nil

	mu     sync.Mutex
	closed bool
	open   []io.Closer
	wait   sync.WaitGroup
}

// hold registers c for Close; false if f is closed.
func (f *Forwarder) hold(c io.Closer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		c.Close()
		return false
	}
	f.open = append(f.open, c)
	return true
}

// Close closes all connections, and returns when forwarding has ended.
func (f *Forwarder) Close() {
	f.mu.Lock()
	f.closed = true
	for _, c := range f.open {
		c.Close()
	}
	f.mu.Unlock()
	f.wait.Wait()
}

// Serve forwards l's connections to an address. It returns at once.
func (f *Forwarder) Serve(l net.Listener, to string) {
	if !f.hold(l) {
		return
	}
	f.wait.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			if f.hold(in) {
				f.wait.Go(func() { f.pass(in, to) })
			}
		}
	})
}

func (f *Forwarder) pass(in net.Conn, to string) {
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil || !f.hold(out) {
		return
	}
	defer out.Close()
	f.wait.Go(func() {
		_, _ = io.Copy(seen(out, f.Sent), in)
		_ = out.(*net.TCPConn).CloseWrite()
	})
	_, _ = io.Copy(seen(in, f.Got), out)
}

// seen returns w with all writes passed to see.
func seen(w io.Writer, see func([]byte)) io.Writer {
	if see == nil {
		return w
	}
	return watched{w, see}
}

type watched struct {
	io.Writer
	see func([]byte)
}

func (w watched) Write(b []byte) (int, error) {
	w.see(b)
	return w.Writer.Write(b)
}
