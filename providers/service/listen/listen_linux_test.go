package listen

import (
	"fmt"
	"net"
	"os"
	"path"
	"strings"
	"testing"
)

func TestOnFindsListener(t *testing.T) {
	for _, network := range []string{"tcp4", "tcp6"} {
		t.Run(network, func(t *testing.T) {
			l, err := net.Listen(network, "localhost:0")
			if err != nil {
				t.Skip(err)
			}
			defer l.Close()
			port := l.Addr().(*net.TCPAddr).Port
			got, err := On(port)
			if err != nil || len(got) != 1 {
				t.Fatalf("got %v, %v", got, err)
			}
			who := got[0]
			if who.PID != os.Getpid() || who.UID != os.Getuid() || who.Address.String() != l.Addr().String() {
				t.Errorf("got %+v, want process %d of user %d at %s", who, os.Getpid(), os.Getuid(), l.Addr())
			}
			if want := fmt.Sprintf("(process %d)", os.Getpid()); !strings.Contains(who.String(), want) {
				t.Errorf("it is called %q, without %q", who, want)
			}
			if !who.Below(os.Getpid()) || !who.Below(os.Getppid()) || who.Below(1) || who.Below(0) || who.Below(1<<22+1) {
				t.Error("its ancestors are not told apart from others")
			}
			if who.InUnit("aisync-coder.service") {
				t.Error("it is in no unit of ours")
			}
			b, _ := os.ReadFile("/proc/self/cgroup")
			own := path.Base(strings.TrimSpace(strings.Split(string(b), "\n")[0]))
			if own != "/" && own != "." && !who.InUnit(own) {
				t.Errorf("it is in %s", own)
			}
			l.Close()
			if got, err := On(port); len(got) != 0 || err != nil {
				t.Errorf("closed: got %v, %v", got, err)
			}
		})
	}
}

// A connection to a port is not a listener.
func TestListeningParsesProcNetTCP(t *testing.T) {
	for line, want := range map[string]string{
		"   0: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0": "127.0.0.1:8081 1000 4711",
		"   1: 00000000000000000000000001000000:1F91 0:0 0A 0:0 00:0 0 0 0 12 1":                              "[::1]:8081 0 12",
		"   2: 0000000000000000FFFF00000100007F:1F91 0:0 0A 0:0 00:0 0 0 0 12 1":                              "127.0.0.1:8081 0 12",
		"   3: 0100007F:1F91 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000 0 4711 1":          "",
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode":    "",
		"   4: 0100:1F91 0:0 0A 0:0 00:0 0 0 0 12 1":                                                          "",
	} {
		l, inode, ok := listening(line)
		got := ""
		if ok {
			got = fmt.Sprintf("%s %d %s", l.Address, l.UID, inode)
		}
		if got != want {
			t.Errorf("%s\n got %q, want %q", line, got, want)
		}
	}
}
