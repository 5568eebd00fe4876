//go:build !linux

package keeper

import (
	"time"

	"aisync.dev/aisync/agents/process"
)

// await waits for the end of a process, at most for a time, and reports whether
// it still runs. It is untested.
func await(t process.Table, pid int, start uint64, most time.Duration) bool {
	return poll(t, pid, start, most)
}
