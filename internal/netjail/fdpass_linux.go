package netjail

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// LoopbackUp brings up loopback in this namespace.
func LoopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// A socket stays in the namespace in which it was made, whichever process holds
// it: one that listens inside is passed out (SCM_RIGHTS) and served outside.

// Line returns a pair of sockets for passing listeners: outside receives them,
// inside is for the process inside.
func Line() (outside *net.UnixConn, inside *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	here := os.NewFile(uintptr(fds[0]), "line")
	defer here.Close()
	c, err := net.FileConn(here)
	if err != nil {
		unix.Close(fds[1])
		return nil, nil, err
	}
	return c.(*net.UnixConn), os.NewFile(uintptr(fds[1]), "line"), nil
}

// HandOut listens at a port of this namespace's loopback and passes the listener
// out through the descriptor line.
func HandOut(line, port int) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	if err := unix.Bind(s, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(s, 64); err != nil {
		return err
	}
	return unix.Sendmsg(line, []byte{0}, unix.UnixRights(s), nil, 0)
}

// Take waits for one listener of HandOut. It ends when line is closed.
func Take(line *net.UnixConn) (net.Listener, error) {
	b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := line.ReadMsgUnix(b, oob)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return nil, err
	}
	if len(messages) != 1 {
		return nil, errors.New("received no file descriptor")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	if len(fds) != 1 {
		return nil, errors.New("received more than one file descriptor")
	}
	f := os.NewFile(uintptr(fds[0]), "listener")
	defer f.Close()
	return net.FileListener(f)
}

// Admit takes a listener from line for each of these addresses, in order, and
// forwards its connections there. It closes line in the end.
func (f *Forwarder) Admit(line *net.UnixConn, to ...string) {
	if !f.hold(line) {
		return
	}
	f.wait.Go(func() {
		for _, address := range to {
			l, err := Take(line)
			if err != nil {
				return
			}
			f.Serve(l, address)
		}
	})
}
