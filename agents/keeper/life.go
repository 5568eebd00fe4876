package keeper

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/process"
)

// Life is what is known of an agent.
type Life string

// An agent whose state is Unknown may be at work: only Gone permits to act as if
// it were not there.
const (
	Alive   Life = "alive"
	Gone    Life = "gone"
	Unknown Life = "unknown"
)

// Lease is how long an agent counts as alive after its last hook call where
// nothing else tells.
const Lease = 15 * time.Minute

// Presence is what a process table says of one process.
type Presence int

// Unseen is also a process of a namespace that the table does not show.
const (
	Unseen Presence = iota
	Present
	Absent
)

// Place is where the number of a process has a meaning.
type Place struct {
	Host      string `json:"host,omitempty"`
	Machine   string `json:"machine,omitempty"`   // digest of the machine's id
	Boot      string `json:"boot,omitempty"`      // digest of the id of this boot of its kernel
	Namespace string `json:"namespace,omitempty"` // PID namespace, as process.Table names it
}

// Here returns the place of this process and its table.
func Here(t process.Table) Place {
	return Place{identity.Host(), machine(), boot(), t.Namespace()}
}

// One process stays on one machine, and a hook asks for each record.
var (
	machine = sync.OnceValue(func() string { return digest("/etc/machine-id") })
	boot    = sync.OnceValue(func() string { return digest("/proc/sys/kernel/random/boot_id") })
)

// digest returns eight digits for the text of a file, "" without one.
func digest(name string) string {
	text, err := os.ReadFile(name)
	id := strings.TrimSpace(string(text))
	if err != nil || id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("aisync " + id))
	return hex.EncodeToString(sum[:4])
}

// Shows reports whether the numbers of processes mean the same in two places.
func (p Place) Shows(other Place) bool {
	return p.Boot != "" && p.Boot == other.Boot && p.Namespace != "" && p.Namespace == other.Namespace
}

// restarted reports whether the machine of before was started again since.
func (p Place) restarted(before Place) bool {
	return p.Host == before.Host && p.Machine != "" && p.Machine == before.Machine && p.Boot != "" && before.Boot != "" && p.Boot != before.Boot
}

// Evidence is all that tells whether an agent is alive.
type Evidence struct {
	Locked      bool // its keeper holds the lock
	Here, There Place
	Process     Presence      // in the table of Here, where that shows There
	Age         time.Duration // since the last renewal, by the clock on the wall
}

// Judge decides whether an agent is alive. Every question of that kind is decided
// here. It needs no clock that agrees with another: a lease alone never says
// Gone.
func Judge(e Evidence) Life {
	switch {
	case e.Locked:
		return Alive
	case e.Here.restarted(e.There):
		return Gone
	case e.Here.Shows(e.There) && e.Process == Present:
		return Alive
	case e.Here.Shows(e.There) && e.Process == Absent:
		return Gone
	case e.Age.Abs() <= Lease:
		return Alive
	}
	return Unknown
}

// presence looks for a process in a table.
func presence(t process.Table, pid int, start uint64) Presence {
	if pid <= 0 {
		return Unseen
	}
	p, err := t.Read(pid)
	switch {
	case err == process.ErrGone:
		return Absent
	case err != nil || start == 0 || p.Start == 0:
		return Unseen
	case p.Start != start:
		return Absent
	}
	return Present
}

// Of decides whether a process is alive that has no record, only a number and a
// start in a file: the context of an agent, or a claim. host is the machine that
// the file names, "" where it names none. Such files carry no PID namespace, so
// only a table that shows the whole machine can tell that a process is gone.
func Of(t process.Table, host string, pid int, start uint64) Life {
	here := Here(t)
	if host != "" && host != here.Host || pid == 0 || t.Partial() != "" {
		return Unknown
	}
	switch presence(t, pid, start) {
	case Present:
		return Alive
	case Absent:
		return Gone
	}
	return Unknown
}
