package realcli

import (
	"net"
	"os"
	"testing"
)

// The programs have to do with loopback alone. Where the machine does not allow
// a network of one's own, they run as they are, and this test is skipped and
// counted.
func TestTheNetworkIsCut(t *testing.T) {
	needPrograms(t)
	if why := os.Getenv(inside); why != "cut" {
		t.Skipf("this machine allows no network of one's own: %s", why)
	}
	list, err := net.Interfaces()
	if err != nil || len(list) != 1 || list[0].Flags&net.FlagLoopback == 0 || list[0].Flags&net.FlagUp == 0 {
		t.Errorf("interfaces %+v, error %v", list, err)
	}
}
