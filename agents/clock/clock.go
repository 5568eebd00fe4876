// Package clock tells the time by two clocks: that of the wall, which people read
// and which may jump, and the time since boot, which does not.
package clock

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Moment is one point in time on one machine. Two moments of one boot are
// compared by the time since it.
type Moment struct {
	Wall int64  `json:"wall"`           // milliseconds since 1970
	Boot string `json:"boot,omitempty"` // MACHINE-BOOT, 8 hex digits each; "" where unknown
	Up   int64  `json:"up,omitempty"`   // milliseconds since that boot, sleep included
}

// Time returns the wall clock's time.
func (m Moment) Time() time.Time { return time.UnixMilli(m.Wall).UTC() }

// Form is the form of a moment in files and on the command line.
const Form = "2006-01-02T15:04:05.000Z"

// Stamp formats m; "" where it is none.
func (m Moment) Stamp() string {
	if m.Wall == 0 {
		return ""
	}
	return m.Time().Format(Form)
}

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
	if m.Elsewhere(before) {
		return wall
	}
	return max(wall, up)
}

// Elsewhere reports whether the moments are known to be of two machines.
func (m Moment) Elsewhere(o Moment) bool {
	machine, _, _ := strings.Cut(m.Boot, "-")
	other, _, _ := strings.Cut(o.Boot, "-")
	return m.Boot != "" && o.Boot != "" && machine != other
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
