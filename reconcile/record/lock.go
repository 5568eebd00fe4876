package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/resource"
)

// LockVersion is the format of aisync.lock that this version writes.
const LockVersion = 1

// ErrLockNewer means that a newer aisync wrote the lock.
var ErrLockNewer = errors.New("written by a newer aisync")

// Lock is aisync.lock: pins, and what was last made true of the targets that
// git carries. On disk it is one JSON object a line: the first names the
// format, the others are sorted, so that git merges it line by line. It holds
// no time and no machine path.
type Lock struct {
	pins    []Pin
	targets []lockTarget
}

// Pin is one source resolved to something that cannot move.
type Pin struct {
	Kind   string            // "bundle", "model", "quant", "catalog", "aisync"
	Name   string            // of what is pinned
	Host   string            // where the pin depends on the host; "" otherwise
	Values map[string]string // what it was resolved to: "commit", "sha256", …
}

// lockTarget is one leaf of one target.
type lockTarget struct {
	Address resource.Address
	Format  string
	Leaf    LeafRecord
}

// lockLine is one line of the file; which fields count depends on Kind.
type lockLine struct {
	FormatVersion int               `json:"format_version,omitempty"`
	Kind          string            `json:"kind,omitempty"`
	Name          string            `json:"name,omitempty"`
	Host          string            `json:"host,omitempty"`
	Values        map[string]string `json:"values,omitempty"`
	Address       resource.Address  `json:"address,omitempty"`
	Format        string            `json:"format,omitempty"`
	*LeafRecord
}

// ParseLock reads the bytes of a lock; file names it in errors. A line that
// reaches out of the project, or has a form that aisync does not write, is an
// error that names it.
func ParseLock(file string, b []byte) (*Lock, error) {
	lines := bytes.Split(b, []byte("\n"))
	l := &Lock{targets: make([]lockTarget, 0, len(lines))}
	for n, line := range lines {
		if len(bytes.TrimSpace(line)) == 0 && (n > 0 || len(lines) == 1) {
			continue
		}
		var x lockLine
		x.LeafRecord = &LeafRecord{}
		if err := json.Unmarshal(line, &x); err != nil {
			return nil, fmt.Errorf("%s:%d: not a line of a lock (%v); a merge left markers, perhaps: resolve them, or take one side and %s", file, n+1, err, advice.Lock)
		}
		switch {
		case n == 0 && x.FormatVersion == 0:
			return nil, fmt.Errorf("%s:1: no format_version on the first line; this is no aisync.lock, or a merge damaged it", file)
		case n == 0 && x.FormatVersion > LockVersion:
			return nil, fmt.Errorf("%s:1: format_version %d, and this aisync knows up to %d: %w; upgrade aisync", file, x.FormatVersion, LockVersion, ErrLockNewer)
		case n == 0:
		case x.Kind == "target":
			if x.Address == "" || x.Live == "" {
				return nil, fmt.Errorf("%s:%d: a target without address or fingerprint; %s", file, n+1, advice.Lock)
			}
			if err := x.check(); err != nil {
				return nil, foreign(file, n+1, fmt.Sprintf("target %q", x.Address), err)
			}
			x.Claimed = false
			l.targets = append(l.targets, lockTarget{x.Address, x.Format, *x.LeafRecord})
		case x.Kind == "":
			return nil, fmt.Errorf("%s:%d: a line without kind; %s", file, n+1, advice.Lock)
		default:
			p := Pin{x.Kind, x.Name, x.Host, x.Values}
			if err := p.check(); err != nil {
				return nil, foreign(file, n+1, "pin", err)
			}
			l.pins = append(l.pins, p)
		}
	}
	l.sort()
	return l, nil
}

// Bytes is the file's content. Equal locks have equal bytes.
func (l *Lock) Bytes() []byte {
	l.sort()
	var b bytes.Buffer
	put := func(x lockLine) {
		line, err := json.Marshal(x)
		if err != nil {
			panic(fmt.Sprintf("lock line: %v", err)) // strings and raw JSON that was parsed before
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	put(lockLine{FormatVersion: LockVersion})
	for _, p := range l.pins {
		put(lockLine{Kind: p.Kind, Name: p.Name, Host: p.Host, Values: p.Values})
	}
	for _, t := range l.targets {
		leaf := t.Leaf
		leaf.Prior, leaf.Claimed = "", false // of one machine
		put(lockLine{Kind: "target", Address: t.Address, Format: t.Format, LeafRecord: &leaf})
	}
	return b.Bytes()
}

// sort puts the lines in order. It uses sort.Slice, as package slices has its
// code made anew for each type: 15 kB of the binary.
func (l *Lock) sort() {
	sort.Slice(l.pins, func(i, j int) bool {
		a, b := &l.pins[i], &l.pins[j]
		return a.Kind+"\x00"+a.Name+"\x00"+a.Host < b.Kind+"\x00"+b.Name+"\x00"+b.Host
	})
	sort.Slice(l.targets, func(i, j int) bool {
		a, b := &l.targets[i], &l.targets[j]
		return a.Address < b.Address || a.Address == b.Address && a.Leaf.Key < b.Leaf.Key
	})
}

// Pin returns the pin of that name: the one for host, else the one for all hosts.
func (l *Lock) Pin(kind, name, host string) (Pin, bool) {
	for _, h := range []string{host, ""} {
		for _, p := range l.pins {
			if p.Kind == kind && p.Name == name && p.Host == h {
				return p, true
			}
		}
	}
	return Pin{}, false
}

// SetPin adds p or replaces the one of the same kind, name and host.
func (l *Lock) SetPin(p Pin) {
	for i, q := range l.pins {
		if q.Kind == p.Kind && q.Name == p.Name && q.Host == p.Host {
			l.pins[i] = p
			return
		}
	}
	l.pins = append(l.pins, p)
}

// Unpin removes every pin that keep does not want.
func (l *Lock) Unpin(keep func(Pin) bool) {
	l.pins = slices.DeleteFunc(l.pins, func(p Pin) bool { return !keep(p) })
}

// Pins returns all pins, sorted.
func (l *Lock) Pins() []Pin {
	l.sort()
	return slices.Clone(l.pins)
}

// Empty reports whether l holds nothing.
func (l *Lock) Empty() bool { return len(l.pins)+len(l.targets) == 0 }

// Records returns the targets as records of owner.
func (l *Lock) Records(owner resource.Owner) []Record {
	out := make([]Record, 0, len(l.targets))
	leaves := make([]LeafRecord, len(l.targets)) // of all records, one after the other
	for i := 0; i < len(l.targets); {
		first, t := i, l.targets[i]
		for ; i < len(l.targets) && l.targets[i].Address == t.Address; i++ {
			leaves[i] = l.targets[i].Leaf
		}
		out = append(out, Record{Address: t.Address, Owner: owner, Format: t.Format, Leaves: leaves[first:i:i]})
	}
	return out
}

// SetRecords makes the targets those of records that git carries.
func (l *Lock) SetRecords(records []Record) {
	l.targets = nil
	for _, r := range records {
		if r.Local || !r.Address.InProject() {
			continue
		}
		for _, leaf := range r.Leaves {
			leaf.Prior, leaf.Claimed = "", false
			l.targets = append(l.targets, lockTarget{r.Address, r.Format, leaf})
		}
	}
	l.sort()
}
