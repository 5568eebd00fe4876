//go:build !linux

package worker

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
)

// bootID is the kernel's id of this boot. It is untested.
var bootID = sync.OnceValues(func() (string, error) {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return "", fmt.Errorf("read the boot id: %w", err)
	}
	return id, nil
})

func (id Identity) signal(t process.Table, sig unix.Signal) error { return id.signalByNumber(t, sig) }
