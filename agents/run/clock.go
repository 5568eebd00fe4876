package run

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Moment is one point in time on one machine: the wall clock, which people read
// and which may jump, and the time since boot, which does not. Two moments of
// one boot are compared by the latter.
type Moment struct {
	Wall int64  `json:"wall"`           // milliseconds since 1970
	Boot string `json:"boot,omitempty"` // MACHINE-BOOT, 8 hex digits each; "" where unknown
	Up   int64  `json:"up,omitempty"`   // milliseconds since that boot, sleep included
}

// Time returns the wall clock's time.
func (m Moment) Time() time.Time { return time.UnixMilli(m.Wall).UTC() }

// Since returns the least time that must have passed between before and m: exact
// within one boot of a machine; after a reboot at least the time since then;
// between two machines by the wall clocks, which are expected to agree within a
// few seconds.
func (m Moment) Since(before Moment) time.Duration {
	wall := time.Duration(m.Wall-before.Wall) * time.Millisecond
	if m.Boot == "" || before.Boot == "" {
		return wall
	}
	up := time.Duration(m.Up) * time.Millisecond
	if m.Boot == before.Boot {
		return up - time.Duration(before.Up)*time.Millisecond
	}
	machine, _, _ := strings.Cut(m.Boot, "-")
	if was, _, _ := strings.Cut(before.Boot, "-"); machine == was {
		return max(wall, up)
	}
	return wall
}

// Clock returns the time. Now is the machine's.
type Clock func() Moment

// Now reads the clocks of this machine.
func Now() Moment {
	boot, up := sinceBoot()
	return Moment{Wall: time.Now().UnixMilli(), Boot: boot, Up: up.Milliseconds()}
}

// bootName returns the name of a boot from the machine's id and the boot's.
func bootName(machine, boot string) string {
	machine, boot = strings.TrimSpace(machine), strings.TrimSpace(boot)
	if boot == "" {
		return ""
	}
	part := func(s string) string {
		h := sha256.Sum256([]byte("ilchul " + s))
		return hex.EncodeToString(h[:4])
	}
	return part(machine) + "-" + part(boot)
}
