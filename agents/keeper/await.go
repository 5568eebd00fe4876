package keeper

import (
	"time"

	"aisync.dev/aisync/agents/process"
)

// poll is await for systems that cannot wait for a process of another parent.
func poll(t process.Table, pid int, start uint64, most time.Duration) bool {
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(2 * time.Second) {
		if presence(t, pid, start) == Absent {
			return false
		}
	}
	return true
}
