package netjail

import (
	"net"
	"testing"
)

func TestTakenSocketIsServed(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	outside, inside, err := Line()
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	if err := HandOut(int(inside.Fd()), port); err != nil {
		t.Fatal(err)
	}
	l, err := Take(outside)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.Addr().(*net.TCPAddr).Port; got != port {
		t.Errorf("it listens at port %d, want %d", got, port)
	}
	if err := HandOut(int(inside.Fd()), port); err == nil {
		t.Error("a port that is taken was taken again")
	}
	inside.Close()
	if _, err := Take(outside); err == nil {
		t.Error("a socket came out of a line that was closed")
	}
}
