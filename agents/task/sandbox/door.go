package sandbox

import (
	"io"
	"net"
	"strconv"
	"sync"
)

// Isolated reports whether commands have a network of their own, with nothing
// in it but loopback.
func (b Box) Isolated() bool { return b.Way != None && !b.Network }

// Address is where a command of the box reaches what is behind d.
func (b Box) Address(d Door) string {
	if b.Isolated() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.Port))
	}
	return d.To
}

// doorkeeper carries connections from inside to outside.
type doorkeeper struct {
	mu     sync.Mutex
	closed bool
	open   []io.Closer
	wait   sync.WaitGroup
}

// hold remembers what close closes; false if it has been closed already.
func (k *doorkeeper) hold(c io.Closer) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		c.Close()
		return false
	}
	k.open = append(k.open, c)
	return true
}

func (k *doorkeeper) close() {
	k.mu.Lock()
	k.closed = true
	for _, c := range k.open {
		c.Close()
	}
	k.mu.Unlock()
	k.wait.Wait()
}

// serve carries all that l accepts to an address, until it is closed.
func (k *doorkeeper) serve(l net.Listener, to string) {
	if !k.hold(l) {
		return
	}
	k.wait.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			if k.hold(in) {
				k.wait.Go(func() { k.pass(in, to) })
			}
		}
	})
}

func (k *doorkeeper) pass(in net.Conn, to string) {
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil || !k.hold(out) {
		return
	}
	defer out.Close()
	k.wait.Go(func() {
		_, _ = io.Copy(out, in)
		_ = out.(*net.TCPConn).CloseWrite()
	})
	_, _ = io.Copy(in, out)
}
