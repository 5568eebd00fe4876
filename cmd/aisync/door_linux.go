package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/netns"
)

// door is the one way out of the network namespace of a program: a port on its
// loopback, behind which the server at url answers. The socket is made inside
// by alone, and everything that connects to it is carried on from outside.
type door struct {
	url string

	pair   *net.UnixConn
	done   chan struct{}
	around bool        // the program runs without the door
	asked  atomic.Bool // a request with a body went out
	served atomic.Bool // an answer of success came back after that
	wait   sync.WaitGroup
}

// noDoor stands for the port where there is no door.
const noDoor = "-"

// doorFile is the descriptor through which alone hands the socket out.
const doorFile = 3

func (d *door) flag() string {
	if d == nil {
		return noDoor
	}
	_, address := d.places()
	return address
}

// places are the address of the server, and the one of the door: a program is
// told one address for both, so the port is the same.
func (d *door) places() (server, inside string) {
	u, err := url.Parse(d.url)
	if err != nil {
		return "", noDoor
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[u.Scheme == "https"]
	}
	return net.JoinHostPort(u.Hostname(), port), port
}

// open begins to wait for the socket; what it returns is for the program.
func (d *door) open() (*os.File, error) {
	pair, inside, err := netns.Line()
	if err != nil {
		return nil, err
	}
	d.pair, d.done = pair, make(chan struct{})
	d.wait.Go(d.carry)
	return inside, nil
}

func (d *door) close() {
	close(d.done)
	d.pair.Close()
	d.wait.Wait()
}

// answered reports whether a request came through and was answered. Where the
// program was not isolated it did not pass here, and the word of its exit code
// must do.
func (d *door) answered() bool { return d.around || d.served.Load() }

// carry takes the socket and serves it until close.
func (d *door) carry() {
	l, err := netns.Take(d.pair)
	if err != nil {
		return
	}
	d.wait.Go(func() {
		<-d.done
		l.Close()
	})
	server, _ := d.places()
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go d.pass(in, server)
	}
}

// pass carries one connection.
func (d *door) pass(in net.Conn, server string) {
	defer in.Close()
	out, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		_, _ = io.Copy(seeing{out, "POST ", func() { d.asked.Store(true) }}, in)
		_ = out.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(seeing{in, "HTTP/1.1 200", func() { d.served.Store(d.served.Load() || d.asked.Load()) }}, out)
}

// seeing calls seen for every write that begins with a text.
type seeing struct {
	io.Writer
	text string
	seen func()
}

func (s seeing) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte(s.text)) {
		s.seen()
	}
	return s.Writer.Write(b)
}

// handOut listens on a port of this namespace's loopback and sends the socket
// out.
func handOut(port string) error {
	defer unix.Close(doorFile)
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return err
	}
	if err := netns.HandOut(doorFile, int(number)); err != nil {
		return fmt.Errorf("door: %w", err)
	}
	return nil
}
